// Calls to the public API. Every write has an Idempotency-Key, and a retry repeats it: the server applies the write once.
import { signal } from './html.js';
import { newKey } from './ids.js';
import { slot } from './kept.js';

/** How often a call is tried while the network or the server fails. The third failure is shown. */
const TRIES_MAX = 3;
const CALL_MS_MAX = 30_000;
const RETRY_AFTER_S_MAX = 20;
/** Bodies up to this size go in one request; larger files are uploaded in pieces. */
const ONE_REQUEST_BYTES_MAX = 1_000_000;

/** Turns `true` when the server says that this tab is not signed in any more. */
export const signedOut = signal(false);

/** The base of the server: the folder above that of these modules. */
const root = new URL('../../', import.meta.url);

/** @param {string} path such as `/v1/queues` */
export const address = (path) => new URL(path.replace(/^\//, ''), root);

/** A refusal with its stable code, or a failure to reach the server. */
export class Problem extends Error {
  /** @param {number} status 0 if there was no answer @param {any} body problem details @param {number} [retryAfter] seconds */
  constructor(status, body, retryAfter) {
    super(body?.detail ?? body?.title ?? 'no answer');
    this.status = status;
    this.code = /** @type {string} */ (body?.code ?? (status ? 'unknown' : 'unreachable'));
    this.body = body ?? {};
    this.retryAfter = retryAfter;
  }
  /** Nothing is known of the result: repeating the call with the same key is right. */
  get mayPass() {
    return this.status === 0 || this.status === 429 || this.status >= 502 || this.code === 'unknown_outcome';
  }
}

/**
 * Reads. `params` that are null or empty are left out; an array repeats its name.
 * @param {string} path
 * @param {Record<string, any>} [params]
 * @param {{ signal?: AbortSignal }} [how]
 * @returns {Promise<any>}
 */
export const get = (path, params, how) => call('GET', withParams(path, params), { ...how });

/**
 * Writes. Give a `key` that you keep yourself where a write must survive a reload.
 * @param {string} path
 * @param {any} [body]
 * @param {{ key?: string, method?: 'POST' | 'PUT', signal?: AbortSignal }} [how]
 * @returns {Promise<any>}
 */
export const post = (path, body = {}, how = {}) =>
  call(how.method ?? 'POST', path, { ...how, body: JSON.stringify(body), type: 'application/json', key: how.key ?? newKey() });

/** @param {string} path @param {any} [body] @param {{ key?: string, signal?: AbortSignal }} [how] @returns {Promise<any>} */
export const put = (path, body = {}, how = {}) => post(path, body, { ...how, method: 'PUT' });

/** The bytes of an answer, such as an image. @param {string} path @param {{ signal?: AbortSignal }} [how] @returns {Promise<Blob>} */
export const blob = (path, how) => call('GET', path, { ...how, wants: 'blob' });

/**
 * All pages of a list, up to `most` items.
 * @param {string} path @param {Record<string, any>} [params] @param {number} [most]
 * @returns {Promise<any[]>}
 */
export async function all(path, params = {}, most = 1000) {
  /** @type {any[]} */
  const items = [];
  let cursor = undefined;
  do {
    const page = await get(path, { ...params, cursor });
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== undefined && cursor !== null && items.length < most);
  return items;
}

/**
 * Stores a file and answers with its name, `sha256:…`.
 * @param {Blob} file @param {(part: number) => void} [progress] from 0 to 1 @param {AbortSignal} [stop]
 * @returns {Promise<string>}
 */
export async function upload(file, progress = () => {}, stop) {
  if (file.size <= ONE_REQUEST_BYTES_MAX) {
    const made = await call('POST', '/v1/files', { body: file, type: 'application/octet-stream', key: newKey(), signal: stop });
    progress(1);
    return made.file;
  }
  const begun = await post('/v1/uploads', { size_bytes: file.size }, { signal: stop });
  const path = `/v1/uploads/${encodeURIComponent(begun.upload_id)}`;
  const size = Math.min(begun.piece_bytes_max, ONE_REQUEST_BYTES_MAX);
  for (let offset = 0; offset < file.size; ) {
    const piece = file.slice(offset, offset + size);
    const body = { body: piece, type: 'application/octet-stream', key: newKey(), signal: stop };
    const next = await call('PUT', `${path}?offset=${offset}`, body).catch((problem) => {
      if (problem instanceof Problem && problem.code === 'revision_outdated') return { offset: problem.body.offset };
      throw problem;
    });
    offset = next.offset;
    progress(offset / file.size);
  }
  return (await post(`${path}/finish`, {}, { signal: stop })).file;
}

/** @typedef {{ body?: BodyInit, type?: string, key?: string, wants?: 'blob', signal?: AbortSignal }} How */

/** @param {string} method @param {string} path @param {How} how @returns {Promise<any>} */
async function call(method, path, how) {
  for (let tries = 1; ; tries++) {
    try {
      return await request(method, path, how);
    } catch (problem) {
      if (!(problem instanceof Problem) || !problem.mayPass || tries === TRIES_MAX) throw problem;
      const wait = problem.retryAfter ?? 2 ** (tries - 1) * (0.5 + Math.random() / 2);
      if (wait > RETRY_AFTER_S_MAX || !navigator.onLine) throw problem;
      await pause(wait * 1000, how.signal);
    }
  }
}

/** @param {string} method @param {string} path @param {How} how @returns {Promise<any>} */
async function request(method, path, how) {
  const headers = new Headers();
  // The header says which sign-in of this browser calls, and no page of another origin can set it.
  headers.set('Tasuki-Page', slot.read() ?? 'none');
  if (how.type) headers.set('Content-Type', how.type);
  if (how.key) headers.set('Idempotency-Key', how.key);
  const limit = AbortSignal.timeout(CALL_MS_MAX);
  const stop = how.signal ? AbortSignal.any([how.signal, limit]) : limit;
  let answer;
  try {
    answer = await fetch(address(path), { method, headers, body: how.body, signal: stop, cache: 'no-store', credentials: 'same-origin' });
    if (answer.ok) return how.wants === 'blob' ? await answer.blob() : await content(answer);
  } catch (error) {
    if (how.signal?.aborted) throw error;
    throw new Problem(0, null);
  }
  const body = await answer.json().catch(() => null);
  if (answer.status === 401 && !path.startsWith('/v1/sign-in')) signedOut.value = true;
  throw new Problem(answer.status, body, Number(answer.headers.get('Retry-After')) || undefined);
}

/** @param {Response} answer */
async function content(answer) {
  const text = await answer.text();
  return text === '' ? null : JSON.parse(text);
}

/** @param {string} path @param {Record<string, any>} [params] */
function withParams(path, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === null || value === undefined || value === '') continue;
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  return query.size ? `${path}?${query}` : path;
}

/** @param {number} ms @param {AbortSignal} [stop] */
function pause(ms, stop) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    stop?.addEventListener('abort', () => (clearTimeout(timer), reject(stop.reason)), { once: true });
  });
}
