// What the agent of this conversation announces while it works: its words as they come, its steps, and its questions.
import { signal } from '../core/html.js';
import { listen } from '../core/aaep.js';
import { bySentence } from '../core/announce.js';
import { play } from '../core/sounds.js';

const STEPS_MAX = 20;
const STREAMS_MAX = 4;

/** @typedef {{ id: string, session: string, agent: string, name: string, at: string, text: string, complete: boolean }} Stream */
/** @typedef {{ id: string, session: string, at: string, text: string, done: boolean }} Step */
/**
 * `open`, or how it ended.
 * @typedef {{ id: string, session: string, kind: 'confirm' | 'clarify', agent: string, event: any, until: number, mine?: string,
 *   outcome?: 'accepted' | 'rejected' | 'answered' | 'unanswered' | 'withdrawn' | 'over' }} Question
 */

/**
 * @param {string} conversation
 * @param {{ announcer: ReturnType<typeof import('./announcer.js').Announcer>, holder: import('../core/html.js').ReadonlySignal<any> }} chat
 */
export function working(conversation, { announcer, holder }) {
  /** @type {import('../core/html.js').Signal<Stream[]>} */
  const streams = signal([]);
  /** @type {import('../core/html.js').Signal<Step[]>} */
  const steps = signal([]);
  /** @type {import('../core/html.js').Signal<Question[]>} */
  const questions = signal([]);
  /** @type {Map<string, ReturnType<typeof bySentence>>} */
  const readers = new Map();

  /** @type {Record<string, (event: any) => void>} */
  const heard = {
    'aaep:agent.output.streaming': stream,
    'aaep:agent.tool.invoked': (event) => step(event, false),
    'aaep:agent.tool.completed': (event) => step(event, true),
    'aaep:agent.awaiting.confirmation': (event) => ask(event, 'confirm'),
    'aaep:agent.awaiting.clarification': (event) => ask(event, 'clarify'),
    'aaep:agent.session.completed': over,
    'aaep:agent.session.cancelled': over,
    'aaep:agent.session.errored': over,
    'tasuki:question.settled': settled,
  };

  const ear = listen({
    conversation,
    boundaries: ['none'],
    hear(event) {
      // The server announces changes of hands as `tasuki`; the chat knows them from its own events.
      if (event.producer?.agent_id !== 'tasuki') heard[event.type]?.(event);
    },
  });

  /** @param {any} event */
  function stream(event) {
    const id = `${event.session_id}:${event.output_id ?? ''}`;
    const last = streams.value.find((one) => one.id === id);
    const name = nameOf(event);
    // A listener that comes late gets the text so far as one piece from the beginning.
    const whole = event.position === 0 ? event.chunk : (last?.text ?? '') + event.chunk;
    const next = { id, session: event.session_id, agent: event.producer.agent_id, name, at: last?.at ?? event.timestamp, text: whole, complete: event.complete };
    streams.value = [...streams.value.filter((one) => one.id !== id), next].slice(-STREAMS_MAX);
    if (!readers.has(id)) readers.set(id, bySentence((sentence) => announcer.sentence(name, sentence)));
    readers.get(id)?.(whole, event.complete);
    if (event.complete) {
      announcer.streamed(whole);
      readers.delete(id);
    }
  }

  /** @param {any} event @param {boolean} done */
  function step(event, done) {
    const text = event.summary_normal ?? event.summary_terse;
    if (!text) return;
    const id = `${event.session_id}:${event.tool_call_id ?? event.event_id}`;
    const at = steps.value.find((one) => one.id === id)?.at ?? event.timestamp;
    steps.value = [...steps.value.filter((one) => one.id !== id), { id, session: event.session_id, at, text, done }].slice(-STEPS_MAX);
  }

  /** @param {any} event @param {'confirm' | 'clarify'} kind */
  function ask(event, kind) {
    const { seconds_left, settled: ended } = event.extensions?.tasuki ?? {};
    const until = Date.now() + (seconds_left ?? event.timeout_seconds) * 1000;
    const last = questions.value.find((one) => one.id === event.event_id);
    /** @type {Question} */
    const next = { id: event.event_id, session: event.session_id, kind, agent: nameOf(event), event, until, mine: last?.mine };
    if (ended) next.outcome = ended === 'withdrawn' ? 'withdrawn' : 'over';
    if (ended && !last) return;
    questions.value = last ? questions.value.map((one) => (one.id === next.id ? next : one)) : [...questions.value, next];
    if (!last && !ended) play('question');
  }

  /** @param {any} event */
  function settled({ question, outcome, settled_by }) {
    change(question, { outcome: settled_by === 'time' ? 'over' : outcome, mine: undefined });
  }

  /** @param {any} event */
  function over({ session_id }) {
    streams.value = streams.value.map((one) => (one.session === session_id ? { ...one, complete: true } : one));
    for (const one of questions.value) if (one.session === session_id && !one.outcome && !one.mine) change(one.id, { outcome: 'withdrawn' });
  }

  /** @param {string} id @param {Partial<Question>} what */
  const change = (id, what) => (questions.value = questions.value.map((one) => (one.id === id ? { ...one, ...what } : one)));

  /** @param {any} event */
  const nameOf = ({ producer }) => (holder.value?.id === producer.agent_id ? holder.value.name : (producer.agent_name ?? producer.agent_id));

  return {
    streams, steps, questions,
    /** The message itself is there: it takes the place of what was streamed. @param {import('./items.js').ChatMessage} message */
    said({ from }) {
      streams.value = streams.value.filter((one) => one.agent !== from.agentId);
      steps.value = steps.value.filter((one) => one.done);
    },
    /** @param {Question} question @param {import('../core/aaep.js').Answer} answer @param {string} mine what the card then says */
    answer(question, answer, mine) {
      const sent = ear.answer(question.event, answer);
      if (sent) change(question.id, { mine });
      return sent;
    },
    /** @param {Question} question */
    dismiss: (question) => (questions.value = questions.value.filter((one) => one.id !== question.id)),
    /** @param {Question} question */
    timeOut: (question) => change(question.id, { outcome: 'over' }),
    close: ear.close,
  };
}
