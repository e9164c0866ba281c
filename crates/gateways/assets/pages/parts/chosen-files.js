// Files that a writer has chosen for the next message: each is uploaded at once, and shows its progress or why it failed.
import { html, useEffect, useRef, useState } from '../core/html.js';
import { Problem, upload } from '../core/api.js';
import { Icon } from '../core/icons.js';
import { t } from '../core/words.js';
import { IconButton } from './button.js';
import { warn } from './toast.js';

const FILES_MAX = 8;
/** The API takes no longer name. */
const NAME_BYTES_MAX = 200;

/**
 * `share` of the upload that is done, from 0 to 1; `stored` is the name that the server gave it; `failed` says why it has none.
 * @typedef {{ id: number, file: File, share: number, stop: AbortController, stored?: string, failed?: string }} Chosen
 */

/** @typedef {ReturnType<typeof useChosenFiles>} Files */

export function useChosenFiles() {
  const [list, setList] = useState(/** @type {Chosen[]} */ ([]));
  const next = useRef(0);
  const newest = useRef(list);
  newest.current = list;
  useEffect(() => () => newest.current.forEach((one) => one.stop.abort()), []);
  const change = (/** @type {number} */ id, /** @type {Partial<Chosen>} */ fields) => setList((now) => now.map((one) => (one.id === id ? { ...one, ...fields } : one)));
  const store = (/** @type {Chosen} */ one) => {
    change(one.id, { failed: undefined, share: 0 });
    upload(one.file, (share) => change(one.id, { share }), one.stop.signal).then(
      (stored) => change(one.id, { stored, share: 1 }),
      (problem) => one.stop.signal.aborted || refuse(one, whyNot(one.file, problem)),
    );
  };
  const refuse = (/** @type {Chosen} */ one, /** @type {string} */ failed) => {
    change(one.id, { failed });
    warn(failed);
  };
  return {
    list,
    stored: list.filter((one) => one.stored),
    busy: list.some((one) => !one.stored && !one.failed),
    store,
    /** @param {FileList | undefined | null} chosen */
    add(chosen) {
      const fresh = [...(chosen ?? [])].slice(0, FILES_MAX - list.length).map((file) => ({ id: ++next.current, file, share: 0, stop: new AbortController() }));
      setList((now) => [...now, ...fresh]);
      fresh.forEach(store);
    },
    /** @param {Chosen} one */
    drop(one) {
      one.stop.abort();
      setList((now) => now.filter((other) => other.id !== one.id));
    },
    /** After a message was sent: what could not be stored stays, because it was not sent. */
    clear: () => setList((now) => now.filter((one) => one.failed)),
  };
}

/** A stored file as a part of a message. @param {Chosen} one */
export const filePart = ({ file, stored }) => ({ type: 'file', file: stored, name: cleanName(file.name), media_type: mediaType(file) });

/** A name that the API takes: no path, no control characters. @param {string} name */
function cleanName(name) {
  let clean = name.replace(/[/\\\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '_').trim() || 'file';
  while (new TextEncoder().encode(clean).length > NAME_BYTES_MAX) clean = [...clean].slice(1).join('');
  return clean;
}

/** @param {File} file */
const mediaType = (file) => (/^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/.test(file.type) ? file.type : 'application/octet-stream');

/** @param {File} file @param {unknown} problem */
function whyNot(file, problem) {
  if (problem instanceof Problem && problem.mayPass) return t('server_silent');
  return `${t('file_refused', { name: file.name })}${problem instanceof Problem ? ` ${problem.message}` : ''}`;
}

/** @param {{ files: Files }} props */
export const ChosenFiles = ({ files }) =>
  files.list.length > 0 && html`<div class="composer-files">${files.list.map((one) => html`<${ChosenFile} key=${one.id} one=${one} files=${files} />`)}</div>`;

/** @param {{ one: Chosen, files: Files }} props */
const ChosenFile = ({ one, files }) => html`
  <div class="composer-file">
    <${Icon} name=${one.failed ? 'warn' : 'clip'} size=${15} /><bdi dir="auto" class="one-line" title=${one.failed ?? one.file.name}>${one.file.name}</bdi>
    <${IconButton} icon="cross" size=${15} label=${t('remove_file', { name: one.file.name })} onClick=${() => files.drop(one)} />
    ${one.failed && html`<span class="state-failed">${t('not_sent')} <button type="button" class="text-button" onClick=${() => files.store(one)}>${t('try_again')}</button></span>`}
    ${!one.stored && !one.failed && html`<div class="progress" role="progressbar" aria-label=${t('uploading', { name: one.file.name })} aria-valuenow=${Math.round(one.share * 100)}><i style=${{ width: `${one.share * 100}%` }}></i></div>`}
  </div>`;
