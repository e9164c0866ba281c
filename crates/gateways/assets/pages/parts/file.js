// Files of a message. Images are fetched with the sign-in of the tab and shown from memory; all other files are downloads.
import { html, useEffect, useRef, useState } from '../core/html.js';
import { blob } from '../core/api.js';
import { Icon } from '../core/icons.js';
import { bytes } from '../core/time.js';
import { t } from '../core/words.js';
import { Dialog } from './dialog.js';
import { Theirs } from './text.js';
import { warn } from './toast.js';

/** What the server shows as an image. Everything else is a download, whatever the sender calls it. */
const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** @typedef {{ name: string, media_type?: string, path?: string, type: string, size_bytes?: number }} FilePart */

/** A file, or an image with its picture. @param {{ part: FilePart }} props */
export const FileView = ({ part }) =>
  part.type === 'file' && IMAGES.includes(part.media_type ?? '') && part.path
    ? html`<${ImageFile} part=${part} />`
    : html`<${PlainFile} part=${part} />`;

/** @param {{ part: FilePart }} props */
function PlainFile({ part }) {
  const [failed, setFailed] = useState(false);
  const load = () => save(part).catch(() => (setFailed(true), warn(t('file_gone'))));
  return html`
    <button type="button" class="file" onClick=${load} disabled=${!part.path} aria-label=${t('download', { name: part.name })}>
      <span class="file-picture"><${Icon} name="file" /></span>
      <span class="file-words">
        <${Theirs} class="file-name" text=${part.name} />
        <span class="meta">${failed ? t('file_gone') : part.size_bytes !== undefined ? bytes(part.size_bytes) : ''}</span>
      </span>
      ${part.path && html`<${Icon} name="download" size=${16} />`}
    </button>`;
}

/** @param {{ part: FilePart }} props */
function ImageFile({ part }) {
  const near = useRef(/** @type {HTMLElement | null} */ (null));
  const picture = usePicture(part.path ?? '', near);
  const [open, setOpen] = useState(false);
  if (picture === 'failed') return html`<${PlainFile} part=${part} />`;
  return html`
    <figure class="picture" ref=${near}>
      ${picture
        ? html`<button type="button" onClick=${() => setOpen(true)} aria-label=${t('show_image', { name: part.name })}><img src=${picture.url} alt="" /></button>`
        : html`<div class="bone picture-bone"></div>`}
      <figcaption><${Icon} name="clip" size=${14} /><${Theirs} text=${part.name} cut />
        ${picture && html`<span class="meta">${bytes(picture.size)}</span>`}</figcaption>
      ${open && picture && html`
        <${Dialog} title=${part.name} theirs onClose=${() => setOpen(false)} class="full-picture"><img src=${picture.url} alt=${part.name} /><//>`}
    </figure>`;
}

/**
 * Loads the bytes once the place is near the view, and lets them go with the component.
 * @param {string} path @param {{ current: HTMLElement | null }} near
 * @returns {{ url: string, size: number } | 'failed' | null}
 */
function usePicture(path, near) {
  const [picture, setPicture] = useState(/** @type {{ url: string, size: number } | 'failed' | null} */ (null));
  useEffect(() => {
    const stop = new AbortController();
    let url = '';
    const watch = new IntersectionObserver((seen) => {
      if (!seen.some((one) => one.isIntersecting)) return;
      watch.disconnect();
      blob(path, { signal: stop.signal }).then(
        (bytes) => {
          // The type is the server's, which looked at the bytes.
          if (!IMAGES.includes(bytes.type)) return setPicture('failed');
          url = URL.createObjectURL(bytes);
          setPicture({ url, size: bytes.size });
        },
        () => !stop.signal.aborted && setPicture('failed'),
      );
    }, { rootMargin: '400px' });
    if (near.current) watch.observe(near.current);
    return () => {
      watch.disconnect();
      stop.abort();
      if (url) URL.revokeObjectURL(url);
    };
  }, [path]);
  return picture;
}

/** @param {FilePart} part */
async function save(part) {
  const bytes = await blob(/** @type {string} */ (part.path));
  const url = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = part.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
