// What the chat knows of its conversation, from the transcript, the live events and what agents announce.
import { batch, computed, signal } from '../core/html.js';
import { get } from '../core/api.js';
import * as live from '../core/live.js';
import { outbox } from '../core/outbox.js';
import { Announcer } from './announcer.js';
import { working } from './working.js';

/** Messages of the first page, and of each earlier one. */
const PAGE = 60;
const PAGE_MAX = 200;
/** Several frames tell one change; the state is read once for all of them. */
const READ_AFTER_MS = 60;

/** @typedef {import('./items.js').ChatMessage} ChatMessage */
/** @typedef {{ agentId: string, agentName: string, holds?: boolean }} Agent */
/** @typedef {ReturnType<typeof openChat>} Chat */

/** @param {string} id of the conversation */
export function openChat(id) {
  const path = `/v1/conversations/${encodeURIComponent(id)}`;
  /** @type {import('../core/html.js').Signal<any>} */
  const conversation = signal(null);
  /** @type {import('../core/html.js').Signal<any>} */
  const transfer = signal(null);
  /** @type {import('../core/html.js').Signal<Agent[]>} */
  const agents = signal([]);
  /** @type {import('../core/html.js').Signal<ChatMessage[]>} in the order of their numbers */
  const messages = signal([]);
  /** @type {import('../core/html.js').Signal<'loading' | 'ready' | 'failed'>} */
  const state = signal('loading');
  /** @type {import('../core/html.js').Signal<Agent | null>} */
  const typist = signal(null);
  /** Messages that came in during the last break. */
  let caughtUp = Promise.resolve(0);
  /** The last message before the break, while there is one. @type {number | undefined} */
  let before;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typingTimer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let readTimer;

  const names = computed(() => namesOf(messages.value, agents.value, transfer.value));
  const holder = computed(() => holderOf(conversation.value, transfer.value, names.value));
  const announcer = Announcer({ names, transfer });
  const work = working(id, { announcer, holder });
  const waiting = outbox(id, {
    sent(one, { number }) {
      // The event of the message may come before this answer, and knows more: the paths of files.
      if (messages.value.some((other) => other.number === number)) return;
      add([{ number, from: { kind: 'customer' }, parts: one.body.parts, at: new Date().toISOString() }]);
    },
    failed: (one) => announcer.notSent(one.text),
  });

  /** @param {ChatMessage[]} fresh @returns {ChatMessage[]} those that were not known */
  function add(fresh) {
    const known = new Map(messages.value.map((one) => [one.number, one]));
    const added = fresh.filter((one) => !known.has(one.number));
    for (const one of fresh) known.set(one.number, one);
    messages.value = [...known.values()].sort((a, b) => a.number - b.number);
    return added;
  }

  async function readState() {
    const [about, choice] = await Promise.all([get(path), get(`${path}/agents`).catch(() => ({ items: [] }))]);
    const asked = about.transfer_id ? await get(`/v1/transfers/${encodeURIComponent(about.transfer_id)}`).catch(() => null) : null;
    batch(() => {
      conversation.value = about;
      agents.value = choice.items;
      transfer.value = asked;
    });
    announcer.place();
  }

  function readSoon() {
    clearTimeout(readTimer);
    readTimer = setTimeout(() => readState().catch(() => {}), READ_AFTER_MS);
  }

  /** @param {number} after @returns {Promise<ChatMessage[]>} */
  async function readAfter(after) {
    /** @type {ChatMessage[]} */
    const all = [];
    for (let from = after; ; ) {
      const page = await get(`${path}/messages`, { after: from, limit: PAGE_MAX });
      all.push(...page.items);
      if (page.next_cursor === undefined || page.next_cursor === null || page.items.length === 0) return all;
      from = page.items.at(-1).number;
    }
  }

  async function begin() {
    try {
      await readState();
      const after = Math.max(0, (conversation.value.n_messages ?? 0) - PAGE);
      add(await readAfter(after));
      state.value = 'ready';
    } catch {
      if (state.value !== 'ready') state.value = 'failed';
    }
  }

  /** After a break: what is new, and how much of it others said. */
  async function catchUp() {
    await readState();
    const from = before ?? messages.value.at(-1)?.number ?? 0;
    add(await readAfter(from));
    before = undefined;
    waiting.flush();
    return messages.value.filter((one) => one.number > from && one.from.kind === 'agent').length;
  }

  /** @param {any} event */
  function hear({ event, data }) {
    if (data?.number !== undefined) {
      const fresh = add([data]);
      if (data.from.kind === 'agent') {
        typist.value = null;
        work.said(data);
      }
      // After a break their number is said instead.
      if (fresh.length && state.value === 'ready' && before === undefined) announcer.message(data);
    }
    if (event !== 'conversation.said') readSoon();
  }

  /** @param {any} frame */
  function hearFrame(frame) {
    if (frame.typing) return typing(frame.typing);
    if (frame.type === 'handoff.status') readSoon();
  }

  /** @param {any} frame */
  function typing({ from, on, ttl_ms }) {
    if (from.kind !== 'agent') return;
    clearTimeout(typingTimer);
    if (on && typist.value === null) announcer.typing(from.agentName);
    typist.value = on ? from : null;
    if (on) typingTimer = setTimeout(() => (typist.value = null), ttl_ms);
  }

  const stopWatching = live.state.subscribe((connection) => {
    if (connection === 'again' || connection === 'offline') before ??= messages.peek().at(-1)?.number;
  });
  const stop = live.follow({
    conversation: id,
    event: hear,
    frame: hearFrame,
    ready(first) {
      if (first) begin();
      else caughtUp = catchUp().catch(() => 0);
    },
  });

  return {
    id, path, conversation, transfer, agents, messages, state, typist, names, holder, work, waiting,
    missed: () => caughtUp,
    again() {
      state.value = 'loading';
      begin();
    },
    read: readState,
    async earlier() {
      const first = messages.value[0]?.number ?? 1;
      const after = Math.max(0, first - 1 - PAGE);
      const page = await get(`${path}/messages`, { after, limit: first - 1 - after });
      add(page.items);
    },
    close() {
      stop();
      stopWatching();
      work.close();
      waiting.close();
      clearTimeout(readTimer);
    },
  };
}

/** @param {ChatMessage[]} messages @param {Agent[]} agents @param {any} transfer */
function namesOf(messages, agents, transfer) {
  /** @type {Map<string, { name: string, person: boolean }>} */
  const names = new Map();
  const put = (/** @type {any} */ agent, person = false) => {
    if (!agent?.agentId) return;
    names.set(agent.agentId, { name: agent.agentName || agent.agentId, person: person || names.get(agent.agentId)?.person === true });
  };
  for (const agent of agents) put(agent);
  for (const { from, parts } of messages) {
    if (from.kind === 'agent') put(from);
    for (const part of parts ?? []) {
      if (part.type !== 'agent-transfer') continue;
      put(part.fromAgent);
      put(part.toAgent);
      put(part.targetAgent, part.status === 'connected');
    }
  }
  put(transfer?.agent, true);
  return names;
}

/**
 * Who answers now, as the head shows it.
 * @typedef {{ kind: 'bot' | 'person' | 'queue' | 'nobody', id: string, name: string, hold?: boolean, rings?: boolean }} Holder
 */

/** @param {any} conversation @param {any} transfer @param {Map<string, { name: string, person: boolean }>} names @returns {Holder | null} */
function holderOf(conversation, transfer, names) {
  if (!conversation) return null;
  const { holder: id, status } = conversation;
  const name = names.get(id)?.name ?? id;
  if (status === 'closed') return { kind: 'nobody', id, name };
  const asked = transfer?.status ?? conversation.transfer_status;
  if (asked === 'connected' || asked === 'on_hold') return { kind: 'person', id, name, hold: asked === 'on_hold' };
  if (asked === 'requested' || asked === 'queued' || asked === 'ringing')
    return { kind: 'queue', id, name: transfer?.agent?.agentName ?? name, rings: asked === 'ringing' };
  return { kind: names.get(id)?.person ? 'person' : 'bot', id, name };
}
