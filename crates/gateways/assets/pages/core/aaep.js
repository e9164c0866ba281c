// The page as a listener of AAEP: what agents announce while they work, and the questions that people answer.
import { address } from './api.js';
import { slot } from './kept.js';
import { language } from './words.js';

const EXTENSION = 'urn:tasuki:aaep:v1';
const WAITS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000];
/** The subscription was rejected, or the sign-in has ended: trying again does not help. */
const FINAL = [4001, 4002];

/**
 * @typedef {object} Listening
 * @property {string} [conversation] sessions of this conversation only
 * @property {string} [session] this session only
 * @property {'beginning'} [from]
 * @property {'terse' | 'normal' | 'detailed'} [verbosity]
 * @property {string[]} [boundaries] how text comes: `none` as it is sent; by the sentence without it
 * @property {(event: any) => void} hear each event once
 */

/** @typedef {{ answer: (question: any, answer: Answer) => boolean, verbosity: (how: 'terse' | 'normal' | 'detailed') => void, close: () => void }} Listener */
/** @typedef {{ decision: 'accept' | 'reject', rationale?: string } | { response: string }} Answer */

/**
 * Listens until `close`. Reconnects and resumes by itself.
 * @param {Listening} listening
 * @returns {Listener}
 */
export function listen(listening) {
  /** @type {WebSocket | null} */
  let socket = null;
  let subscription = '';
  let cursor = '';
  let tries = 0;
  let over = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const seen = new RecentIds(2_000);

  function open() {
    if (over) return;
    const url = address('/aaep/v1/ws');
    url.protocol = url.protocol.replace('http', 'ws');
    const own = new WebSocket(url, ['aaep.v1', `page.${slot.read() ?? 'none'}`]);
    socket = own;
    subscription = '';
    own.onopen = () => own.send(JSON.stringify(request(listening, cursor)));
    own.onmessage = ({ data }) => take(JSON.parse(data));
    own.onclose = ({ code }) => {
      if (own !== socket || over) return;
      socket = null;
      if (FINAL.includes(code)) return;
      timer = setTimeout(open, WAITS[Math.min(tries++, WAITS.length - 1)] * (0.5 + Math.random() / 2));
    };
  }

  /** @param {any} message */
  function take(message) {
    if (message.type === 'subscription.accepted') {
      subscription = message.subscription_id;
      tries = 0;
    } else if (message.type === 'tasuki.place') {
      cursor = message.resume_after;
    } else if (/^(aaep|tasuki:question)/.test(message.type ?? '')) {
      // After a reconnect an open question has a reply token of the new subscription, which an answer needs.
      const again = message.type.includes('.awaiting.') && message.reply_token ? `:${message.reply_token}` : '';
      if (seen.add(message.event_id + again)) listening.hear(message);
    }
  }

  open();
  return {
    answer(question, answer) {
      if (socket?.readyState !== WebSocket.OPEN || !subscription) return false;
      socket.send(JSON.stringify(reply(subscription, question, answer)));
      return true;
    },
    verbosity(how) {
      listening.verbosity = how;
      if (subscription && socket?.readyState === WebSocket.OPEN) {
        const { capabilities } = request(listening, '');
        const terms = { type: 'subscription.renegotiate', aaep_version: '1.0.0', subscription_id: subscription, capabilities };
        socket.send(JSON.stringify(terms));
      }
    },
    close() {
      over = true;
      clearTimeout(timer);
      socket?.close(1000);
    },
  };
}

/** @param {Listening} listening @param {string} cursor */
function request(listening, cursor) {
  const { conversation, session, from, verbosity, boundaries } = listening;
  return {
    type: 'subscription.request',
    aaep_version: '1.0.0',
    subscriber_id: 'tasuki-page',
    capabilities: {
      languages: [language.value],
      coalesce_boundaries: boundaries ?? ['sentence'],
      preferred_verbosity: verbosity ?? 'normal',
      supports_confirmation_reply: true,
      supports_clarification_reply: true,
      supported_extensions: [EXTENSION],
      tasuki: {
        places: true,
        ...(conversation ? { conversation_id: conversation } : {}),
        ...(session ? { session_id: session } : {}),
        ...(cursor ? { resume_after: cursor } : from ? { from } : {}),
      },
    },
  };
}

/** @param {string} subscription @param {any} question @param {Answer} answer */
function reply(subscription, question, answer) {
  const shared = { subscription_id: subscription, reply_token: question.reply_token, timestamp: new Date().toISOString() };
  if ('response' in answer) return { type: 'clarification.reply', ...shared, response: answer.response };
  return {
    type: 'confirmation.reply',
    ...shared,
    decision: answer.decision,
    ...(answer.rationale ? { decision_rationale: answer.rationale } : {}),
  };
}

/** The newest ids, so that a repeated event is heard once. */
class RecentIds {
  /** @param {number} most */
  constructor(most) {
    this.most = most;
    /** @type {Set<string>} */
    this.ids = new Set();
  }
  /** @param {string} id @returns {boolean} whether it is new */
  add(id) {
    if (this.ids.has(id)) return false;
    this.ids.add(id);
    if (this.ids.size > this.most) this.ids.delete(/** @type {string} */ (this.ids.values().next().value));
    return true;
  }
}
