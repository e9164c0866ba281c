// The composer of the customer: the field, its files, and the line below. What is written offline is kept and sent once.
import { html, useEffect, useRef, useState } from '../core/html.js';
import { Icon } from '../core/icons.js';
import { kept } from '../core/kept.js';
import * as live from '../core/live.js';
import { t } from '../core/words.js';
import { IconButton } from '../parts/button.js';
import { ChosenFiles, filePart, useChosenFiles } from '../parts/chosen-files.js';
import { Field } from '../parts/composer.js';
import { warn } from '../parts/toast.js';
import { focusMessage } from './actions.js';
import { EmojiButton } from './emoji.js';

/** A text part of the API. */
const TEXT_BYTES_MAX = 16_384;
const TYPING_ENDS_MS = 5_000;

/** @param {{ chat: import('./model.js').Chat, ready: boolean }} props */
export function ChatComposer({ chat, ready }) {
  const draft = `draft.${chat.id}`;
  const [text, setText] = useState(() => /** @type {string} */ (kept.read(draft, '')));
  const files = useChosenFiles();
  const typed = useTyping(chat.id);
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const holder = chat.holder.value;
  const write = (/** @type {string} */ next) => {
    setText(next);
    kept.write(draft, next || null);
    typed(next !== '');
  };
  const send = () => {
    const said = text.trim();
    const parts = [...(said ? [{ type: 'text', text: said }] : []), ...files.stored.map(filePart)];
    if (!ready || files.busy || parts.length === 0) return;
    if (new TextEncoder().encode(said).length > TEXT_BYTES_MAX) return warn(t('too_long'));
    if (!chat.outbox.add({ parts }, said || files.stored.map((one) => one.file.name).join(', '))) return warn(t('too_fast'));
    write('');
    files.clear();
    focusMessage();
  };
  const insert = (/** @type {string} */ sign) => {
    const field = /** @type {HTMLTextAreaElement} */ (document.getElementById('message'));
    const { selectionStart: from, selectionEnd: to } = field;
    write(text.slice(0, from) + sign + text.slice(to));
    requestAnimationFrame(() => (field.focus(), field.setSelectionRange(from + sign.length, from + sign.length)));
  };
  if (holder?.kind === 'closed') return html`<footer class="foot"><div class="column"><div class="composer composer-locked"><${Icon} name="lock" size=${16} />${t('write_closed')}</div></div></footer>`;
  const placeholder = holder?.kind === 'queue' ? t('write_waiting') : holder ? t('write_to', { name: holder.name }) : t('message');
  return html`
    <footer class="foot" onDragOver=${(/** @type {DragEvent} */ event) => event.preventDefault()} onDrop=${(/** @type {DragEvent} */ event) => (event.preventDefault(), files.add(event.dataTransfer?.files))}>
      <div class="column">
        <form class="composer chat-composer" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), send())}>
          <${ChosenFiles} files=${files} />
          <div class="chat-field">
            <${IconButton} icon="clip" label=${t('attach')} size=${20} onClick=${() => input.current?.click()} />
            <input ref=${input} type="file" multiple hidden onChange=${(/** @type {any} */ event) => (files.add(event.target.files), (event.target.value = ''))} />
            <${Field} id="message" label=${placeholder.replace(/…$/, '')} value=${text} onInput=${write} onSend=${send} placeholder=${placeholder} describedby="below-field"
              onPaste=${(/** @type {ClipboardEvent} */ event) => event.clipboardData?.files.length && (event.preventDefault(), files.add(event.clipboardData.files))} />
            <${EmojiButton} onChoose=${insert} />
            <button type="submit" class="chat-send" aria-label=${t('send')} title=${t('send')} disabled=${files.busy}><${Icon} name="arrow" /></button>
          </div>
        </form>
        <p class="below-field" id="below-field">${below(holder)}</p>
      </div>
    </footer>`;
}

/** @param {import('./holder.js').Holder | null} holder */
function below(holder) {
  if (holder?.kind === 'bot') return `${t('bot_can_be_wrong', { bot: holder.name })} ${t('person_any_time')}`;
  return holder?.kind === 'queue' ? t('close_page') : '';
}

/** Tells the agent that the customer types, and after a pause that they stopped. @param {string} conversation */
function useTyping(conversation) {
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  useEffect(() => () => clearTimeout(timer.current), []);
  return (/** @type {boolean} */ on) => {
    clearTimeout(timer.current);
    live.typing(conversation, on);
    if (on) timer.current = setTimeout(() => live.typing(conversation, false), TYPING_ENDS_MS);
  };
}
