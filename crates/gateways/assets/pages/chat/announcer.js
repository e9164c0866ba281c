// What a screen reader hears of the chat, in the sentences of the design.
import { alert, say } from '../core/announce.js';
import { play } from '../core/sounds.js';
import { spanMs } from '../core/time.js';
import { t } from '../core/words.js';
import { textOf } from './items.js';

/** So many messages within this time are counted instead of read out. */
const READ_OUT_MAX = 3;
const FLOOD_MS = 4_000;
const TYPING_EVERY_MS = 20_000;
/** A longer text is read in the transcript, not in one breath. */
const TEXT_MAX = 600;

/**
 * @param {{ names: import('../core/html.js').ReadonlySignal<Map<string, { name: string, person: boolean }>>, transfer: import('../core/html.js').Signal<any> }} chat
 */
export function Announcer({ names, transfer }) {
  /** @type {number[]} */
  let recent = [];
  let typedAt = 0;
  let place = '';
  /** The last text that was read out while it was streamed. */
  let streamed = '';

  return {
    /** @param {import('./items.js').ChatMessage} message */
    message(message) {
      const { from } = message;
      if (from.kind === 'system') return moved(message.parts ?? []);
      if (from.kind !== 'agent') return;
      play('message');
      const text = textOf(message);
      if (streamed && streamed === text) return (streamed = '');
      recent = [...recent.filter((at) => Date.now() - at < FLOOD_MS), Date.now()];
      const name = from.agentName ?? '';
      if (recent.length > READ_OUT_MAX) say(t('live_many', { n: recent.length, name }), `many.${name}`);
      else say(t('live_message', { name, text: text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text }));
    },
    /** @param {string} name @param {string} text */
    sentence: (name, text) => say(t('live_message', { name, text })),
    /** @param {string} whole */
    streamed: (whole) => (streamed = whole.trim()),
    /** @param {string} name */
    typing(name) {
      if (Date.now() - typedAt < TYPING_EVERY_MS) return;
      typedAt = Date.now();
      say(t('live_typing', { name }), 'typing');
    },
    /** @param {string} text */
    notSent: (text) => alert(t('live_not_sent', { text })),
    /** Says the place once for each change. */
    place() {
      const { queue_position: n, estimated_wait: wait } = transfer.value ?? {};
      const text = !n ? '' : wait ? t('live_place_wait', { n, ...minutes(wait) }) : t('live_place', { n });
      if (text && text !== place) say(text, 'place');
      place = text;
    },
  };

  /** @param {any[]} parts */
  function moved(parts) {
    for (const part of parts) {
      if (part.type !== 'agent-transfer') continue;
      if (part.status === 'connected') {
        play('person');
        say(t('live_here', { name: part.targetAgent?.agentName ?? '' }), 'holder');
      } else if (part.toAgent) {
        const person = names.value.get(part.toAgent.agentId)?.person;
        say(t(person ? 'live_here' : 'live_answers', { name: part.toAgent.agentName }), 'holder');
      }
    }
  }
}

/** The range of an estimate in whole minutes. @param {{ from: string, to: string }} wait */
export function minutes({ from, to }) {
  const a = Math.max(1, Math.floor(spanMs(from) / 60_000));
  return { a, b: Math.max(a, Math.ceil(spanMs(to) / 60_000)) };
}
