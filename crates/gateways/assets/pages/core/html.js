// Preact, htm and signals from one place: every component imports from here.
import { h, render, Fragment, createContext } from '../vendor/preact.js';
import htm from '../vendor/htm.js';

export { h, render, Fragment, createContext };
export { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext, useId } from '../vendor/hooks.js';
export { signal, computed, effect, batch, untracked, useSignal, useComputed, useSignalEffect } from '../vendor/signals.js';

/** A tagged template that makes elements: html`<p class="x">${text}</p>`. Values are text, never markup. */
export const html = htm.bind(h);

/** @typedef {import('../vendor/preact.js').VNode} VNode */
/** @typedef {import('../vendor/preact.js').Child} Child */
/**
 * @template T
 * @typedef {import('../vendor/signals.js').Signal<T>} Signal
 */
/**
 * @template T
 * @typedef {import('../vendor/signals.js').ReadonlySignal<T>} ReadonlySignal
 */

/**
 * Joins class names and leaves out what is empty.
 * @param {...(string | false | null | undefined)} names
 */
export const classes = (...names) => names.filter(Boolean).join(' ');
