// The head of the page, and the bar with the holder and the actions of the customer.
import { html, useState } from '../core/html.js';
import { Mark } from '../core/icons.js';
import { setSound, sound } from '../core/sounds.js';
import { signOut } from '../core/who.js';
import { chooseLanguage, language, languages, t } from '../core/words.js';
import { Avatar } from '../parts/avatar.js';
import { Button, IconButton } from '../parts/button.js';
import { Dialog, Menu } from '../parts/dialog.js';
import { Theirs } from '../parts/text.js';
import { warn } from '../parts/toast.js';
import { askForPerson, chooseAgent, endChat, explain, stopWaiting } from './actions.js';

/** @param {{ who: import('../core/who.js').Who, chat?: import('./model.js').Chat }} props */
export function Head({ who, chat }) {
  const open = chat?.conversation.value?.status === 'open';
  const [ending, setEnding] = useState(false);
  const groups = [
    { items: open ? [{ id: 'end', name: t('end_chat'), icon: /** @type {const} */ ('cross'), run: () => setEnding(true) }] : [] },
    { head: t('language'), items: Object.entries(languages).map(([code, name]) => ({ id: code, name, checked: language.value === code, run: () => void chooseLanguage(code) })) },
    { head: t('signed_in_as', { name: who.name }), items: [{ id: 'out', name: t('sign_out'), icon: /** @type {const} */ ('out'), run: leave }] },
  ].filter((group) => group.items.length);
  return html`
    <header class="chat-head">
      <${Mark} size=${28} /><span class="chat-brand">${t('tasuki')}</span>${who.demo && html`<span class="demo">${t('demo')}</span>`}
      <span class="grow"></span>
      <${IconButton} icon=${sound.value ? 'sound' : 'silent'} label=${t(sound.value ? 'sound_off' : 'sound_on')} onClick=${() => setSound(!sound.value)} />
      <${Menu} label=${t('more')} groups=${groups} button=${(/** @type {any} */ opener) => html`<${IconButton} icon="more" label=${t('more')} ...${opener} />`} />
      ${ending && chat && html`<${EndDialog} chat=${chat} onClose=${() => setEnding(false)} />`}
    </header>`;
}

/** After a failed sign-out the sign-in is still there, so the customer must know. */
const leave = () => signOut().catch((problem) => warn(explain(problem)));

/** @param {{ chat: import('./model.js').Chat, onClose: () => void }} props */
function EndDialog({ chat, onClose }) {
  const [problem, setProblem] = useState('');
  const end = () => endChat(chat).then(onClose, (error) => setProblem(explain(error)));
  return html`
    <${Dialog} title=${t('end_chat_sure')} onClose=${onClose} first=".button-plain">
      <p>${t('end_chat_after')}</p>
      ${problem && html`<p class="field-error" role="alert">${problem}</p>`}
      <div class="dialog-actions"><${Button} kind="danger" large onClick=${end}>${t('end_chat')}<//><${Button} large onClick=${onClose}>${t('keep_chatting')}<//></div>
    <//>`;
}

/** @param {{ chat: import('./model.js').Chat }} props */
export function WhoAnswers({ chat }) {
  const holder = chat.holder.value;
  const [ending, setEnding] = useState(false);
  if (!holder) return html`<div class="who"><div class="column who-row"></div></div>`;
  const { kind, name } = holder;
  return html`
    <section class="who" aria-labelledby="who-answers">
      <div class="column who-row">
        <${Avatar} name=${name} kind=${kind === 'closed' ? 'bot' : kind} size=${40} presence=${kind === 'person' && !holder.hold ? 'available' : undefined} />
        <div class="who-words"><h1 id="who-answers">${kind === 'queue' ? (holder.rings ? t('ringing_head', { name }) : t('waiting_head')) : html`<${Theirs} text=${kind === 'closed' ? t('chat_ended') : name} cut />`}</h1>
          <p class="one-line">${about(holder, chat)}</p></div>
        <div class="who-actions">
          ${kind === 'bot' && html`<${Choice} chat=${chat} />`}
          ${kind === 'bot' && html`<${Button} icon="person" onClick=${() => askForPerson(chat)}>${t('ask_person')}<//>`}
          ${kind === 'queue' && html`<${Button} class="not-on-phone" onClick=${() => stopWaiting(chat)}>${t('stop_waiting')}<//>`}
          ${kind === 'person' && html`<${Button} onClick=${() => setEnding(true)}>${t('end_chat')}<//>`}
        </div>
      </div>
      ${ending && html`<${EndDialog} chat=${chat} onClose=${() => setEnding(false)} />`}
    </section>`;
}

/** @param {import('./holder.js').Holder} holder @param {import('./model.js').Chat} chat */
function about(holder, chat) {
  if (holder.kind === 'bot') return t('answers_role');
  if (holder.kind === 'person') return t(holder.hold ? 'person_hold' : 'person_here');
  if (holder.kind === 'closed') return t('ended_hint');
  const n = chat.transfer.value?.queue_position;
  return n ? t('team_number', { n }) : t('team_waiting');
}

/** Only where the server lists several. @param {{ chat: import('./model.js').Chat }} props */
function Choice({ chat }) {
  const agents = chat.agents.value;
  if (agents.length < 2 && agents.every((agent) => agent.holds)) return null;
  const items = agents.map((agent) => ({ id: agent.agentId, name: html`<${Theirs} text=${agent.agentName} />`, icon: /** @type {const} */ ('bot'), checked: agent.holds === true, run: () => agent.holds || chooseAgent(chat, agent.agentId) }));
  return html`<${Menu} label=${t('choose_agent')} groups=${[{ items }]} button=${(/** @type {any} */ opener) => html`<${Button} icon="swap" class="who-choose" ...${opener}>${t('choose_agent')}<//>`} />`;
}
