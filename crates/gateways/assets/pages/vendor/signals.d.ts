export * from './signals-core.js';
import type { ReadonlySignal, Signal } from './signals-core.js';
export function useSignal<T>(first: T): Signal<T>;
export function useComputed<T>(make: () => T): ReadonlySignal<T>;
export function useSignalEffect(run: () => void | (() => void)): void;
