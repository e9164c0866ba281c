// Text of others: shown as text only, with its own direction, isolated from the words around it.
import { html } from '../core/html.js';

/** A name or another short text inside a line. @param {{ text: string, class?: string, cut?: boolean }} props */
export const Theirs = ({ text, class: more = '', cut = false }) =>
  html`<bdi dir="auto" class=${`theirs ${cut ? 'one-line' : ''} ${more}`} title=${cut ? text : undefined}>${text}</bdi>`;

/** A message or another long text, with its line breaks. @param {{ text: string, class?: string, end?: import('../core/html.js').Child }} props */
export const TheirBlock = ({ text, class: more = '', end }) => html`<div dir="auto" class=${`theirs-block ${more}`}>${text}${end}</div>`;

/** A text for a sentence of the catalogue, so that its direction ends with it. @param {string} text */
export const isolated = (text) => `\u2068${text}\u2069`;
