// What an agent asks the customer: whether it may act, or what was meant. The oldest question comes first.
import { html, useEffect, useRef, useState } from '../core/html.js';
import { alert, useCountdown } from '../core/announce.js';
import { Icon } from '../core/icons.js';
import { spoken, useNow } from '../core/time.js';
import { t } from '../core/words.js';
import { Button } from '../parts/button.js';
import { TheirBlock, Theirs } from '../parts/text.js';
import { warn } from '../parts/toast.js';
import { focusMessage } from './actions.js';

/** A button may repeat an action that is so short. */
const VERB_MAX = 36;

/** @param {{ chat: import('./model.js').Chat }} props */
export function Questions({ chat }) {
  const all = chat.work.questions.value;
  const open = all.filter((one) => !one.outcome && !one.mine);
  const shown = [...all.filter((one) => one.outcome || one.mine), ...open.slice(0, 1)];
  return html`${shown.map((one) => html`<${QuestionCard} key=${one.id} question=${one} chat=${chat} of=${open.length} />`)}`;
}

/** @param {{ question: import('./working.js').Question, chat: import('./model.js').Chat, of: number }} props */
function QuestionCard({ question, chat, of }) {
  const open = !question.outcome && !question.mine;
  const now = useNow(open);
  const left = question.until - now;
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const { event } = question;
  const text = question.kind === 'confirm' ? asQuestion(event.action) : event.question;
  usePrompt(question, open, left, heading, text);
  useEffect(() => {
    if (open && left <= 0) chat.work.timeOut(question);
  }, [open && left <= 0]);
  if (!open) return html`<${Settled} question=${question} text=${text} chat=${chat} />`;
  const answer = (/** @type {import('../core/aaep.js').Answer} */ what, /** @type {string} */ mine) => {
    if (!chat.work.answer(question, what, mine)) return warn(t('server_silent'));
    focusMessage();
  };
  return html`
    <section class="card question" aria-label=${t('question_for_you')} onKeyDown=${(/** @type {KeyboardEvent} */ key) => key.key === 'Escape' && focusMessage()}>
      <p class="question-head"><${Icon} name="question" size=${16} />${t('question_for_you')}${of > 1 && html`<span class="meta">${t('of_n', { n: 1, m: of })}</span>`}</p>
      <h2 tabindex="-1" ref=${heading} dir="auto" class="theirs">${text}</h2>
      ${(event.consequence || event.context) && html`<${TheirBlock} class="second" text=${event.consequence ?? event.context} />`}
      <p class="second">${[event.reversibility === 'irreversible' || event.irreversible ? t('irreversible') : '', deadline(event, left)].filter(Boolean).join(' ')}</p>
      ${question.kind === 'confirm' ? html`<${YesNo} event=${event} answer=${answer} />` : html`<${Clarify} event=${event} answer=${answer} />`}
    </section>`;
}

/** @param {string} action */
const asQuestion = (action) => (/[?？؟]\s*$/.test(action) ? action : `${action}?`);

/** @param {any} event @param {number} left */
function deadline(event, left) {
  const values = { t: calm(left) };
  if (event.default_decision === 'accept') return t('no_answer_default', values);
  return event.default_decision === 'reject' ? t('no_answer_nothing', values) : t('answer_within', values);
}

/** Whole minutes until the last one, so that the line does not tick. @param {number} left */
const calm = (left) => spoken(left > 60_000 ? Math.ceil(left / 60_000) * 60_000 : Math.max(0, left));

/** The verbs are the producer's own where they fit on a button. @param {{ event: any, answer: (what: any, mine: string) => void }} props */
function YesNo({ event, answer }) {
  const action = event.action.replace(/[?.!]+$/, '');
  const may = !event.allowed_replies || event.allowed_replies.includes('accept');
  return html`
    <div class="card-actions">
      ${may && html`<${Button} kind="primary" large onClick=${() => answer({ decision: 'accept' }, t('you_said_yes'))}>${action.length <= VERB_MAX ? html`<${Theirs} text=${action} />` : t('yes_do')}<//>`}
      <${Button} large onClick=${() => answer({ decision: 'reject' }, t('you_said_no'))}>${t('no_do_not')}<//>
    </div>`;
}

/** @param {{ event: any, answer: (what: any, mine: string) => void }} props */
function Clarify({ event, answer }) {
  const [text, setText] = useState('');
  const choices = /** @type {any[]} */ (event.choices ?? []).map((choice) => (typeof choice === 'string' ? { value: choice, name: choice } : { value: choice.value ?? choice.id ?? choice.label, name: choice.label ?? choice.value ?? choice.id }));
  const free = choices.length === 0 || (event.accepted_response_kinds ?? []).some((/** @type {string} */ kind) => /text/.test(kind));
  const give = (/** @type {string} */ value, /** @type {string} */ name) => answer({ response: value }, t('you_answered', { text: name }));
  return html`
    ${choices.length > 0 && html`<div class="card-actions">${choices.map((choice) => html`<${Button} key=${choice.value} large onClick=${() => give(choice.value, choice.name)}><${Theirs} text=${choice.name} /><//>`)}</div>`}
    ${free && html`<form class="question-field" onSubmit=${(/** @type {Event} */ key) => (key.preventDefault(), text.trim() && give(text.trim(), text.trim()))}>
      <input class="input" dir="auto" value=${text} aria-label=${t('your_answer')} placeholder=${t('your_answer')} onInput=${(/** @type {any} */ input) => setText(input.target.value)} />
      <${Button} kind="primary" large type="submit" disabled=${!text.trim()}>${t('answer')}<//></form>`}`;
}

/** @param {{ question: import('./working.js').Question, text: string, chat: import('./model.js').Chat }} props */
function Settled({ question, text, chat }) {
  const word = question.mine ?? outcome(question);
  return html`
    <section class="card card-low"><${Icon} name=${question.mine || question.outcome === 'accepted' ? 'check' : 'clock'} /><div class="grow">
      <h2 dir="auto" class="theirs">${text}</h2><p dir="auto">${word}</p></div>
      <${Button} kind="quiet" onClick=${() => chat.work.dismiss(question)}>${t('close')}<//></section>`;
}

/** @param {import('./working.js').Question} question */
function outcome({ outcome, event, agent }) {
  if (outcome === 'withdrawn') return t('went_on', { name: agent });
  if (outcome !== 'over') return t('answered_elsewhere');
  return t(event.default_decision === 'reject' ? 'question_over' : 'question_over_yes');
}

/**
 * Says the question once, and the time at 60, 30 and 10 seconds. It takes the focus only if no field holds text.
 * @param {import('./working.js').Question} question @param {boolean} open @param {number} left
 * @param {{ current: HTMLElement | null }} heading @param {string} text
 */
function usePrompt(question, open, left, heading, text) {
  useCountdown(open ? left : undefined);
  useEffect(() => {
    if (!open) return;
    const { default_decision, consequence = '' } = question.event;
    const words = { agent: question.agent, action: text.replace(/[?？؟]\s*$/, ''), consequence, t: calm(left) };
    alert(t(default_decision === 'reject' ? 'live_asks_no' : 'live_asks', words), question.id);
    const active = document.activeElement;
    const writes = (active instanceof HTMLTextAreaElement || active instanceof HTMLInputElement) && active.value !== '';
    if (!writes && !document.querySelector('dialog[open], [popover]:popover-open')) heading.current?.focus();
  }, [question.id, open]);
}
