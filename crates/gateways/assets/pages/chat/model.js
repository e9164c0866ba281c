// What the chat knows of its conversation, from the transcript, the live events and what agents announce.
import { batch, computed, signal } from '../core/html.js';
import { get } from '../core/api.js';
import { kept } from '../core/kept.js';
import * as live from '../core/live.js';
import { Outbox } from '../core/outbox.js';
import { Announcer } from './announcer.js';
import { holderOf, namesOf } from './holder.js';
import { Working } from './working.js';

/** Messages of the first page, and of each earlier one. */
const PAGE = 60;
const PAGE_MAX = 200;
/** Several frames tell one change; the state is read once for all of them. */
const READ_AFTER_MS = 60;

/** @typedef {import('./items.js').ChatMessage} ChatMessage */
/** @typedef {import('./holder.js').Agent} Agent */
/** @typedef {import('./holder.js').Holder} Holder */

export class Chat {
  /** @type {import('../core/html.js').Signal<any>} */
  conversation = signal(null);
  /** @type {import('../core/html.js').Signal<any>} the last request for a person */
  transfer = signal(null);
  /** @type {import('../core/html.js').Signal<Agent[]>} whom the customer may choose */
  agents = signal([]);
  /** @type {import('../core/html.js').Signal<ChatMessage[]>} in the order of their numbers */
  messages = signal([]);
  /** @type {import('../core/html.js').Signal<'loading' | 'ready' | 'failed'>} */
  state = signal('loading');
  /** @type {import('../core/html.js').Signal<Agent | null>} who is typing */
  typist = signal(null);
  /** The transfers for which this customer asked here. @type {import('../core/html.js').Signal<string[]>} */
  ownRequests;
  /** Why no person could be asked for, until the customer dismisses it. */
  noPerson = signal('');
  /** Whether the form for a callback is open. */
  callingBack = signal(false);
  names = computed(() => namesOf(this.messages.value, this.agents.value, this.transfer.value));
  holder = computed(() => holderOf(this.conversation.value, this.transfer.value, this.names.value));

  /** Messages that came in during the last break. */
  #caughtUp = Promise.resolve(0);
  /** The last message before the break, while there is one. @type {number | undefined} */
  #before;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #typingTimer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #readTimer;
  #n_reads = 0;
  /** The newest read of which the result is shown. */
  #shownRead = 0;
  #announcer;
  #stops;

  /** @param {string} id of the conversation */
  constructor(id) {
    this.id = id;
    this.path = `/v1/conversations/${encodeURIComponent(id)}`;
    this.ownRequests = signal(kept.read(`asked.${id}`, []));
    this.#announcer = Announcer(this);
    this.work = new Working(id, { announcer: this.#announcer, holder: this.holder });
    this.outbox = new Outbox(id, {
      sent: (one, answer) => this.#sent(one, answer),
      failed: (one) => this.#announcer.notSent(one.text),
    });
    const stopWatching = live.state.subscribe((connection) => {
      if (connection === 'again' || connection === 'offline') this.#before ??= this.messages.peek().at(-1)?.number;
    });
    const stop = live.follow({
      conversation: id,
      event: (event) => this.#hear(event),
      frame: (frame) => this.#hearFrame(frame),
      ready: (first) => (first ? this.#begin() : (this.#caughtUp = this.#catchUp().catch(() => 0))),
    });
    this.#stops = [stop, stopWatching];
  }

  /** How many messages of others came in during the last break. */
  missed = () => this.#caughtUp;

  again = () => {
    this.state.value = 'loading';
    this.#begin();
  };

  /** Loads the page of messages before the first that is shown. */
  earlier = async () => {
    const first = this.messages.value[0]?.number ?? 1;
    const after = Math.max(0, first - 1 - PAGE);
    const page = await get(`${this.path}/messages`, { after, limit: first - 1 - after });
    this.#add(page.items);
  };

  close = () => {
    for (const stop of this.#stops) stop();
    this.work.close();
    this.outbox.close();
    clearTimeout(this.#readTimer);
    clearTimeout(this.#typingTimer);
  };

  /** Reads who holds the conversation, and whom the customer may choose. */
  async read() {
    const turn = ++this.#n_reads;
    const [about, choice] = await Promise.all([get(this.path), get(`${this.path}/agents`).catch(() => ({ items: [] }))]);
    const request = about.transfer_id ? await get(`/v1/transfers/${encodeURIComponent(about.transfer_id)}`).catch(() => null) : null;
    // A slow answer must not replace a newer one.
    if (turn < this.#shownRead) return;
    this.#shownRead = turn;
    batch(() => {
      this.conversation.value = about;
      this.agents.value = choice.items;
      this.transfer.value = request;
    });
    this.#announcer.place();
  }

  #readSoon() {
    clearTimeout(this.#readTimer);
    this.#readTimer = setTimeout(() => this.read().catch(() => {}), READ_AFTER_MS);
  }

  async #begin() {
    try {
      await this.read();
      this.#add(await this.#readAfter(Math.max(0, (this.conversation.value.n_messages ?? 0) - PAGE)));
      this.state.value = 'ready';
    } catch {
      if (this.state.value !== 'ready') this.state.value = 'failed';
    }
  }

  /** After a break: reads what is new, and counts what others said. */
  async #catchUp() {
    try {
      if (this.state.value !== 'ready') await this.#begin();
      else await this.read();
      const from = this.#before ?? this.messages.value.at(-1)?.number ?? 0;
      this.#add(await this.#readAfter(from));
      return this.messages.value.filter((one) => one.number > from && one.from.kind === 'agent').length;
    } finally {
      // If the connection broke again meanwhile, the next catch-up counts from the same message.
      if (live.state.peek() === 'online') this.#before = undefined;
      this.outbox.flush();
    }
  }

  /** @param {number} after @returns {Promise<ChatMessage[]>} */
  async #readAfter(after) {
    /** @type {ChatMessage[]} */
    const all = [];
    for (let from = after; ; ) {
      const page = await get(`${this.path}/messages`, { after: from, limit: PAGE_MAX });
      all.push(...page.items);
      if (page.next_cursor === undefined || page.next_cursor === null || page.items.length === 0) return all;
      from = page.items.at(-1).number;
    }
  }

  /** @param {ChatMessage[]} fresh @returns {ChatMessage[]} those that were not known */
  #add(fresh) {
    const known = new Map(this.messages.value.map((one) => [one.number, one]));
    const added = fresh.filter((one) => !known.has(one.number));
    for (const one of fresh) known.set(one.number, one);
    this.messages.value = [...known.values()].sort((a, b) => a.number - b.number);
    return added;
  }

  /** @param {import('../core/outbox.js').Unsent} one @param {{ number: number }} answer */
  #sent(one, { number }) {
    // The event of the message may come before this answer, and knows more: the paths of files.
    if (this.messages.value.some((other) => other.number === number)) return;
    this.#add([{ number, from: { kind: 'customer' }, parts: one.body.parts, at: new Date().toISOString() }]);
  }

  /** @param {any} event */
  #hear({ event, data }) {
    if (data?.number !== undefined) {
      const fresh = this.#add([data]);
      if (data.from.kind === 'agent') {
        this.typist.value = null;
        this.work.said(data);
      }
      // After a break the strip says how many there are.
      if (fresh.length && this.state.value === 'ready' && this.#before === undefined) this.#announcer.message(data);
    }
    if (event !== 'conversation.said') this.#readSoon();
  }

  /** @param {any} frame */
  #hearFrame(frame) {
    if (frame.typing) this.#typing(frame.typing);
    else if (frame.type === 'handoff.status') this.#readSoon();
  }

  /** @param {any} frame */
  #typing({ from, on, ttl_ms }) {
    if (from.kind !== 'agent') return;
    clearTimeout(this.#typingTimer);
    if (on && this.typist.value === null) this.#announcer.typing(from.agentName);
    this.typist.value = on ? from : null;
    if (on) this.#typingTimer = setTimeout(() => (this.typist.value = null), ttl_ms);
  }
}
