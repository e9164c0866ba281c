// What the customer does, besides writing.
import { signal } from '../core/html.js';
import { post, Problem, put } from '../core/api.js';
import { newKey } from '../core/ids.js';
import { kept } from '../core/kept.js';
import { clock, when } from '../core/time.js';
import { t } from '../core/words.js';
import { toast } from '../parts/toast.js';

/** @typedef {import('./model.js').Chat} Chat */

/** Why no person could be asked for, until it is dismissed. @type {import('../core/html.js').Signal<{ text: string } | null>} */
export const noPerson = signal(null);

/** Whether the form for a callback is open. */
export const callingBack = signal(false);

/** The transfers for which this customer asked here. @type {import('../core/html.js').Signal<string[]>} */
export const askedHere = signal([]);
const ASKED_MAX = 50;

/** @param {Chat} chat */
export const readAsked = (chat) => (askedHere.value = kept.read(`asked.${chat.id}`, []));

/** @param {unknown} problem */
export function explain(problem) {
  if (!(problem instanceof Problem)) throw problem;
  if (problem.status === 429) return t('too_fast');
  return problem.mayPass ? t('server_silent') : t('went_wrong', { why: problem.message });
}

/** @param {Chat} chat */
export async function askForPerson(chat) {
  noPerson.value = null;
  try {
    const made = await post(`${chat.path}/transfers`, { request_key: newKey() });
    askedHere.value = [...askedHere.value, made.transfer_id].slice(-ASKED_MAX);
    kept.write(`asked.${chat.id}`, askedHere.value);
    await chat.read();
    // The button is gone now; the card that took its place says where the customer stands.
    requestAnimationFrame(() => document.getElementById('message')?.focus());
  } catch (problem) {
    if (problem instanceof Problem && problem.code === 'handoff_duplicate_request') return chat.read();
    noPerson.value = { text: closed(problem) };
  }
}

/** @param {unknown} problem */
function closed(problem) {
  if (!(problem instanceof Problem) || problem.code !== 'queue_closed') return explain(problem);
  const at = problem.body.opens_at;
  return at ? t('nobody_open_at', { t: Date.parse(at) - Date.now() < 43_200_000 ? clock(at) : when(at) }) : t('nobody_now');
}

/** @param {Chat} chat */
export async function stopWaiting(chat) {
  const transfer = chat.transfer.value;
  if (!transfer) return;
  await told(post(`/v1/transfers/${encodeURIComponent(transfer.transfer_id)}/cancel`, {}));
  await chat.read();
  requestAnimationFrame(() => document.getElementById('message')?.focus());
}

/** @param {Chat} chat @param {string} agent */
export async function chooseAgent(chat, agent) {
  await told(put(`${chat.path}/agent`, { agent_id: agent }));
  await chat.read();
}

/** @param {Chat} chat */
export async function endChat(chat) {
  await post(`${chat.path}/close`, {});
  await chat.read();
}

/** @param {Chat} chat @param {{ contact: string, note?: string, not_before?: string }} wish */
export async function callBack(chat, wish) {
  await post(`${chat.path}/callbacks`, wish);
  await chat.read();
}

/** @param {string} transfer @param {number} score @param {string} comment */
export const rate = (transfer, score, comment) =>
  post(`/v1/transfers/${encodeURIComponent(transfer)}/rate`, { score, ...(comment ? { comment } : {}) });

/** @param {Promise<any>} call */
async function told(call) {
  try {
    return await call;
  } catch (problem) {
    toast(explain(problem), { icon: 'warn', urgent: true });
  }
}
