// People are round, bots are square, queues are dashed.
import { html, classes } from '../core/html.js';
import { Icon } from '../core/icons.js';
import { t } from '../core/words.js';

/** @typedef {'person' | 'bot' | 'queue'} Kind */
/** @typedef {'available' | 'busy' | 'away' | 'offline'} Presence */

/**
 * The name always stands beside it, so it says nothing to a screen reader.
 * @param {{ name?: string, kind?: Kind, size?: 24 | 32 | 40 | 56, presence?: Presence, me?: boolean }} props
 */
export const Avatar = ({ name = '', kind = 'person', size = 32, presence, me = false }) => html`
  <span class=${classes('avatar', `avatar-${size}`, `avatar-${kind}`, me && 'avatar-me', kind === 'person' && `tint-${tint(name)}`)} aria-hidden="true">
    ${kind === 'person'
      ? html`<span class="initials">${initials(name)}</span>`
      : html`<${Icon} name=${kind} size=${Math.round(size * 0.55)} />`}
    ${presence && html`<span class=${`dot dot-${presence}`}></span>`}
  </span>`;

/** The dot with its word. @param {{ state: Presence, more?: string }} props */
export const PresenceWord = ({ state, more = '' }) => html`
  <span class="presence"><span class=${`dot dot-${state}`} aria-hidden="true"></span>${presenceWord(state)}${more && ` ${more}`}</span>`;

/** @param {Presence} state */
const presenceWord = (state) =>
  t(/** @type {const} */ ({ available: 'available', busy: 'busy', away: 'away', offline: 'offline_presence' })[state]);

/** The first letters of the first and the last word, whole characters each. @param {string} name */
function initials(name) {
  const words = name.trim().split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
  const letters = (words.length > 1 ? [words[0], words[words.length - 1]] : words.slice(0, 1)).map(
    (word) => /[\p{L}\p{N}]/u.exec(word)?.[0] ?? '',
  );
  return letters.join('').toLocaleUpperCase() || '?';
}

/** @param {string} name */
function tint(name) {
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973;
  return (sum % 4) + 1;
}
