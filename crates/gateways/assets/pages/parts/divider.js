// The divider where the holder changes. Its sash means: passed on.
import { html, classes } from '../core/html.js';
import { Icon } from '../core/icons.js';

/**
 * `passed` (sunk), `waiting` (outline), `person` (accent), `hold`, `back`, `done`, and `new` for the line of unread messages.
 * @param {{ kind: 'passed' | 'waiting' | 'person' | 'hold' | 'back' | 'done' | 'new', strong?: import('../core/html.js').Child,
 *   text?: import('../core/html.js').Child, icon?: import('../core/icons.js').IconName, slides?: boolean }} props
 */
export function HolderDivider({ kind, strong, text, icon, slides = false }) {
  const drawn = icon ?? icons[kind];
  return html`
    <div class=${classes('divider', `divider-${kind}`, slides && 'divider-slides')}>
      <span class="divider-text">${drawn && html`<${Icon} name=${drawn} size=${15} />`}${strong && html`<b>${strong}</b>`}${text && html`<span>${text}</span>`}</span>
    </div>`;
}

/** @type {Record<string, import('../core/icons.js').IconName | undefined>} */
const icons = { passed: 'arrow', waiting: 'clock', person: 'person', hold: 'pause', back: 'back', done: 'check', new: undefined };
