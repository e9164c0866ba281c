// One message: its parts in bubbles, its sender, and its state.
import { html, classes } from '../core/html.js';
import { Icon } from '../core/icons.js';
import { t } from '../core/words.js';
import { Avatar } from './avatar.js';
import { TheirBlock } from './text.js';

/**
 * `side`: `left` with an avatar, `mine` at the right without one (the customer's chat), `right` with one (the cockpit).
 * `tone`: how its bubbles look. `said` is the line below: name, time, state.
 * @param {{ side?: 'left' | 'mine' | 'right', avatar?: { name: string, kind: import('./avatar.js').Kind, me?: boolean }, class?: string,
 *   label?: string, said?: import('../core/html.js').Child, children?: import('../core/html.js').Child }} props
 */
export const Message = ({ side = 'left', avatar, label, said, children, class: more }) => html`
  <article class=${classes('message', side !== 'left' && `message-${side}`, more)} aria-label=${label}>
    <div class="parts">${children}</div>
    ${avatar && side !== 'mine' && html`<${Avatar} ...${avatar} size=${24} />`}
    ${said && html`<div class="said-by">${said}</div>`}
  </article>`;

/** @typedef {'plain' | 'customer' | 'mine' | 'note' | 'whisper' | 'erased'} Tone */

/** A text of a message. @param {{ text: string, tone?: Tone, writing?: boolean }} props */
export const Bubble = ({ text, tone = 'plain', writing = false }) => html`
  <div class=${`bubble bubble-${tone}`}><${TheirBlock} text=${writing ? text.trimEnd() : text} end=${writing && html`<span class="cursor" aria-hidden="true"></span>`} /></div>`;

export const ErasedBubble = () => html`<div class="bubble bubble-erased">${t('erased')}</div>`;

/** Three dots, said once by the live region. */
export const TypingDots = () => html`<div class="bubble typing" aria-hidden="true"><i></i><i></i><i></i></div>`;

/**
 * The state of the reader's own message: `sending`, `sent`, `delivered`, `read`, `kept` while offline, or `failed`.
 * @param {{ state: 'sending' | 'sent' | 'delivered' | 'read' | 'kept' | 'failed', again?: () => void }} props
 */
export function MessageState({ state, again }) {
  if (state === 'kept') return html`<span class="state-kept"><${Icon} name="offline" size=${14} />${t('kept_here')}</span>`;
  if (state === 'failed')
    return html`<span class="state-failed"><${Icon} name="warn" size=${14} />${t('not_sent')}
      ${again && html`<button type="button" class="text-button" onClick=${again}>${t('try_again')}</button>`}</span>`;
  return html`<span>${t(state)}</span>${state === 'read' && html`<${Icon} name="check" size=${14} />`}`;
}

/** A step that an agent announced while it works. @param {{ text: string, done?: boolean }} props */
export const Work = ({ text, done = false }) => html`
  <div class="work"><${Icon} name=${done ? 'check' : 'clock'} size=${16} /><span dir="auto" class="theirs">${text}</span></div>`;
