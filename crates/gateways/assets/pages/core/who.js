// Who is signed in in this tab. A browser may hold several sign-ins; each has a slot, and a tab belongs to one of them.
import { computed, signal } from './html.js';
import { get, post, Problem, signedOut } from './api.js';
import { kept, slot } from './kept.js';

/**
 * @typedef {object} Who
 * @property {string} principal `customer:…`, `agent:hana` or `operator:root`
 * @property {'customer' | 'human' | 'worker' | 'operator'} kind
 * @property {string} id
 * @property {string} name
 * @property {string[]} roles
 * @property {string} teamspace
 * @property {string | null} conversation_id
 * @property {boolean} demo
 * @property {string} expires_at
 */

/** @typedef {'asking' | 'in' | 'out' | 'unreachable'} SignInState */

/** @type {import('./html.js').Signal<Who | null>} */
export const who = signal(null);

/** @type {import('./html.js').Signal<SignInState>} */
const state = signal('asking');

/** Whether this tab is signed in. @type {import('./html.js').ReadonlySignal<SignInState>} */
export const signIn = computed(() => (signedOut.value ? 'out' : state.value));

/** Why the last link did not work, as a code of the server; empty if there is nothing to say. */
export const linkProblem = signal('');

/** The link of the URL until the server has accepted or refused it. @type {string | null} */
let link = null;

/** Takes a link out of the URL, exchanges it, and asks who is signed in. Call it once, first. */
export async function begin() {
  link = new URLSearchParams(location.hash.slice(1)).get('link');
  if (link !== null) history.replaceState(null, '', location.pathname + location.search);
  await ask();
}

/** Asks the server who is signed in in this tab. */
export async function ask() {
  state.value = 'asking';
  if (link !== null && (await enterWithLink(link))) return;
  try {
    accept(await get('/v1/sign-in'));
  } catch (problem) {
    state.value = problem instanceof Problem && problem.status === 401 ? 'out' : 'unreachable';
  }
}

/** Asks without changing the page while it waits; `false` only if the server says so. */
export async function stillSignedIn() {
  try {
    await get('/v1/sign-in');
    return true;
  } catch (problem) {
    const out = problem instanceof Problem && problem.status === 401;
    if (out) signedOut.value = true;
    return !out;
  }
}

/** @param {string} given @returns {Promise<boolean>} whether the sign-in is decided */
async function enterWithLink(given) {
  const problem = await enter({ link: given });
  if (problem?.mayPass) {
    state.value = 'unreachable';
    return true;
  }
  link = null;
  if (problem) linkProblem.value = problem.code;
  return problem === null;
}

/** @param {string} token @returns {Promise<Problem | null>} */
export const enterWithToken = (token) => enter({ token });

/** Signs out, and clears what this browser keeps for this person. */
export async function signOut() {
  await post('/v1/sign-ins/end').catch((problem) => {
    if (!(problem instanceof Problem) || problem.status !== 401) throw problem;
  });
  kept.clear();
  slot.clear();
  who.value = null;
  state.value = 'out';
}

/** @param {{ link: string } | { token: string }} secret @returns {Promise<Problem | null>} */
async function enter(secret) {
  try {
    accept(await post('/v1/sign-ins', secret));
    return null;
  } catch (problem) {
    if (problem instanceof Problem) return problem;
    throw problem;
  }
}

/** @param {Who & { slot?: string }} answer */
function accept({ slot: given, ...rest }) {
  if (given) slot.write(given);
  else slot.adopt();
  kept.open(`${rest.teamspace}/${rest.principal}`);
  who.value = rest;
  signedOut.value = false;
  linkProblem.value = '';
  state.value = 'in';
}
