// Messages that wait to be sent. Each is kept in the browser with its key until the server has it, so it is sent once,
// also after a reload, a loss of the network or a restart of the server.
import { signal } from './html.js';
import { post, Problem } from './api.js';
import { newKey } from './ids.js';
import { kept } from './kept.js';

/** More messages than this are refused while nothing can be sent. */
const WAITING_MAX = 100;
/** The server keeps keys for seven days; an older message could be applied twice, so the person decides. */
const SAFE_MS = 6 * 86_400_000;

/**
 * `waiting` for the network, `sending`, or `failed`: the server refused it.
 * @typedef {object} Waiting
 * @property {string} key
 * @property {any} body what the server gets
 * @property {string} text what the page shows
 * @property {string} at
 * @property {'waiting' | 'sending' | 'failed'} state
 * @property {string} [code] why it was refused
 */

/**
 * The outbox of one conversation.
 * @param {string} conversation
 * @param {{ sent: (waiting: Waiting, answer: any) => void, failed: (waiting: Waiting) => void }} tell
 */
export function outbox(conversation, tell) {
  const name = `outbox.${conversation}`;
  const path = `/v1/conversations/${encodeURIComponent(conversation)}/messages`;
  /** @type {import('./html.js').Signal<Waiting[]>} */
  const items = signal(load());
  let busy = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  /** @returns {Waiting[]} */
  function load() {
    return kept.read(name, []).map((/** @type {Waiting} */ one) => {
      if (one.state === 'failed') return one;
      return Date.now() - Date.parse(one.at) > SAFE_MS ? { ...one, state: 'failed', code: 'too_old' } : { ...one, state: 'waiting' };
    });
  }

  /** @param {Waiting[]} next */
  function save(next) {
    items.value = next;
    kept.write(name, next.length ? next : null);
  }

  /** @param {string} key @param {Partial<Waiting>} change */
  const mark = (key, change) => save(items.value.map((one) => (one.key === key ? { ...one, ...change } : one)));

  async function flush() {
    if (busy) return;
    busy = true;
    clearTimeout(timer);
    // Another tab with the same sign-in must not send at the same time; the key would protect, and the order would not.
    await exclusively(`${name}.send`, async () => {
      for (let one = first(); one && navigator.onLine; one = first()) if (!(await send(one))) break;
    });
    busy = false;
  }

  const first = () => items.value.find((one) => one.state !== 'failed');

  /** @param {Waiting} one @returns {Promise<boolean>} whether the next one may go */
  async function send(one) {
    mark(one.key, { state: 'sending' });
    try {
      const answer = await post(path, one.body, { key: one.key });
      tell.sent(one, answer);
      save(items.value.filter((other) => other.key !== one.key));
      return true;
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      if (problem.mayPass || problem.status === 401) {
        mark(one.key, { state: 'waiting' });
        timer = setTimeout(flush, (problem.retryAfter ?? 5) * 1000);
        return false;
      }
      mark(one.key, { state: 'failed', code: problem.code });
      tell.failed({ ...one, code: problem.code });
      return true;
    }
  }

  addEventListener('online', flush);
  const stop = kept.watch(name, () => busy || (items.value = load()));
  flush();
  return {
    items,
    flush,
    /** @param {any} body @param {string} text @returns {Waiting | null} `null` if too many wait */
    add(body, text) {
      if (items.value.length >= WAITING_MAX) return null;
      /** @type {Waiting} */
      const one = { key: newKey(), body, text, at: new Date().toISOString(), state: 'waiting' };
      save([...items.value, one]);
      flush();
      return one;
    },
    /** @param {string} key */
    again(key) {
      mark(key, { state: 'waiting', code: undefined });
      flush();
    },
    /** @param {string} key */
    drop: (key) => save(items.value.filter((one) => one.key !== key)),
    close() {
      removeEventListener('online', flush);
      clearTimeout(timer);
      stop();
    },
  };
}

/** @param {string} name @param {() => Promise<void>} run */
async function exclusively(name, run) {
  if (!navigator.locks) return run();
  await navigator.locks.request(name, run);
}
