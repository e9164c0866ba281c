// The transcript as a list of things to show: messages, dividers where the holder changes, days.
/** @typedef {{ kind: 'customer' | 'agent' | 'system', agentId?: string, agentName?: string }} From */
/** @typedef {{ number: number, from: From, parts?: any[], at: string, erased?: boolean }} ChatMessage */
/**
 * @typedef {{ key: string, at: string, number: number } & (
 *   | { is: 'message', message: ChatMessage, follows: boolean }
 *   | { is: 'divider', kind: 'passed' | 'waiting' | 'person' | 'hold' | 'back' | 'done', word: import('../core/words.js').Key,
 *       values: Record<string, string>, also?: import('../core/words.js').Key }
 *   | { is: 'waited', ms: number }
 *   | { is: 'rating', transfer: string, name: string }
 *   | { is: 'failed', transfer: string }
 *   | { is: 'day' })} Item
 */

/** The texts of a message and the names of its files, in one line. @param {ChatMessage} message */
export const textOf = ({ parts = [] }) => parts.map((part) => part.text ?? part.name ?? '').join(' ').trim();

/** Messages of one speaker within this time share one line below. */
const TOGETHER_MS = 120_000;

/**
 * @param {ChatMessage[]} messages in their order
 * @param {{ ownRequests: string[], closed: boolean }} about the transfers that this customer asked for here; whether the conversation is over
 * @returns {Item[]}
 */
export function itemsOf(messages, { ownRequests, closed }) {
  /** @type {Item[]} */
  const items = [];
  /** @type {Story} */
  const story = { waitingSince: '', personName: '', ownRequests, end: closed ? messages.at(-1)?.number : undefined, waitingItem: undefined };
  let day = '';
  messages.forEach((message, at) => {
    const today = new Date(message.at).toDateString();
    const begins = today !== day && (day !== '' || today !== new Date().toDateString());
    if (begins) items.push({ is: 'day', key: `d${message.number}`, at: message.at, number: message.number });
    day = today;
    const moves = (message.parts ?? []).filter((part) => part.type === 'agent-transfer');
    for (const part of moves) {
      const fresh = dividers(part, message, story);
      // "You waited" says what "You asked for a person" said, so it takes its place.
      if (fresh[0]?.is === 'waited' && story.waitingItem) items.splice(items.indexOf(story.waitingItem), 1, /** @type {Item} */ (fresh.shift()));
      story.waitingItem = fresh.find((one) => one.is === 'divider' && one.kind === 'waiting') ?? (part.status === 'connected' ? undefined : story.waitingItem);
      items.push(...fresh);
    }
    if (message.from.kind === 'system' && !message.erased) return;
    const next = messages[at + 1];
    items.push({ is: 'message', key: `m${message.number}`, at: message.at, number: message.number, message, follows: sameSpeaker(message, next) });
  });
  return items;
}

/** @typedef {{ waitingSince: string, personName: string, ownRequests: string[], end?: number, waitingItem?: Item }} Story */

/** @param {ChatMessage} one @param {ChatMessage | undefined} next */
const sameSpeaker = (one, next) =>
  next !== undefined &&
  next.from.kind === one.from.kind &&
  next.from.agentId === one.from.agentId &&
  Date.parse(next.at) - Date.parse(one.at) < TOGETHER_MS &&
  next.from.kind !== 'system';

/** @param {any} part @param {ChatMessage} message @param {Story} story @returns {Item[]} */
function dividers(part, message, story) {
  const { at, number } = message;
  const base = { at, number, key: `h${number}` };
  // After the end no agent answers.
  const to = number === story.end ? '' : (part.toAgent?.agentName ?? '');
  const answers = { ...base, is: /** @type {const} */ ('divider'), key: `a${number}`, kind: /** @type {const} */ ('passed'), word: /** @type {const} */ ('answers_now'), values: { name: to } };
  switch (part.status) {
    case 'requested': {
      story.waitingSince = at;
      const word = story.ownRequests.includes(part.transferId) ? 'you_asked' : 'person_asked';
      return [{ ...base, is: 'divider', kind: 'waiting', word, values: {} }];
    }
    case 'queued':
      story.waitingSince = at;
      return [{ ...base, is: 'divider', kind: 'waiting', word: 'waits_in_line', values: {} }];
    case 'connected': {
      const name = part.targetAgent?.agentName ?? '';
      story.personName = name;
      /** @type {Item[]} */
      const items = [];
      if (story.waitingSince) items.push({ ...base, is: 'waited', key: `w${number}`, ms: Date.parse(at) - Date.parse(story.waitingSince) });
      story.waitingSince = '';
      return [...items, { ...base, is: 'divider', kind: 'person', word: 'is_here', values: { name }, also: 'a_person' }];
    }
    case 'completed':
      if (!part.transferId)
        return part.handoffType === 'user_selection' ? [{ ...answers, word: 'you_chose', kind: 'passed' }] : [answers];
      return [
        { ...base, is: 'divider', kind: 'done', word: story.personName ? 'settled' : 'settled_nobody', values: { name: story.personName } },
        { ...base, is: 'rating', key: `r${number}`, transfer: part.transferId, name: story.personName },
        ...(to ? [answers] : []),
      ];
    case 'failed':
      return [{ ...base, is: 'divider', kind: 'back', word: 'nobody_free', values: {} }, { ...base, is: 'failed', key: `f${number}`, transfer: part.transferId }, ...(to ? [answers] : [])];
    case 'cancelled':
      return [{ ...base, is: 'divider', kind: 'back', word: 'you_left_line', values: { name: to }, also: to ? 'answers_now' : undefined }];
    default:
      return to ? [answers] : [];
  }
}
