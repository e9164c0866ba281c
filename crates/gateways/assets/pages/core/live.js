// The live connection: one WebSocket for all subscriptions of a page. It resumes at the last cursor and misses nothing.
import { signal } from './html.js';
import { address } from './api.js';
import { slot } from './kept.js';
import { stillSignedIn } from './who.js';

/** Waits between two tries, in ms; the last one repeats. Each is shortened by up to half at random. */
const WAITS = [500, 1_000, 2_000, 4_000, 8_000, 15_000];
/** The server drops the same typing frame within 2 s, and a frame counts for 6 s. */
const TYPING_EVERY_MS = 3_000;
/** A ping finds a connection that is dead though neither side closed it. */
const PING_EVERY_MS = 15_000;
const PONG_MS_MAX = 10_000;
const TOKEN_ENDED = 4001;

/**
 * `idle` without subscriptions; `connecting` at first; `again` after a loss; `offline` while the device has no network.
 * @typedef {'idle' | 'connecting' | 'online' | 'again' | 'offline'} State
 */

/** @type {import('./html.js').Signal<State>} */
export const state = signal('idle');

/**
 * @typedef {object} Subscription
 * @property {string} [conversation] this conversation only
 * @property {string} [kind] events of this family or name
 * @property {string} [agent]
 * @property {string} [after] resume after this cursor
 * @property {(event: any) => void} [event] an entry of the ledger
 * @property {(frame: any) => void} [frame] a frame that is no entry: `handoff.status`, `queue_changed`, `typing` …
 * @property {(cursor: string) => void} [cursor] the cursor has moved
 * @property {(first: boolean) => void} [ready] subscribed; `first` is false after a break
 */

/** @type {Map<string, Subscription & { wasReady?: boolean }>} */
const subscriptions = new Map();
/** @type {WebSocket | null} */
let socket = null;
let tries = 0;
let next = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
/** When a missing pong means that the connection is dead; 0 while no ping waits for one. */
let pongBy = 0;

/**
 * Follows events until the returned function is called.
 * @param {Subscription} subscription
 * @returns {() => void}
 */
export function follow(subscription) {
  const id = `s${++next}`;
  subscriptions.set(id, { ...subscription });
  if (socket?.readyState === WebSocket.OPEN) subscribe(id);
  else open();
  return () => {
    subscriptions.delete(id);
    send({ do: 'unsubscribe', of: id });
    if (subscriptions.size === 0) close();
  };
}

/** Ends the connection, such as at sign-out. */
export function close() {
  subscriptions.clear();
  clearTimeout(timer);
  socket?.close(1000);
  socket = null;
  state.value = 'idle';
}

/** Tries at once instead of after the wait. */
function retryNow() {
  if (socket || subscriptions.size === 0) return;
  tries = 0;
  open();
}

/** @type {Map<string, { on: boolean, at: number }>} */
const typed = new Map();

/** Says that the reader types, as often as the server wants it. @param {string} conversation @param {boolean} on */
export function typing(conversation, on) {
  const last = typed.get(conversation);
  const now = Date.now();
  if (!on && !last?.on) return;
  if (last && last.on === on && now - last.at < TYPING_EVERY_MS) return;
  typed.set(conversation, { on, at: now });
  send({ do: 'typing', conversation, on });
}

/** @param {any} frame */
function send(frame) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
}

function open() {
  if (socket) return;
  clearTimeout(timer);
  if (state.value === 'idle') state.value = 'connecting';
  const url = address('/ws');
  url.protocol = url.protocol.replace('http', 'ws');
  const own = new WebSocket(url, ['tasuki.v1', `page.${slot.read() ?? 'none'}`]);
  socket = own;
  own.onopen = () => {
    pongBy = 0;
    for (const id of subscriptions.keys()) subscribe(id);
    if (state.value !== 'again' && state.value !== 'offline') state.value = 'online';
  };
  own.onmessage = ({ data }) => hear(JSON.parse(data));
  own.onclose = ({ code }) => own === socket && lost(code);
}

/** @param {number} [code] */
function lost(code) {
  socket = null;
  clearTimeout(timer);
  if (subscriptions.size === 0) return;
  state.value = navigator.onLine ? 'again' : 'offline';
  // A refused upgrade looks like any other loss, so the page asks whether it is still signed in.
  if (code === TOKEN_ENDED || tries > 0) {
    stillSignedIn().then((still) => still || close());
  }
  const wait = WAITS[Math.min(tries, WAITS.length - 1)];
  tries += 1;
  timer = setTimeout(open, wait * (0.5 + Math.random() / 2));
}

/** Gives up the connection without waiting for its close, which may take minutes without a network. */
function drop() {
  const dead = socket;
  lost();
  dead?.close();
}

/** @param {string} id */
function subscribe(id) {
  const { conversation, kind, agent, after } = /** @type {Subscription} */ (subscriptions.get(id));
  send({ id, do: 'subscribe', conversation, kind, agent, after });
}

/** @param {any} frame */
function hear(frame) {
  pongBy = 0;
  if (frame.re !== undefined) return answered(frame);
  if (frame.typing) {
    for (const one of subscriptions.values()) if (one.conversation === frame.typing.conversation) one.frame?.(frame);
    return;
  }
  const subscription = subscriptions.get(frame.of);
  if (!subscription) return;
  if (frame.event) subscription.event?.(frame.event);
  else if (frame.type) subscription.frame?.(frame);
  if (frame.cursor) {
    subscription.after = frame.cursor;
    subscription.cursor?.(frame.cursor);
  }
}

/** @param {any} frame */
function answered(frame) {
  const subscription = subscriptions.get(frame.re);
  if (!subscription) return;
  if (frame.status >= 400) {
    // A cursor of an older ledger: begin again now, and let the page read anew.
    if (frame.body?.code === 'cursor_invalid' && subscription.after) {
      subscription.after = undefined;
      subscribe(frame.re);
    } else if (frame.status === 429 || frame.status >= 500) drop();
    return;
  }
  tries = 0;
  subscription.after = frame.body.cursor ?? subscription.after;
  state.value = 'online';
  subscription.ready?.(!subscription.wasReady);
  subscription.wasReady = true;
}

setInterval(() => {
  if (socket?.readyState !== WebSocket.OPEN) return;
  if (pongBy && Date.now() > pongBy) return drop();
  send({ id: 'ping', do: 'ping' });
  pongBy ||= Date.now() + PONG_MS_MAX;
}, PING_EVERY_MS);

addEventListener('online', retryNow);
addEventListener('offline', drop);
document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && retryNow());
