// The composer of the desk names its audience. A note differs in colour, border, icon, words and button. One draft per mode.
import { html, classes, useEffect, useRef } from '../core/html.js';
import { Icon } from '../core/icons.js';
import { t } from '../core/words.js';
import { Button } from './button.js';

/** @typedef {'reply' | 'note'} Mode */

/**
 * `foot` stands left of the button: files, saved replies, whether the draft is kept. `above` are the chosen files.
 * @param {{ mode: Mode, onMode: (mode: Mode) => void, name: string, value: string, onInput: (text: string) => void, onSend: () => void,
 *   placeholder?: string, audience?: string, foot?: import('../core/html.js').Child, above?: import('../core/html.js').Child, busy?: boolean,
 *   onKeyDown?: (event: KeyboardEvent) => void, noReply?: boolean, sendKeys?: string[] }} props
 */
export function Composer({ mode, onMode, name, value, onInput, onSend, placeholder = '', audience, foot, above, busy = false, onKeyDown, noReply = false, sendKeys = ['Enter'] }) {
  const note = mode === 'note';
  const label = note ? `${t('note')}. ${t('only_colleagues')}` : t('reply_to', { name });
  const send = () => !busy && value.trim() && onSend();
  return html`
    <form class=${classes('composer', note && 'composer-note')} onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), send())}>
      <div class="composer-modes">
        <div role="radiogroup" aria-label=${t('message')} class="composer-choice" onKeyDown=${turn(mode, onMode, noReply)}>
          ${!noReply && html`<${ModeButton} mode="reply" now=${mode} onMode=${onMode} icon="chat">${t('reply_to', { name })}<//>`}
          <${ModeButton} mode="note" now=${mode} onMode=${onMode} icon="lock">${t('note')}<//>
        </div>
        <span class="composer-audience"><${Icon} name=${note ? 'lock' : 'globe'} size=${15} /><span class="one-line">${note ? t('only_colleagues') : (audience ?? t('sees_this', { name }))}</span></span>
      </div>
      ${above}
      <${Field} label=${label} value=${value} onInput=${onInput} onSend=${send} onKeyDown=${onKeyDown} placeholder=${placeholder} />
      <div class="composer-foot">
        ${foot}<span class="grow"></span>
        <${Button} kind=${note ? 'dark' : 'primary'} type="submit" disabled=${busy || !value.trim()} keys=${sendKeys}>${note ? t('add_note') : t('send')}<//>
      </div>
    </form>`;
}

/** @param {{ mode: Mode, now: Mode, onMode: (mode: Mode) => void, icon: import('../core/icons.js').IconName, children?: any }} props */
const ModeButton = ({ mode, now, onMode, icon, children }) => html`
  <button type="button" role="radio" class="composer-mode" aria-checked=${mode === now} tabindex=${mode === now ? 0 : -1} data-mode=${mode}
    onClick=${() => onMode(mode)}><${Icon} name=${icon} size=${16} />${children}</button>`;

/** @param {Mode} mode @param {(mode: Mode) => void} onMode @param {boolean} noReply */
const turn = (mode, onMode, noReply) => (/** @type {KeyboardEvent & { currentTarget: HTMLElement }} */ event) => {
  if (!/^Arrow/.test(event.key) || noReply) return;
  event.preventDefault();
  const next = mode === 'note' ? 'reply' : 'note';
  const group = event.currentTarget;
  onMode(next);
  requestAnimationFrame(() => /** @type {HTMLElement | null} */ (group.querySelector(`[data-mode="${next}"]`))?.focus());
};

/** Another person has the conversation: only notes may be written. @param {{ name: string, onNote?: () => void }} props */
export const LockedComposer = ({ name, onNote }) => html`
  <div class="composer composer-locked">
    <${Icon} name="lock" size=${16} /><span class="grow">${t('not_yours', { name })}</span>
    ${onNote && html`<${Button} onClick=${onNote}>${t('add_note')}<//>`}
  </div>`;

/**
 * The text area that grows. Enter sends, Shift Enter begins a line; an input method keeps its Enter.
 * @param {{ label: string, value: string, onInput: (text: string) => void, onSend: () => void, placeholder?: string, id?: string,
 *   onKeyDown?: (event: KeyboardEvent) => void, onPaste?: (event: ClipboardEvent) => void, disabled?: boolean, describedby?: string }} props
 */
export function Field({ label, value, onInput, onSend, placeholder, id, onKeyDown, onPaste, disabled = false, describedby }) {
  const element = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useEffect(() => {
    const area = element.current;
    if (!area || CSS.supports('field-sizing', 'content')) return;
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight}px`;
  }, [value]);
  const press = (/** @type {KeyboardEvent} */ event) => {
    onKeyDown?.(event);
    if (event.defaultPrevented || event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    onSend();
  };
  return html`<textarea ref=${element} rows="1" dir="auto" id=${id} aria-label=${label} aria-describedby=${describedby} placeholder=${placeholder} value=${value} disabled=${disabled}
    onInput=${(/** @type {any} */ event) => onInput(event.target.value)} onKeyDown=${press} onPaste=${onPaste}></textarea>`;
}
