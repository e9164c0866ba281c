// What the customer does, besides writing.
import { post, Problem, put } from '../core/api.js';
import { newKey } from '../core/ids.js';
import { kept } from '../core/kept.js';
import { clock, when } from '../core/time.js';
import { t } from '../core/words.js';
import { warn } from '../parts/toast.js';

/** @typedef {import('./model.js').Chat} Chat */

const ASKED_MAX = 50;
/** A queue that opens within this time is told by its hour, without the day. */
const HOUR_ALONE_MS = 43_200_000;

/** What a failed call says to the customer. @param {unknown} problem */
export function explain(problem) {
  if (!(problem instanceof Problem)) throw problem;
  if (problem.status === 429) return t('too_fast');
  return problem.mayPass ? t('server_silent') : t('went_wrong', { why: problem.message });
}

/** @param {Chat} chat */
export async function askForPerson(chat) {
  chat.noPerson.value = '';
  try {
    const made = await post(`${chat.path}/transfers`, { request_key: newKey() });
    chat.ownRequests.value = [...chat.ownRequests.value, made.transfer_id].slice(-ASKED_MAX);
    kept.write(`asked.${chat.id}`, chat.ownRequests.value);
    await chat.read();
    // The button that had the focus is gone now.
    requestAnimationFrame(focusMessage);
  } catch (problem) {
    if (problem instanceof Problem && problem.code === 'handoff_duplicate_request') return chat.read();
    chat.noPerson.value = whyNoPerson(problem);
  }
}

/** @param {unknown} problem */
function whyNoPerson(problem) {
  if (!(problem instanceof Problem) || problem.code !== 'queue_closed') return explain(problem);
  const at = problem.body.opens_at;
  return at ? t('nobody_open_at', { t: Date.parse(at) - Date.now() < HOUR_ALONE_MS ? clock(at) : when(at) }) : t('nobody_now');
}

/** @param {Chat} chat */
export async function stopWaiting(chat) {
  const transfer = chat.transfer.value;
  if (!transfer) return;
  await orToast(post(`/v1/transfers/${encodeURIComponent(transfer.transfer_id)}/cancel`, {}));
  await chat.read();
  requestAnimationFrame(focusMessage);
}

/** @param {Chat} chat @param {string} agent */
export async function chooseAgent(chat, agent) {
  await orToast(put(`${chat.path}/agent`, { agent_id: agent }));
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

/** Gives the focus back to the field after an action that removes the element that had it. */
export const focusMessage = () => document.getElementById('message')?.focus();

/** @param {Promise<any>} call */
async function orToast(call) {
  try {
    return await call;
  } catch (problem) {
    warn(explain(problem));
  }
}
