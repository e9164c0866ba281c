// Writing: the field, files, and what is said below it. What is written offline is kept and sent once.
import { html, useEffect, useRef, useState } from '../core/html.js';
import { Problem, upload } from '../core/api.js';
import { Icon } from '../core/icons.js';
import { kept } from '../core/kept.js';
import * as live from '../core/live.js';
import { t } from '../core/words.js';
import { IconButton } from '../parts/button.js';
import { Field } from '../parts/composer.js';
import { toast } from '../parts/toast.js';
import { EmojiButton } from './emoji.js';

/** A text part of the API. */
const TEXT_BYTES_MAX = 16_384;
const FILES_MAX = 8;
const TYPING_ENDS_MS = 5_000;

/** @typedef {{ id: number, file: File, part: number, name?: string, failed?: string, stop: AbortController }} Chosen */

/** @param {{ chat: import('./model.js').Chat, ready: boolean }} props */
export function ChatComposer({ chat, ready }) {
  const draft = `draft.${chat.id}`;
  const [text, setText] = useState(() => /** @type {string} */ (kept.read(draft, '')));
  const files = useFiles();
  const typed = useTyping(chat.id);
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const holder = chat.holder.value;
  const write = (/** @type {string} */ next) => {
    setText(next);
    kept.write(draft, next || null);
    typed(next !== '');
  };
  const busy = files.list.some((one) => !one.name && !one.failed);
  const send = () => {
    const parts = partsOf(text, files.list);
    if (!ready || busy || parts.length === 0) return;
    if (new TextEncoder().encode(text.trim()).length > TEXT_BYTES_MAX) return toast(t('too_long'), { icon: 'warn', urgent: true });
    if (!chat.waiting.add({ parts }, text.trim() || files.list.map((one) => one.file.name).join(', '))) return toast(t('too_fast'), { icon: 'warn', urgent: true });
    write('');
    files.clear();
    document.getElementById('message')?.focus();
  };
  const insert = (/** @type {string} */ sign) => {
    const field = /** @type {HTMLTextAreaElement} */ (document.getElementById('message'));
    const { selectionStart: from, selectionEnd: to } = field;
    write(text.slice(0, from) + sign + text.slice(to));
    requestAnimationFrame(() => (field.focus(), field.setSelectionRange(from + sign.length, from + sign.length)));
  };
  if (holder?.kind === 'nobody') return html`<footer class="foot"><div class="column"><div class="composer composer-locked"><${Icon} name="lock" size=${16} />${t('write_closed')}</div></div></footer>`;
  const placeholder = holder?.kind === 'queue' ? t('write_waiting') : holder ? t('write_to', { name: holder.name }) : t('message');
  return html`
    <footer class="foot" onDragOver=${(/** @type {DragEvent} */ event) => event.preventDefault()} onDrop=${(/** @type {DragEvent} */ event) => (event.preventDefault(), files.add(event.dataTransfer?.files))}>
      <div class="column">
        <form class="composer chat-composer" onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), send())}>
          ${files.list.length > 0 && html`<div class="composer-files">${files.list.map((one) => html`<${ChosenFile} key=${one.id} one=${one} files=${files} />`)}</div>`}
          <div class="chat-field">
            <${IconButton} icon="clip" label=${t('attach')} size=${20} onClick=${() => input.current?.click()} />
            <input ref=${input} type="file" multiple hidden onChange=${(/** @type {any} */ event) => (files.add(event.target.files), (event.target.value = ''))} />
            <${Field} id="message" label=${placeholder.replace(/…$/, '')} value=${text} onInput=${write} onSend=${send} placeholder=${placeholder} describedby="below-field"
              onPaste=${(/** @type {ClipboardEvent} */ event) => event.clipboardData?.files.length && (event.preventDefault(), files.add(event.clipboardData.files))} />
            <${EmojiButton} onChoose=${insert} />
            <button type="submit" class="chat-send" aria-label=${t('send')} title=${t('send')} disabled=${busy}><${Icon} name="arrow" /></button>
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

/** @param {string} text @param {Chosen[]} files */
function partsOf(text, files) {
  const stored = files.filter((one) => one.name).map((one) => ({ type: 'file', file: one.name, name: cleanName(one.file.name), media_type: mediaType(one.file) }));
  return [...(text.trim() ? [{ type: 'text', text: text.trim() }] : []), ...stored];
}

/** A name that the API takes: no path, no control characters, at most 200 bytes. @param {string} name */
function cleanName(name) {
  let clean = name.replace(/[/\\\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '_').trim() || 'file';
  while (new TextEncoder().encode(clean).length > 200) clean = [...clean].slice(1).join('');
  return clean;
}

/** @param {File} file */
const mediaType = (file) => (/^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/.test(file.type) ? file.type : 'application/octet-stream');

function useFiles() {
  const [list, setList] = useState(/** @type {Chosen[]} */ ([]));
  const next = useRef(0);
  const change = (/** @type {number} */ id, /** @type {Partial<Chosen>} */ what) => setList((now) => now.map((one) => (one.id === id ? { ...one, ...what } : one)));
  const store = (/** @type {Chosen} */ one) => {
    change(one.id, { failed: undefined, part: 0 });
    upload(one.file, (part) => change(one.id, { part }), one.stop.signal).then(
      (name) => change(one.id, { name, part: 1 }),
      (problem) => one.stop.signal.aborted || change(one.id, { failed: whyNot(one.file, problem) }),
    );
  };
  return {
    list,
    store,
    /** @param {FileList | undefined | null} chosen */
    add(chosen) {
      const fresh = [...(chosen ?? [])].slice(0, FILES_MAX - list.length).map((file) => ({ id: ++next.current, file, part: 0, stop: new AbortController() }));
      setList((now) => [...now, ...fresh]);
      fresh.forEach(store);
    },
    /** @param {Chosen} one */
    drop(one) {
      one.stop.abort();
      setList((now) => now.filter((other) => other.id !== one.id));
    },
    clear: () => setList([]),
  };
}

/** @param {File} file @param {unknown} problem */
function whyNot(file, problem) {
  if (problem instanceof Problem && problem.mayPass) return t('server_silent');
  return `${t('file_refused', { name: file.name })}${problem instanceof Problem ? ` ${problem.message}` : ''}`;
}

/** @param {{ one: Chosen, files: ReturnType<typeof useFiles> }} props */
function ChosenFile({ one, files }) {
  useEffect(() => {
    if (one.failed) toast(one.failed, { icon: 'warn', urgent: true });
  }, [one.failed]);
  return html`
    <div class="composer-file">
      <${Icon} name=${one.failed ? 'warn' : 'clip'} size=${15} /><bdi dir="auto" class="one-line" title=${one.failed ?? one.file.name}>${one.file.name}</bdi>
      <${IconButton} icon="cross" size=${15} label=${t('remove_file', { name: one.file.name })} onClick=${() => files.drop(one)} />
      ${one.failed && html`<span class="state-failed">${t('not_sent')} <button type="button" class="text-button" onClick=${() => files.store(one)}>${t('try_again')}</button></span>`}
      ${!one.name && !one.failed && html`<div class="progress" role="progressbar" aria-label=${t('uploading', { name: one.file.name })} aria-valuenow=${Math.round(one.part * 100)}><i style=${{ width: `${one.part * 100}%` }}></i></div>`}
    </div>`;
}

/** Says that the customer types, and after a pause that they stopped. @param {string} conversation */
function useTyping(conversation) {
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  return (/** @type {boolean} */ on) => {
    clearTimeout(timer.current);
    live.typing(conversation, on);
    if (on) timer.current = setTimeout(() => live.typing(conversation, false), TYPING_ENDS_MS);
  };
}
