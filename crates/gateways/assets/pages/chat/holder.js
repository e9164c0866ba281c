// The holder of the conversation, and the names of all agents in it.
/** @typedef {{ agentId: string, agentName: string, holds?: boolean }} Agent */
/**
 * What the head shows: a bot or a person that answers, the queue in which the customer waits, or the end.
 * @typedef {{ kind: 'bot' | 'person' | 'queue' | 'closed', id: string, name: string, hold?: boolean, rings?: boolean }} Holder
 */

/**
 * The API names agents, and shows by the transfers which of them are people.
 * @param {import('./items.js').ChatMessage[]} messages @param {Agent[]} agents @param {any} transfer
 */
export function namesOf(messages, agents, transfer) {
  /** @type {Map<string, { name: string, person: boolean }>} */
  const names = new Map();
  const put = (/** @type {any} */ agent, person = false) => {
    if (!agent?.agentId) return;
    names.set(agent.agentId, { name: agent.agentName || agent.agentId, person: person || names.get(agent.agentId)?.person === true });
  };
  for (const agent of agents) put(agent);
  for (const { from, parts } of messages) {
    if (from.kind === 'agent') put(from);
    for (const part of parts ?? []) {
      if (part.type !== 'agent-transfer') continue;
      put(part.fromAgent);
      put(part.toAgent);
      put(part.targetAgent, part.status === 'connected');
    }
  }
  put(transfer?.agent, true);
  return names;
}

/** @param {any} conversation @param {any} transfer @param {Map<string, { name: string, person: boolean }>} names @returns {Holder | null} */
export function holderOf(conversation, transfer, names) {
  if (!conversation) return null;
  const { holder: id, status } = conversation;
  const name = names.get(id)?.name ?? id;
  if (status === 'closed') return { kind: 'closed', id, name };
  const transferStatus = transfer?.status ?? conversation.transfer_status;
  if (transferStatus === 'connected' || transferStatus === 'on_hold') return { kind: 'person', id, name, hold: transferStatus === 'on_hold' };
  if (transferStatus === 'requested' || transferStatus === 'queued' || transferStatus === 'ringing')
    return { kind: 'queue', id, name: transfer?.agent?.agentName ?? name, rings: transferStatus === 'ringing' };
  return { kind: names.get(id)?.person ? 'person' : 'bot', id, name };
}
