// The transcript: what was said, where the holder changed, and what waits for the customer at its end.
import { html, useEffect, useLayoutEffect, useRef, useState } from '../core/html.js';
import { Icon } from '../core/icons.js';
import { clock, day, spoken } from '../core/time.js';
import { t } from '../core/words.js';
import { Button } from '../parts/button.js';
import { HolderDivider } from '../parts/divider.js';
import { FileView } from '../parts/file.js';
import { Bubble, ErasedBubble, Message, MessageState, TypingDots, Work } from '../parts/message.js';
import { Theirs } from '../parts/text.js';
import { warn } from '../parts/toast.js';
import { explain } from './actions.js';
import { itemsOf } from './items.js';
import { Questions } from './questions.js';
import { RatingCard } from './rating.js';
import { CallbackNote, FailedCard, NoPersonCard, WaitingCard } from './waiting.js';

/** So near to its end the log follows what comes. */
const NEAR_PX = 60;

/** @param {{ chat: import('./model.js').Chat }} props */
export function Log({ chat }) {
  const messages = chat.messages.value;
  const closed = chat.conversation.value?.status === 'closed';
  const items = itemsOf(messages, { ownRequests: chat.ownRequests.value, closed });
  const { streams, steps } = chat.work;
  const lastOwn = messages.findLast((one) => one.from.kind === 'customer')?.number;
  const unsent = chat.outbox.items.value;
  const follow = useFollowing(chat, [messages, unsent, streams.value, steps.value, chat.typist.value, chat.work.questions.value, chat.holder.value, chat.transfer.value]);
  const shown = [
    ...breakGroups(items, steps.value).map((item) => ({ at: item.at, key: item.key, node: html`<${ItemView} item=${item} chat=${chat} lastOwn=${lastOwn} />` })),
    ...steps.value.map((step) => ({ at: step.at, key: `s${step.id}`, node: html`<${Work} text=${step.text} done=${step.done} />` })),
  ];
  // Steps stand where they happened; the messages keep their order by number.
  const inOrder = steps.value.length ? shown.sort((a, b) => Date.parse(a.at) - Date.parse(b.at)) : shown;
  return html`
    <div class="log-frame">
      <section class="log" id="messages" ref=${follow.log} tabindex="0" aria-label=${t('messages')} data-region onScroll=${follow.onScroll}>
        <div class="column log-column">
          ${(messages[0]?.number ?? 1) > 1 && html`<div class="log-earlier"><${Button} onClick=${() => follow.keep(chat.earlier)}>${t('earlier')}<//></div>`}
          <ol class="log-list">
            ${inOrder.map(({ key, node }) => html`<li key=${key}>${node}</li>`)}
            ${streams.value.map((stream) => html`<li key=${stream.id}><${Streaming} stream=${stream} /></li>`)}
            ${unsent.map((one) => html`<li key=${one.key}><${UnsentMessage} one=${one} chat=${chat} /></li>`)}
            ${chat.typist.value && streams.value.length === 0 && html`<li key="typing"><${Message} avatar=${avatarOf(chat, chat.typist.value.agentId)}><${TypingDots} /><//></li>`}
          </ol>
          ${closed && html`<${HolderDivider} kind="done" strong=${t('chat_ended')} />`}
          <${WaitingCard} chat=${chat} /><${NoPersonCard} chat=${chat} /><${CallbackNote} chat=${chat} /><${Questions} chat=${chat} />
        </div>
      </section>
      ${follow.n_new > 0 && html`<div class="new-pill"><${Button} kind="primary" icon="down" onClick=${follow.toEnd}>${t('n_new', { n: follow.n_new })}<//></div>`}
    </div>`;
}

/**
 * A step between two messages of one speaker breaks their group.
 * @param {import('./items.js').Item[]} items @param {import('./working.js').Step[]} steps
 */
function breakGroups(items, steps) {
  if (steps.length === 0) return items;
  const times = steps.map((step) => Date.parse(step.at));
  return items.map((item, n) => {
    const [from, to] = [Date.parse(item.at), Date.parse(items[n + 1]?.at ?? item.at)];
    return item.is === 'message' && item.follows && times.some((at) => at >= from && at <= to) ? { ...item, follows: false } : item;
  });
}

/**
 * Keeps the end in view while one is there, keeps the place otherwise, and counts what came meanwhile.
 * @param {import('./model.js').Chat} chat @param {unknown[]} inputs
 */
function useFollowing(chat, inputs) {
  const log = useRef(/** @type {HTMLElement | null} */ (null));
  const atEnd = useRef(true);
  const [seen, setSeen] = useState(chat.messages.peek().at(-1)?.number ?? 0);
  const n_unsent = chat.outbox.items.value.length;
  const n_before = useRef(n_unsent);
  const toEnd = () => {
    if (!log.current) return;
    atEnd.current = true;
    const box = scroller(log.current);
    box.scrollTop = box.scrollHeight;
    setSeen(chat.messages.peek().at(-1)?.number ?? 0);
  };
  const onScroll = () => {
    if (!log.current) return;
    const { scrollTop, scrollHeight, clientHeight } = scroller(log.current);
    const near = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    atEnd.current = near;
    if (near) setSeen(chat.messages.peek().at(-1)?.number ?? 0);
  };
  useLayoutEffect(() => {
    // The customer's own message is always shown.
    if (atEnd.current || n_unsent > n_before.current) toEnd();
    n_before.current = n_unsent;
  }, inputs);
  useEffect(() => {
    const element = log.current;
    if (!element) return;
    // A picture that loads, or a composer that grows, must not push the end out of view.
    const watch = new ResizeObserver(() => {
      const box = scroller(element);
      if (atEnd.current) box.scrollTop = box.scrollHeight;
    });
    watch.observe(element);
    if (element.firstElementChild) watch.observe(element.firstElementChild);
    addEventListener('scroll', onScroll, { passive: true });
    return () => {
      watch.disconnect();
      removeEventListener('scroll', onScroll);
    };
  }, []);
  return {
    log,
    toEnd,
    n_new: atEnd.current ? 0 : chat.messages.value.filter((one) => one.number > seen && one.from.kind === 'agent').length,
    onScroll,
    /** @param {() => Promise<void>} load */
    async keep(load) {
      const element = scroller(/** @type {HTMLElement} */ (log.current));
      const below = element.scrollHeight - element.scrollTop;
      await load().catch((problem) => warn(explain(problem)));
      requestAnimationFrame(() => (element.scrollTop = element.scrollHeight - below));
    },
  };
}

/** In a very flat window the page scrolls instead of the log. @param {HTMLElement} log */
const scroller = (log) => (getComputedStyle(log).overflowY === 'visible' ? /** @type {HTMLElement} */ (document.scrollingElement) : log);

/** @param {{ item: import('./items.js').Item, chat: import('./model.js').Chat, lastOwn?: number }} props */
function ItemView({ item, chat, lastOwn }) {
  switch (item.is) {
    case 'message':
      return html`<${Said} item=${item} chat=${chat} last=${item.number === lastOwn} />`;
    case 'divider':
      return html`<${HolderDivider} kind=${item.kind} strong=${t(item.word, item.values)} text=${item.also && t(item.also, item.values)} slides=${Date.now() - Date.parse(item.at) < 3000} />`;
    case 'waited':
      return html`<${HolderDivider} kind="passed" icon="clock" strong=${t('you_waited', { t: spoken(item.ms) })} />`;
    case 'day':
      return html`<p class="log-day">${day(item.at)}</p>`;
    case 'rating':
      return html`<${RatingCard} chat=${chat} transfer=${item.transfer} name=${item.name} />`;
    case 'failed':
      return html`<${FailedCard} chat=${chat} transfer=${item.transfer} />`;
  }
}

/** @param {{ item: Extract<import('./items.js').Item, { is: 'message' }>, chat: import('./model.js').Chat, last: boolean }} props */
function Said({ item: { message, follows }, chat, last }) {
  const { from, at, parts = [], erased } = message;
  const mine = from.kind === 'customer';
  const name = mine ? t('you') : (from.agentName ?? '');
  const bot = !mine && !chat.names.value.get(from.agentId ?? '')?.person;
  const words = mine
    ? html`<time datetime=${at}>${clock(at)}</time>${last && html`<span aria-hidden="true">·</span><${MessageState} state="sent" />`}`
    : html`<${Theirs} text=${bot ? t('bot_name', { name }) : name} /><span aria-hidden="true">·</span><time datetime=${at}>${clock(at)}</time>`;
  return html`
    <${Message} side=${mine ? 'mine' : 'left'} label=${`${bot ? t('bot_name', { name }) : name}, ${clock(at)}`} class=${follows ? 'message-follows' : ''}
      avatar=${mine || follows ? undefined : avatarOf(chat, from.agentId ?? '')} said=${follows && !last ? undefined : words}>
      ${erased ? html`<${ErasedBubble} />` : parts.map((part) => html`<${PartView} part=${part} />`)}
    <//>`;
}

/** @param {{ part: any }} props */
function PartView({ part }) {
  if (part.type === 'text') return html`<${Bubble} text=${part.text} />`;
  if (part.type === 'file' || part.type === 'attachment') return html`<${FileView} part=${part} />`;
  return null;
}

/** @param {{ stream: import('./working.js').Stream }} props */
function Streaming({ stream }) {
  const said = html`<${Theirs} text=${t('bot_name', { name: stream.name })} />${!stream.complete && html`<span aria-hidden="true">·</span>${t('writing')}`}`;
  return html`<${Message} avatar=${{ name: stream.name, kind: 'bot' }} said=${said}><${Bubble} text=${stream.text} writing=${!stream.complete} /><//>`;
}

/** A message that the server does not have yet. @param {{ one: import('../core/outbox.js').Unsent, chat: import('./model.js').Chat }} props */
function UnsentMessage({ one, chat }) {
  const state = one.code ? 'failed' : chat.outbox.sending.value === one.key ? 'sending' : 'kept';
  const said = html`<${MessageState} state=${state} again=${() => chat.outbox.again(one.key)} />`;
  return html`
    <${Message} side="mine" said=${said} class="message-waiting">
      ${one.body.parts.map((/** @type {any} */ part) => (part.type === 'text' ? html`<${Bubble} text=${part.text} />` : html`<div class="file"><span class="file-picture"><${Icon} name="file" /></span><${Theirs} class="file-name" text=${part.name} /></div>`))}
    <//>`;
}

/** @param {import('./model.js').Chat} chat @param {string} id */
function avatarOf(chat, id) {
  const known = chat.names.value.get(id);
  return { name: known?.name ?? id, kind: /** @type {'person' | 'bot'} */ (known?.person ? 'person' : 'bot') };
}
