export function useState<T>(first: T | (() => T)): [T, (next: T | ((last: T) => T)) => void];
export function useRef<T>(first: T): { current: T };
export function useEffect(run: () => void | (() => void), inputs?: unknown[]): void;
export function useLayoutEffect(run: () => void | (() => void), inputs?: unknown[]): void;
export function useMemo<T>(make: () => T, inputs?: unknown[]): T;
export function useCallback<F extends (...args: any[]) => any>(run: F, inputs?: unknown[]): F;
export function useContext<T>(context: { Provider: any; Consumer: any }): T;
export function useId(): string;
