// What the agent of this conversation announces while it works: its words as they come, its steps, and its questions.
import { signal } from '../core/html.js';
import { listen } from '../core/aaep.js';
import { bySentence } from '../core/announce.js';
import { play } from '../core/sounds.js';
import { textOf } from './items.js';

const STEPS_MAX = 20;
const STREAMS_MAX = 4;
/** Chunks of a finished stream come late by seconds, so the newest ids are enough. */
const FINISHED_MAX = 32;

/** @typedef {{ id: string, session: string, agent: string, name: string, at: string, text: string, complete: boolean }} Stream */
/** @typedef {{ id: string, session: string, at: string, text: string, done: boolean }} Step */
/**
 * Without `outcome` it is open. `mine` is what the card says after the customer's own answer.
 * @typedef {{ id: string, session: string, kind: 'confirm' | 'clarify', agent: string, event: any, until: number, mine?: string,
 *   outcome?: 'accepted' | 'rejected' | 'answered' | 'unanswered' | 'withdrawn' | 'over' }} Question
 */

export class Working {
  /** @type {import('../core/html.js').Signal<Stream[]>} */
  streams = signal([]);
  /** @type {import('../core/html.js').Signal<Step[]>} */
  steps = signal([]);
  /** @type {import('../core/html.js').Signal<Question[]>} */
  questions = signal([]);
  /** @type {Map<string, ReturnType<typeof bySentence>>} */
  #readers = new Map();
  /** Streams of which the message is there. @type {string[]} */
  #finished = [];
  #chat;
  #listener;

  /**
   * @param {string} conversation
   * @param {{ announcer: ReturnType<typeof import('./announcer.js').Announcer>, holder: import('../core/html.js').ReadonlySignal<any> }} chat
   */
  constructor(conversation, chat) {
    this.#chat = chat;
    this.#listener = listen({ conversation, boundaries: ['none'], hear: (event) => this.#hear(event) });
  }

  close = () => this.#listener.close();

  /** A message takes the place of what its agent streamed. @param {import('./items.js').ChatMessage} message */
  said(message) {
    const text = textOf(message);
    for (const stream of this.streams.value.filter((one) => one.agent === message.from.agentId)) {
      // Messages and streams have a connection each: the message may come before the last chunks, which are not shown any more.
      if (text.startsWith(stream.text.trim())) this.#readToEnd(stream.id, text);
      this.#readers.delete(stream.id);
      this.#finished = [...this.#finished, stream.id].slice(-FINISHED_MAX);
    }
    this.streams.value = this.streams.value.filter((one) => one.agent !== message.from.agentId);
    this.steps.value = this.steps.value.filter((one) => one.done);
  }

  /**
   * @param {Question} question @param {import('../core/aaep.js').Answer} answer @param {string} mine what the card then says
   * @returns {boolean} whether there is a connection to send it
   */
  answer(question, answer, mine) {
    const sent = this.#listener.answer(question.event, answer);
    if (sent) this.#change(question.id, { mine });
    return sent;
  }

  /** @param {Question} question */
  dismiss(question) {
    this.questions.value = this.questions.value.filter((one) => one.id !== question.id);
  }

  /** @param {Question} question */
  timeOut(question) {
    this.#change(question.id, { outcome: 'over' });
  }

  /** @param {any} event */
  #hear(event) {
    // The server announces changes of hands as `tasuki`; the chat knows them from its own events.
    if (event.producer?.agent_id === 'tasuki' && event.type.startsWith('aaep:')) return;
    switch (event.type) {
      case 'aaep:agent.output.streaming': return this.#stream(event);
      case 'aaep:agent.tool.invoked': return this.#step(event, false);
      case 'aaep:agent.tool.completed': return this.#step(event, true);
      case 'aaep:agent.awaiting.confirmation': return this.#ask(event, 'confirm');
      case 'aaep:agent.awaiting.clarification': return this.#ask(event, 'clarify');
      case 'aaep:agent.session.completed':
      case 'aaep:agent.session.cancelled':
      case 'aaep:agent.session.errored': return this.#over(event);
      case 'tasuki:question.settled': return this.#settled(event);
    }
  }

  /** @param {any} event */
  #stream(event) {
    const id = `${event.session_id}:${event.output_id ?? ''}`;
    // A stream without an `output_id` may begin again in its session.
    if (event.position === 0) this.#finished = this.#finished.filter((one) => one !== id);
    if (this.#finished.includes(id)) return;
    const last = this.streams.value.find((one) => one.id === id);
    const name = this.#nameOf(event);
    // A listener that comes late gets the text so far as one piece from the beginning.
    const whole = event.position === 0 ? event.chunk : (last?.text ?? '') + event.chunk;
    const next = { id, session: event.session_id, agent: event.producer.agent_id, name, at: last?.at ?? event.timestamp, text: whole, complete: event.complete };
    this.streams.value = [...this.streams.value.filter((one) => one.id !== id), next].slice(-STREAMS_MAX);
    if (!this.#readers.has(id)) this.#readers.set(id, bySentence((sentence) => this.#chat.announcer.sentence(name, sentence)));
    if (event.complete) this.#readToEnd(id, whole);
    else this.#readers.get(id)?.(whole, false);
  }

  /** Reads out the rest of a stream, so that its message is not read out again. @param {string} id @param {string} whole */
  #readToEnd(id, whole) {
    const reader = this.#readers.get(id);
    if (!reader) return;
    reader(whole, true);
    this.#chat.announcer.streamed(whole);
    this.#readers.delete(id);
  }

  /** @param {any} event @param {boolean} done */
  #step(event, done) {
    const text = event.summary_normal ?? event.summary_terse;
    if (!text) return;
    const id = `${event.session_id}:${event.tool_call_id ?? event.event_id}`;
    const at = this.steps.value.find((one) => one.id === id)?.at ?? event.timestamp;
    this.steps.value = [...this.steps.value.filter((one) => one.id !== id), { id, session: event.session_id, at, text, done }].slice(-STEPS_MAX);
  }

  /** @param {any} event @param {'confirm' | 'clarify'} kind */
  #ask(event, kind) {
    const { seconds_left, settled: ended } = event.extensions?.tasuki ?? {};
    const until = Date.now() + (seconds_left ?? event.timeout_seconds) * 1000;
    const last = this.questions.value.find((one) => one.id === event.event_id);
    /** @type {Question} */
    const next = { id: event.event_id, session: event.session_id, kind, agent: this.#nameOf(event), event, until, mine: last?.mine };
    if (ended) next.outcome = ended === 'withdrawn' ? 'withdrawn' : 'over';
    if (ended && !last) return;
    this.questions.value = last ? this.questions.value.map((one) => (one.id === next.id ? next : one)) : [...this.questions.value, next];
    if (!last && !ended) play('question');
  }

  /** @param {any} event */
  #settled({ question, outcome, settled_by }) {
    this.#change(question, { outcome: settled_by === 'time' ? 'over' : outcome, mine: undefined });
  }

  /** @param {any} event */
  #over({ session_id }) {
    for (const one of this.streams.value) if (one.session === session_id) this.#readToEnd(one.id, one.text);
    this.streams.value = this.streams.value.map((one) => (one.session === session_id ? { ...one, complete: true } : one));
    for (const one of this.questions.value) if (one.session === session_id && !one.outcome && !one.mine) this.#change(one.id, { outcome: 'withdrawn' });
  }

  /** @param {string} id @param {Partial<Question>} what */
  #change(id, what) {
    this.questions.value = this.questions.value.map((one) => (one.id === id ? { ...one, ...what } : one));
  }

  /** @param {any} event */
  #nameOf({ producer }) {
    const holder = this.#chat.holder.value;
    return holder?.id === producer.agent_id ? holder.name : (producer.agent_name ?? producer.agent_id);
  }
}
