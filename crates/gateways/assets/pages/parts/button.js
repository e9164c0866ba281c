// Buttons. Their words are verbs; an icon alone has a label.
import { html, classes } from '../core/html.js';
import { Icon } from '../core/icons.js';
import { caps } from '../core/keys.js';

/** @typedef {import('../core/icons.js').IconName} IconName */

/**
 * @param {{ kind?: 'primary' | 'plain' | 'quiet' | 'danger' | 'dark', icon?: IconName, keys?: string[], large?: boolean, wide?: boolean,
 *   children?: import('../core/html.js').Child, class?: string, type?: 'button' | 'submit', onClick?: (event: MouseEvent) => void,
 *   disabled?: boolean } & Record<string, any>} props
 */
export const Button = ({ kind = 'plain', icon, keys, large = false, wide = false, children, class: more, type = 'button', ...rest }) => html`
  <button type=${type} class=${classes('button', `button-${kind}`, large && 'button-large', wide && 'button-wide', more)} ...${rest}>
    ${icon && html`<${Icon} name=${icon} size=${16} />`}<span>${children}</span>${keys && html`<${Keys} keys=${keys} />`}
  </button>`;

/** @param {{ icon: IconName, label: string, size?: number, class?: string, onClick?: (event: MouseEvent) => void } & Record<string, any>} props */
export const IconButton = ({ icon, label, size = 18, class: more, ...rest }) => html`
  <button type="button" class=${classes('icon-button', more)} aria-label=${label} title=${label} ...${rest}>
    <${Icon} name=${icon} size=${size} />
  </button>`;

/** The keys of a shortcut, beside its name. @param {{ keys: string[] }} props */
export const Keys = ({ keys }) => html`
  <span class="keys" aria-hidden="true">${keys.flatMap(caps).map((key) => html`<kbd class="keycap">${key}</kbd>`)}</span>`;
