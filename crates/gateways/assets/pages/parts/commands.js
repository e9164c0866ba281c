// The command palette (Ctrl K) and the sheet of shortcuts (?), both made from the commands that the page offers now.
import { html, useState } from '../core/html.js';
import { Icon } from '../core/icons.js';
import { commands, keysOf, setSingleKeys, singleKeys } from '../core/keys.js';
import { t } from '../core/words.js';
import { Keys } from './button.js';
import { Dialog } from './dialog.js';

const SHOWN_MAX = 30;

/**
 * @typedef {{ id: string, name: string, side?: string, group?: string, icon?: import('../core/icons.js').IconName, keys?: string[], run: () => void }} Entry
 */

/**
 * `more` finds further entries for the text, such as conversations and handoffs.
 * @param {{ onClose: () => void, more?: (text: string) => Entry[], about?: string }} props
 */
export function Palette({ onClose, more = () => [], about }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const own = commands.value.filter((one) => one.may?.() ?? true).map((one) => ({ ...one, keys: keysOf(one) }));
  const found = /** @type {Entry[]} */ ([...own.filter((one) => matches(one.name, text)), ...more(text)]).slice(0, SHOWN_MAX);
  const choose = (/** @type {Entry} */ entry) => {
    onClose();
    // The dialog gives the focus back first, so that the command may move it.
    setTimeout(entry.run);
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.length) setAt((at + step + found.length) % found.length);
    else if (event.key === 'Enter' && found[at]) choose(found[at]);
    else return;
    event.preventDefault();
  };
  return html`
    <${Dialog} title=${t('search_or_do')} onClose=${onClose} class="palette" bare first="input">
      <div class="palette-field"><${Icon} name="search" size=${18} />
        <input type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list" aria-label=${t('search_or_do')} dir="auto"
          aria-activedescendant=${found[at] ? `palette-${at}` : undefined} value=${text} onInput=${(/** @type {any} */ event) => (setText(event.target.value), setAt(0))} onKeyDown=${press} />
        ${about && html`<span class="second" dir="auto">${about}</span>`}</div>
      <div class="palette-list" id="palette-list" role="listbox" aria-label=${t('search_or_do')}>
        ${found.map((entry, n) => html`
          ${entry.group !== found[n - 1]?.group && entry.group && html`<div class="menu-head" role="presentation">${entry.group}</div>`}
          <div id=${`palette-${n}`} key=${entry.id} role="option" class="menu-item" aria-selected=${n === at} onClick=${() => choose(entry)}>
            ${entry.icon && html`<${Icon} name=${entry.icon} size=${18} />`}<span class="one-line" dir="auto">${entry.name}</span>
            <span class="side second">${entry.side ?? (entry.keys?.length ? html`<${Keys} keys=${entry.keys} />` : '')}</span></div>`)}
        ${found.length === 0 && html`<p class="menu-head" dir="auto">${t('nothing_matches', { text })}</p>`}
      </div>
      <div class="palette-foot" aria-hidden="true"><span><${Keys} keys=${['↑', '↓']} /> ${t('key_move')}</span><span><${Keys} keys=${['Enter']} /> ${t('key_choose')}</span><span><${Keys} keys=${['Escape']} /> ${t('key_close')}</span></div>
    <//>`;
}

/** @param {string} name @param {string} text */
const matches = (name, text) => text.toLocaleLowerCase().split(/\s+/).every((word) => name.toLocaleLowerCase().includes(word));

/** @param {{ onClose: () => void, onChange?: () => void }} props */
export function ShortcutSheet({ onClose }) {
  const groups = Map.groupBy(commands.value.filter((one) => one.keys.length), (one) => one.group);
  const on = singleKeys.value;
  const side = html`<span class="second">${t(on ? 'single_keys' : 'single_keys_off')} <button type="button" class="text-button" onClick=${() => setSingleKeys(!on)}>${t(on ? 'turn_off' : 'turn_on')}</button></span>`;
  return html`
    <${Dialog} title=${t('shortcuts')} onClose=${onClose} wide side=${side}>
      <div class="sheet">${[...groups].map(([group, list]) => html`
        <section><h3>${group}</h3><ul>${list.map((one) => html`<li key=${one.id}><span>${one.name}</span><${Keys} keys=${keysOf(one)} /><span class="unseen">${keysOf(one).join(' ')}</span></li>`)}</ul></section>`)}</div>
    <//>`;
}
