// Toasts: bottom left, six seconds, longer under the focus or the pointer. Never the only place of an error.
import { html, signal } from '../core/html.js';
import { alert, say } from '../core/announce.js';
import { Icon } from '../core/icons.js';
import { t } from '../core/words.js';
import { Button, IconButton } from './button.js';

const STAYS_MS = 6_000;
const SHOWN_MAX = 3;

/** @typedef {{ id: number, text: string, icon: import('../core/icons.js').IconName, action?: { name: string, run: () => void } }} ToastEntry */
/** @type {import('../core/html.js').Signal<ToastEntry[]>} */
const toasts = signal([]);
let next = 0;

/**
 * @param {string} text
 * @param {{ icon?: import('../core/icons.js').IconName, action?: { name: string, run: () => void }, urgent?: boolean, silent?: boolean }} [how]
 */
export function toast(text, { icon = 'check', action, urgent = false, silent = false } = {}) {
  const id = ++next;
  toasts.value = [...toasts.value, { id, text, icon, action }].slice(-SHOWN_MAX);
  if (!silent) (urgent ? alert : say)(text);
  leave(id);
}

/** A toast of something that failed. @param {string} text */
export const warn = (text) => toast(text, { icon: 'warn', urgent: true });

/** @param {number} id */
const drop = (id) => (toasts.value = toasts.value.filter((one) => one.id !== id));

/** @param {number} id */
function leave(id) {
  setTimeout(() => (document.querySelector(`.toast[data-id="${id}"]:is(:hover, :focus-within)`) ? leave(id) : drop(id)), STAYS_MS);
}

export const Toasts = () => html`
  <div class="toasts">
    ${toasts.value.map(
      ({ id, text, icon, action }) => html`
        <div class="toast" key=${id} data-id=${id}>
          <${Icon} name=${icon} size=${18} /><p dir="auto">${text}</p>
          ${action ? html`<${Button} onClick=${() => (drop(id), action.run())}>${action.name}<//>` : html`<${IconButton} icon="cross" label=${t('close')} onClick=${() => drop(id)} />`}
        </div>`,
    )}
  </div>`;
