// Waiting for a person: the place, the time if the server knows it, and the ways out.
import { html, useEffect, useRef, useState } from '../core/html.js';
import { Problem } from '../core/api.js';
import { Icon } from '../core/icons.js';
import { kept } from '../core/kept.js';
import { when } from '../core/time.js';
import { t } from '../core/words.js';
import { Button } from '../parts/button.js';
import { Dialog } from '../parts/dialog.js';
import { LabelledField } from '../parts/field.js';
import { Theirs } from '../parts/text.js';
import { callBack, explain, stopWaiting } from './actions.js';
import { minutes } from './announcer.js';

/** @param {{ chat: import('./model.js').Chat }} props */
export function WaitingCard({ chat }) {
  const holder = chat.holder.value;
  const transfer = chat.transfer.value;
  const waits = holder?.kind === 'queue' && transfer;
  const bot = lastBot(chat);
  return html`
    ${waits && html`
      <section class="card waiting" aria-label=${t('waiting_head')}>
        <h2>${title(holder, transfer)}</h2>
        <p>${transfer.estimated_wait ? `${t('usually_takes', minutes(transfer.estimated_wait))} ` : ''}${t('keep_writing')}</p>
        <${Path} bot=${bot} />
        <div class="card-actions">
          ${!chat.conversation.value?.callback && html`<${Button} icon="phone" onClick=${() => (chat.callingBack.value = true)}>${t('call_me_back')}<//>`}
          <${Button} kind="quiet" icon="back" onClick=${() => stopWaiting(chat)}>${bot ? t('stay_with', { name: bot }) : t('stop_waiting')}<//>
        </div>
      </section>`}
    ${chat.callingBack.value && html`<${CallbackDialog} chat=${chat} bot=${bot} />`}`;
}

/** @param {import('./holder.js').Holder} holder @param {any} transfer */
function title(holder, transfer) {
  if (holder.rings) return t('ringing_card', { name: holder.name });
  return transfer.queue_position ? t('number_in_line', { n: transfer.queue_position }) : t('no_place');
}

/** The bot that has it back if the customer stops waiting. @param {import('./model.js').Chat} chat */
function lastBot(chat) {
  for (const { parts } of chat.messages.value.toReversed())
    for (const part of parts ?? []) if (part.type === 'agent-transfer' && part.status === 'requested') return part.fromAgent?.agentName ?? '';
  return '';
}

/** From the bot, to the line, to a person: the sash on its way. @param {{ bot: string }} props */
const Path = ({ bot }) => html`
  <div class="path">
    <svg viewBox="0 0 668 52" preserveAspectRatio="none" aria-hidden="true" focusable="false">
      <path class="path-done" d="M0 44H194L214 26H425" vector-effect="non-scaling-stroke" />
      <path class="path-next" d="M440 26H480L500 8H662" vector-effect="non-scaling-stroke" />
    </svg>
    <ol class="path-words"><li><${Theirs} text=${bot || t('bot')} /></li><li aria-current="step">${t('you_wait_here')}</li><li>${t('a_person_next')}</li></ol>
  </div>`;

/** @param {{ chat: import('./model.js').Chat, bot: string }} props */
function CallbackDialog({ chat, bot }) {
  const [contact, setContact] = useState('');
  const [note, setNote] = useState('');
  const [after, setAfter] = useState('');
  const [problem, setProblem] = useState('');
  const close = () => (chat.callingBack.value = false);
  const wait = chat.holder.value?.kind === 'queue';
  const ask = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!contact.trim()) return;
    const wish = { contact: contact.trim(), ...(note.trim() ? { note: note.trim() } : {}), ...(after ? { not_before: new Date(after).toISOString() } : {}) };
    callBack(chat, wish).then(close, (error) => setProblem(error instanceof Problem && error.code === 'already_exists' ? t('call_exists') : explain(error)));
  };
  return html`
    <${Dialog} title=${t('call_title')} onClose=${close} first="input">
      <form onSubmit=${ask}>
        ${wait && bot && html`<p class="second dialog-lead">${t('call_sub', { bot })}</p>`}
        <${LabelledField} label=${t('call_contact')} hint=${t('call_contact_hint')} value=${contact} onInput=${setContact} error=${problem} required maxlength=${200} autocomplete="tel" />
        <${LabelledField} label=${t('call_note')} value=${note} onInput=${setNote} lines />
        <${LabelledField} label=${t('call_after')} type="datetime-local" value=${after} onInput=${setAfter} min=${local(new Date())} />
        <div class="dialog-actions"><${Button} kind="primary" large type="submit" disabled=${!contact.trim()}>${t('call_ask')}<//><${Button} large onClick=${close}>${t('cancel')}<//></div>
      </form>
    <//>`;
}

/** @param {Date} at */
const local = (at) => new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

/** The callback that is open. @param {{ chat: import('./model.js').Chat }} props */
export function CallbackNote({ chat }) {
  const wish = chat.conversation.value?.callback;
  if (!wish) return null;
  return html`
    <section class="card card-low"><${Icon} name="phone" /><div class="grow">
      <h2>${wish.not_before ? t('call_asked_at', { t: when(wish.not_before) }) : t('call_asked')}</h2>
      ${wish.contact && html`<p><${Theirs} text=${wish.contact} /></p>`}</div></section>`;
}

/** No person can be asked for now. @param {{ chat: import('./model.js').Chat }} props */
export function NoPersonCard({ chat }) {
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const why = chat.noPerson.value;
  useEffect(() => {
    if (why) heading.current?.focus();
  }, [why]);
  if (!why || chat.holder.value?.kind !== 'bot') return null;
  return html`
    <section class="card"><h2 tabindex="-1" ref=${heading}>${why}</h2>
      <div class="card-actions">
        ${!chat.conversation.value?.callback && html`<${Button} icon="phone" onClick=${() => ((chat.noPerson.value = ''), (chat.callingBack.value = true))}>${t('call_me_back')}<//>`}
        <${Button} kind="quiet" onClick=${() => (chat.noPerson.value = '')}>${t('stay_with', { name: chat.holder.value.name })}<//>
      </div></section>`;
}

/** No person was free: shown for the last request only. @param {{ chat: import('./model.js').Chat, transfer: string }} props */
export function FailedCard({ chat, transfer }) {
  const now = chat.transfer.value;
  const [dismissed, setDismissed] = useState(() => kept.read(`failed.${transfer}`) === true);
  const holder = chat.holder.value;
  if (dismissed || now?.transfer_id !== transfer || now.status !== 'failed' || holder?.kind !== 'bot' || chat.conversation.value?.callback) return null;
  const dismiss = () => {
    kept.write(`failed.${transfer}`, true);
    setDismissed(true);
  };
  return html`
    <section class="card"><h2>${t('nobody_was_free', { bot: holder.name })}</h2>
      <div class="card-actions"><${Button} icon="phone" onClick=${() => (chat.callingBack.value = true)}>${t('call_ask')}<//><${Button} kind="quiet" onClick=${dismiss}>${t('stay_with', { name: holder.name })}<//></div></section>`;
}
