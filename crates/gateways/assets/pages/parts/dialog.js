// Dialogs and menus. The browser's own <dialog> makes the rest inert; closing one returns to its opener.
import { html, classes, useEffect, useId, useRef } from '../core/html.js';
import { Icon } from '../core/icons.js';
import { t } from '../core/words.js';
import { IconButton } from './button.js';

/**
 * Shown as long as it is rendered. Esc, its cross and `onClose` end it.
 * @param {{ title: string, onClose: () => void, children?: import('../core/html.js').Child, wide?: boolean, class?: string,
 *   theirs?: boolean, side?: import('../core/html.js').Child, bare?: boolean, first?: string }} props
 *   `theirs`: the title is a text of others; `bare`: without a head; `first`: selector of what gets the focus
 */
export function Dialog({ title, onClose, children, wide = false, class: more, theirs = false, side, bare = false, first }) {
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const id = useId();
  useEffect(() => {
    const dialog = /** @type {HTMLDialogElement} */ (element.current);
    const opener = document.activeElement;
    dialog.showModal();
    if (first) /** @type {HTMLElement | null} */ (dialog.querySelector(first))?.focus();
    return () => {
      dialog.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  const cancel = (/** @type {Event} */ event) => (event.preventDefault(), onClose());
  const press = (/** @type {MouseEvent} */ event) => element.current && event.target === element.current && outside(element.current, event) && onClose();
  return html`
    <dialog ref=${element} class=${classes('dialog', wide && 'dialog-wide', more)} aria-labelledby=${bare ? undefined : id}
      aria-label=${bare ? title : undefined} onCancel=${cancel} onMouseDown=${press}>
      ${!bare && html`<div class="dialog-head"><h2 id=${id} dir=${theirs ? 'auto' : undefined}>${title}</h2>${side}<${IconButton} icon="cross" label=${t('close')} onClick=${onClose} /></div>`}
      ${children}
    </dialog>`;
}

/** @param {HTMLElement} element @param {MouseEvent} event */
function outside(element, event) {
  const box = element.getBoundingClientRect();
  return event.clientX < box.left || event.clientX > box.right || event.clientY < box.top || event.clientY > box.bottom;
}

/** @typedef {{ name: import('../core/html.js').Child, icon?: import('../core/icons.js').IconName, run: () => void, checked?: boolean, id: string }} Choice */

/**
 * A menu under its button: arrows move, Esc closes and returns.
 * @param {{ label: string, groups: { head?: string, items: Choice[] }[], button: (opener: Record<string, any>) => import('../core/html.js').VNode }} props
 */
export function Menu({ label, groups, button }) {
  const menu = useRef(/** @type {HTMLElement | null} */ (null));
  const id = `menu-${useId()}`;
  const place = (/** @type {any} */ event) => {
    const list = /** @type {HTMLElement} */ (menu.current);
    const opener = document.querySelector(`[popovertarget="${id}"]`);
    opener?.setAttribute('aria-expanded', String(event.newState === 'open'));
    if (event.newState !== 'open' || !opener) return;
    const box = opener.getBoundingClientRect();
    const width = document.documentElement.clientWidth;
    list.style.top = `${Math.max(8, Math.min(box.bottom, innerHeight - list.offsetHeight - 12))}px`;
    list.style.left = `${Math.max(8, Math.min(box.right - list.offsetWidth, width - list.offsetWidth - 8))}px`;
    entries(list)[0]?.focus();
  };
  const choose = (/** @type {Choice} */ item) => {
    menu.current?.hidePopover();
    item.run();
  };
  return html`
    ${button({ popovertarget: id, 'aria-haspopup': 'menu', 'aria-expanded': 'false' })}
    <div ref=${menu} id=${id} popover="auto" role="menu" class="menu" aria-label=${label} onToggle=${place} onKeyDown=${move}>
      ${groups.map(
        ({ head, items }, at) => html`
          ${at > 0 && html`<hr role="separator" />`}
          <div role="group" aria-label=${head}>
            ${head && html`<div class="menu-head" aria-hidden="true">${head}</div>`}
            ${items.map(
              (item) => html`<button type="button" key=${item.id} class="menu-item" tabindex="-1" role=${item.checked === undefined ? 'menuitem' : 'menuitemradio'}
                aria-checked=${item.checked} onClick=${() => choose(item)}>${item.icon && html`<${Icon} name=${item.icon} size=${18} />`}<span class="grow">${item.name}</span>
                ${item.checked && html`<${Icon} name="check" size=${16} />`}</button>`,
            )}
          </div>`,
      )}
    </div>`;
}

/** @param {HTMLElement} list */
const entries = (list) => /** @type {HTMLElement[]} */ ([...list.querySelectorAll('.menu-item')]);

/** @param {KeyboardEvent & { currentTarget: any }} event */
function move(event) {
  const list = entries(event.currentTarget);
  const at = list.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const to = { ArrowDown: at + 1, ArrowUp: at - 1 + list.length, Home: 0, End: list.length - 1 }[event.key];
  if (event.key === 'Tab') event.currentTarget.hidePopover();
  if (to === undefined) return;
  event.preventDefault();
  list[to % list.length]?.focus();
}
