// The outbox of a conversation. Each message is kept in the browser with its key until the server has it, so it is sent once,
// also after a reload, a loss of the network or a restart of the server.
import { signal } from './html.js';
import { post, Problem } from './api.js';
import { newKey } from './ids.js';
import { kept } from './kept.js';

/** More messages than this are refused while nothing can be sent. */
const UNSENT_MAX = 100;
/** The server keeps keys for seven days; an older message could be applied twice, so the customer decides. */
const SAFE_MS = 6 * 86_400_000;
const RETRY_S = 5;

/**
 * A message that the server does not have yet. `code` says why the server refused it; it is absent while the message waits.
 * @typedef {{ key: string, body: any, text: string, at: string, code?: string }} Unsent
 */

export class Outbox {
  /** In the order in which they are sent; all tabs of the person share the list. @type {import('./html.js').Signal<Unsent[]>} */
  items = signal([]);
  /** The key of the message that this tab sends now. */
  sending = signal('');
  #tell;
  #name;
  #path;
  #stored = true;
  #busy = false;
  #closed = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #stop;

  /**
   * @param {string} conversation
   * @param {{ sent: (one: Unsent, answer: any) => void, failed: (one: Unsent) => void }} tell
   */
  constructor(conversation, tell) {
    this.#tell = tell;
    this.#name = `outbox.${conversation}`;
    this.#path = `/v1/conversations/${encodeURIComponent(conversation)}/messages`;
    this.#read();
    this.#stop = kept.watch(this.#name, () => this.#read());
    addEventListener('online', this.flush);
    this.flush();
  }

  /** @param {any} body what the server gets @param {string} text what the live region says if it fails @returns {boolean} `false` if too many wait */
  add(body, text) {
    if (this.items.value.length >= UNSENT_MAX) return false;
    const one = { key: newKey(), body, text, at: new Date().toISOString() };
    this.#change((list) => [...list, one]);
    this.flush();
    return true;
  }

  /** Tries a refused message once more. @param {string} key */
  again(key) {
    this.#set(key, { code: undefined, at: new Date().toISOString() });
    this.flush();
  }

  /** Stops sending. What is not sent stays in the browser. */
  close() {
    this.#closed = true;
    removeEventListener('online', this.flush);
    clearTimeout(this.#timer);
    this.#stop();
  }

  /** Sends what waits, in order. */
  flush = async () => {
    if (this.#busy || this.#closed) return;
    this.#busy = true;
    clearTimeout(this.#timer);
    // Another tab of the same person must not send at the same time: the key would protect, but the order would not.
    await exclusively(`${this.#name}.send`, () => this.#sendAll());
  };

  async #sendAll() {
    try {
      this.#read();
      for (let one = this.#next(); one; one = this.#next()) if (!(await this.#send(one))) break;
    } finally {
      // Before the lock is released: a message that is added later must find the outbox idle.
      this.#busy = false;
      this.sending.value = '';
    }
  }

  #next() {
    return this.#closed || !navigator.onLine ? undefined : this.items.value.find((one) => !one.code);
  }

  /** @param {Unsent} one @returns {Promise<boolean>} whether the next one may go */
  async #send(one) {
    if (Date.now() - Date.parse(one.at) > SAFE_MS) return this.#fail(one, 'too_old');
    this.sending.value = one.key;
    try {
      const answer = await post(this.#path, one.body, { key: one.key });
      // After a close the tab may be signed out or have another person. The key protects a message that is sent again.
      if (this.#closed) return false;
      this.#tell.sent(one, answer);
      this.#change((list) => list.filter((other) => other.key !== one.key));
      return true;
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      if (this.#closed) return false;
      if (!problem.mayPass && problem.status !== 401) return this.#fail(one, problem.code);
      this.#timer = setTimeout(this.flush, (problem.retryAfter ?? RETRY_S) * 1000);
      return false;
    }
  }

  /** @param {Unsent} one @param {string} code */
  #fail(one, code) {
    this.#set(one.key, { code });
    this.#tell.failed(one);
    return true;
  }

  #read() {
    if (this.#stored) this.items.value = kept.read(this.#name, []);
  }

  /** Changes the stored list, not a copy of it: another tab may have added to it. @param {(list: Unsent[]) => Unsent[]} change */
  #change(change) {
    this.#read();
    const next = change(this.items.value);
    this.#stored = kept.write(this.#name, next.length ? next : null);
    this.items.value = next;
  }

  /** @param {string} key @param {Partial<Unsent>} fields */
  #set(key, fields) {
    this.#change((list) => list.map((one) => (one.key === key ? { ...one, ...fields } : one)));
  }
}

/** @param {string} name @param {() => Promise<void>} run */
async function exclusively(name, run) {
  if (!navigator.locks) return run();
  await navigator.locks.request(name, run);
}
