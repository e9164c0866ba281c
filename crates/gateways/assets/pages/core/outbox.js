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
const RETRY_S = 5;

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

/** The outbox of one conversation. */
export class Outbox {
  #tell;
  #name;
  #path;
  #busy = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #stop;

  /**
   * @param {string} conversation
   * @param {{ sent: (waiting: Waiting, answer: any) => void, failed: (waiting: Waiting) => void }} tell
   */
  constructor(conversation, tell) {
    this.#tell = tell;
    this.#name = `outbox.${conversation}`;
    this.#path = `/v1/conversations/${encodeURIComponent(conversation)}/messages`;
    /** @type {import('./html.js').Signal<Waiting[]>} */
    this.items = signal(this.#load());
    this.#stop = kept.watch(this.#name, () => {
      if (!this.#busy) this.items.value = this.#load();
    });
    addEventListener('online', this.flush);
    this.flush();
  }

  /** @param {any} body @param {string} text @returns {Waiting | null} `null` if too many wait */
  add(body, text) {
    if (this.items.value.length >= WAITING_MAX) return null;
    /** @type {Waiting} */
    const one = { key: newKey(), body, text, at: new Date().toISOString(), state: 'waiting' };
    this.#save([...this.items.value, one]);
    this.flush();
    return one;
  }

  /** Tries a refused message once more. @param {string} key */
  again(key) {
    this.#mark(key, { state: 'waiting', code: undefined });
    this.flush();
  }

  /** @param {string} key */
  drop(key) {
    this.#save(this.items.value.filter((one) => one.key !== key));
  }

  close() {
    removeEventListener('online', this.flush);
    clearTimeout(this.#timer);
    this.#stop();
  }

  /** Sends what waits, in order. */
  flush = async () => {
    if (this.#busy) return;
    this.#busy = true;
    clearTimeout(this.#timer);
    // Another tab of the same sign-in must not send at the same time: the key would protect, but the order would not.
    await exclusively(`${this.#name}.send`, async () => {
      for (let one = this.#first(); one && navigator.onLine; one = this.#first()) if (!(await this.#send(one))) break;
    });
    this.#busy = false;
  };

  #first() {
    return this.items.value.find((one) => one.state !== 'failed');
  }

  /** @param {Waiting} one @returns {Promise<boolean>} whether the next one may go */
  async #send(one) {
    this.#mark(one.key, { state: 'sending' });
    try {
      const answer = await post(this.#path, one.body, { key: one.key });
      this.#tell.sent(one, answer);
      this.drop(one.key);
      return true;
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      if (problem.mayPass || problem.status === 401) {
        this.#mark(one.key, { state: 'waiting' });
        this.#timer = setTimeout(this.flush, (problem.retryAfter ?? RETRY_S) * 1000);
        return false;
      }
      this.#mark(one.key, { state: 'failed', code: problem.code });
      this.#tell.failed({ ...one, code: problem.code });
      return true;
    }
  }

  /** @returns {Waiting[]} */
  #load() {
    return kept.read(this.#name, []).map((/** @type {Waiting} */ one) => {
      if (one.state === 'failed') return one;
      return Date.now() - Date.parse(one.at) > SAFE_MS ? { ...one, state: 'failed', code: 'too_old' } : { ...one, state: 'waiting' };
    });
  }

  /** @param {Waiting[]} next */
  #save(next) {
    this.items.value = next;
    kept.write(this.#name, next.length ? next : null);
  }

  /** @param {string} key @param {Partial<Waiting>} change */
  #mark(key, change) {
    this.#save(this.items.value.map((one) => (one.key === key ? { ...one, ...change } : one)));
  }
}

/** @param {string} name @param {() => Promise<void>} run */
async function exclusively(name, run) {
  if (!navigator.locks) return run();
  await navigator.locks.request(name, run);
}
