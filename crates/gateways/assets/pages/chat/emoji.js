// A small choice of emoji; the keyboards of most devices have more.
import { html, useId, useRef } from '../core/html.js';
import { t } from '../core/words.js';
import { IconButton } from '../parts/button.js';

const signs = [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment('😀😊😉😂🙂🤔😕😢😠😮👍👎👏🙏👋❤️🎉✅❌❗❓⏳📎📷')].map((one) => one.segment);
const COLUMNS = 6;

/** @param {{ onChoose: (sign: string) => void }} props */
export function EmojiButton({ onChoose }) {
  const id = `emoji-${useId()}`;
  const grid = useRef(/** @type {HTMLElement | null} */ (null));
  const place = (/** @type {any} */ event) => {
    const list = grid.current;
    const opener = document.querySelector(`[popovertarget="${id}"]`);
    if (!list || !opener || event.newState !== 'open') return;
    const box = opener.getBoundingClientRect();
    list.style.left = `${Math.max(8, Math.min(box.right - list.offsetWidth, innerWidth - list.offsetWidth - 8))}px`;
    list.style.top = `${Math.max(8, box.top - list.offsetHeight - 12)}px`;
    /** @type {HTMLElement} */ (list.firstElementChild).focus();
  };
  const move = (/** @type {KeyboardEvent & { currentTarget: HTMLElement }} */ event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: COLUMNS, ArrowUp: -COLUMNS }[event.key];
    if (!step) return;
    event.preventDefault();
    const all = /** @type {HTMLElement[]} */ ([...event.currentTarget.children]);
    const at = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    all[Math.max(0, Math.min(all.length - 1, at + step))]?.focus();
  };
  const choose = (/** @type {string} */ sign) => (grid.current?.hidePopover(), onChoose(sign));
  return html`
    <${IconButton} icon="smile" label=${t('emoji')} size=${20} class="emoji-open" popovertarget=${id} />
    <div ref=${grid} id=${id} popover="auto" class="menu emoji" role="group" aria-label=${t('emoji')} onToggle=${place} onKeyDown=${move}>
      ${signs.map((sign) => html`<button type="button" onClick=${() => choose(sign)}>${sign}</button>`)}
    </div>`;
}
