// The live connection: one WebSocket for all subscriptions of a page. It resumes at the last cursor and misses nothing.
import { signal } from './html.js';
import { address } from './api.js';
import { slot } from './kept.js';
import { stillSignedIn } from './who.js';

/** Waits between two tries, in ms; the last one repeats. Each is shortened by up to half at random. */
const WAITS = [500, 1_000, 2_000, 4_000, 8_000, 15_000];
/** The server drops the same typing frame within 2 s, and a frame counts for 6 s. */
const TYPING_EVERY_MS = 3_000;
/** A ping finds a connection that is dead though nobody closed it. */
const PING_EVERY_MS = 15_000;
const PONG_MS_MAX = 10_000;
const TOKEN_ENDED = 4001;

/**
 * `connecting` at first; `again` after a loss; `offline` while the device has no network; `ended` when the sign-in is over.
 * @typedef {'idle' | 'connecting' | 'online' | 'again' | 'offline' | 'ended'} State
 */

/** @type {import('./html.js').Signal<State>} */
export const state = signal('idle');

/**
 * @typedef {object} Following
 * @property {string} [conversation] this conversation only
 * @property {string} [kind] events of this family or name
 * @property {string} [agent]
 * @property {string} [after] resume after this cursor
 * @property {(event: any) => void} [event] an entry of the ledger
 * @property {(frame: any) => void} [frame] a frame that is no entry: `handoff.status`, `queue_changed`, `typing` …
 * @property {(cursor: string) => void} [cursor] the cursor has moved
 * @property {(first: boolean) => void} [ready] subscribed; `first` is false after a break
 */

/** @type {Map<string, Following & { ready_before?: boolean }>} */
const followings = new Map();
/** @type {WebSocket | null} */
let socket = null;
let tries = 0;
let next = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let pongBy = 0;

/**
 * Follows events until the returned function is called.
 * @param {Following} following
 * @returns {() => void}
 */
export function follow(following) {
  const id = `s${++next}`;
  followings.set(id, { ...following });
  if (socket?.readyState === WebSocket.OPEN) subscribe(id);
  else open();
  return () => {
    followings.delete(id);
    send({ do: 'unsubscribe', of: id });
    if (followings.size === 0) close();
  };
}

/** Ends the connection, such as at sign-out. */
export function close() {
  followings.clear();
  clearTimeout(timer);
  socket?.close(1000);
  socket = null;
  state.value = 'idle';
}

/** Tries at once instead of after the wait. */
export function retryNow() {
  if (socket || followings.size === 0) return;
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
  if (state.value === 'idle' || state.value === 'ended') state.value = 'connecting';
  const url = address('/ws');
  url.protocol = url.protocol.replace('http', 'ws');
  const own = new WebSocket(url, ['tasuki.v1', `page.${slot.read() ?? 'none'}`]);
  socket = own;
  own.onopen = () => {
    tries = 0;
    pongBy = 0;
    for (const id of followings.keys()) subscribe(id);
    if (state.value !== 'again' && state.value !== 'offline') state.value = 'online';
  };
  own.onmessage = ({ data }) => hear(JSON.parse(data));
  own.onclose = ({ code }) => own === socket && lost(code);
}

/** @param {number} code */
function lost(code) {
  socket = null;
  if (followings.size === 0) return;
  state.value = navigator.onLine ? 'again' : 'offline';
  // A refused upgrade looks like any other loss, so the page asks whether it is still signed in.
  if (code === TOKEN_ENDED || tries > 0) {
    stillSignedIn().then((still) => {
      if (still) return;
      close();
      state.value = 'ended';
    });
  }
  const wait = WAITS[Math.min(tries, WAITS.length - 1)];
  tries += 1;
  timer = setTimeout(open, wait * (0.5 + Math.random() / 2));
}

/** @param {string} id */
function subscribe(id) {
  const { conversation, kind, agent, after } = /** @type {Following} */ (followings.get(id));
  send({ id, do: 'subscribe', conversation, kind, agent, after });
}

/** @param {any} frame */
function hear(frame) {
  pongBy = 0;
  if (frame.re !== undefined) return answered(frame);
  if (frame.typing) {
    for (const one of followings.values()) if (one.conversation === frame.typing.conversation) one.frame?.(frame);
    return;
  }
  const following = followings.get(frame.of);
  if (!following) return;
  if (frame.event) following.event?.(frame.event);
  else if (frame.type) following.frame?.(frame);
  if (frame.cursor) {
    following.after = frame.cursor;
    following.cursor?.(frame.cursor);
  }
}

/** @param {any} frame */
function answered(frame) {
  const following = followings.get(frame.re);
  if (!following) return;
  if (frame.status >= 400) {
    // A cursor of an older ledger: begin again now, and let the page read anew.
    if (frame.body?.code === 'cursor_invalid' && following.after) {
      following.after = undefined;
      subscribe(frame.re);
    }
    return;
  }
  following.after = frame.body.cursor ?? following.after;
  state.value = 'online';
  following.ready?.(!following.ready_before);
  following.ready_before = true;
}

setInterval(() => {
  if (socket?.readyState !== WebSocket.OPEN) return;
  if (pongBy && Date.now() > pongBy) {
    const dead = socket;
    lost(4002);
    dead.close();
    return;
  }
  send({ id: 'ping', do: 'ping' });
  pongBy ||= Date.now() + PONG_MS_MAX;
}, PING_EVERY_MS);

addEventListener('online', retryNow);
addEventListener('offline', () => {
  if (followings.size === 0) return;
  const dead = socket;
  lost(1006);
  dead?.close();
});
document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && retryNow());
