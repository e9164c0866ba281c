// A conversation in a list: the customer, the time, the last words, a chip with its state.
import { html, classes } from '../core/html.js';
import { Icon } from '../core/icons.js';
import { duration, useNow } from '../core/time.js';
import { t } from '../core/words.js';
import { Avatar } from './avatar.js';
import { Count } from './chip.js';
import { Theirs } from './text.js';

/**
 * `chip` is a component of chip.js. `since` ticks; `chosen` is the one that is open.
 * @param {{ name: string, kind?: import('./avatar.js').Kind, last?: string, since?: string, unread?: number, chosen?: boolean, typing?: boolean,
 *   chip?: import('../core/html.js').Child, place?: string, looks?: string[], onOpen: () => void, id?: string, tabindex?: number }} props
 */
export function ConversationRow({ name, kind = 'person', last = '', since, unread = 0, chosen = false, typing = false, chip, place, looks = [], onOpen, id, tabindex = 0 }) {
  const now = useNow(since !== undefined);
  return html`
    <button type="button" id=${id} class=${classes('row', unread > 0 && 'row-unread', typing && 'row-typing')} aria-current=${chosen ? 'true' : undefined} tabindex=${tabindex} onClick=${onOpen}>
      <${Avatar} name=${name} kind=${kind} />
      <${Theirs} class="row-name" text=${name} cut />
      <span class="row-clock">${since ? duration(now - Date.parse(since)) : ''}</span>
      <span class="row-last one-line" dir="auto">${typing ? t('live_typing', { name }) : last}</span>
      <span class="row-count"><${Count} n=${unread} label=${t('n_unread', { n: unread })} /></span>
      <span class="row-foot">${chip}${place && html`<span class="one-line">${place}</span>`}
        ${looks.length > 0 && html`<span class="row-looks" title=${t('looks', { name: looks.join(', ') })}><${Icon} name="eye" size=${15} /><${Theirs} text=${looks.join(', ')} cut /></span>`}</span>
    </button>`;
}
