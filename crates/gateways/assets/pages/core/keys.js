// Shortcuts: one table of commands, each with its keys. Single keys work only while no field has the focus, and can be turned off.
import { signal, useEffect } from './html.js';
import { settings } from './kept.js';

/**
 * @typedef {object} Command
 * @property {string} id
 * @property {string} name as the sheet and the palette show it
 * @property {string} group heading in the sheet
 * @property {string[]} keys such as `['h']`, `['g', 'c']` one after the other, `['Control+k']`, `['Shift+E']`, `['F6']`
 * @property {() => void} run
 * @property {() => boolean} [may] whether it makes sense now
 * @property {import('./icons.js').IconName} [icon]
 */

/** @type {import('./html.js').Signal<Command[]>} */
export const commands = signal([]);

/** Whether single keys work. */
export const singleKeys = signal(settings.read('single_keys', true));

/** @param {boolean} on */
export function setSingleKeys(on) {
  singleKeys.value = on;
  settings.write('single_keys', on);
}

/** The keys that the person chose instead, by id of the command. */
const chosen = signal(/** @type {Record<string, string[]>} */ (settings.read('keys', {})));

/** @param {Command} command */
export const keysOf = (command) => chosen.value[command.id] ?? command.keys;

/** @param {string} id @param {string[] | null} keys `null` gives back the first ones */
export function chooseKeys(id, keys) {
  const next = { ...chosen.value };
  if (keys) next[id] = keys;
  else delete next[id];
  chosen.value = next;
  settings.write('keys', next);
}

/** Offers commands while the component is shown. @param {Command[]} offered @param {unknown[]} inputs */
export function useCommands(offered, inputs) {
  useEffect(() => {
    commands.value = [...commands.peek().filter((one) => !offered.some((other) => other.id === one.id)), ...offered];
    return () => {
      commands.value = commands.peek().filter((one) => !offered.includes(one));
    };
  }, inputs);
}

/** How a key is shown: `Control+k` as `['Ctrl', 'K']`. @param {string} key */
export const caps = (key) => key.split('+').map((part) => ({ Control: 'Ctrl', Enter: '↵', Escape: 'Esc' })[part] ?? (part.length === 1 ? part.toUpperCase() : part));

/** Text fields and open dialogs keep their own keys. @param {EventTarget | null} target */
const writes = (target) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(textarea|select)$/i.test(target.tagName) || (target instanceof HTMLInputElement && !/^(checkbox|radio|button)$/.test(target.type)));

let before = '';
let beforeAt = 0;
const SECOND_KEY_MS = 1500;

/** @param {KeyboardEvent} event */
function onKey(event) {
  if (event.defaultPrevented || event.isComposing) return;
  const strong = event.ctrlKey || event.metaKey || event.altKey || /^F\d+$/.test(event.key);
  if (!strong && (!singleKeys.value || writes(event.target) || document.querySelector('dialog[open]'))) return;
  const key = nameOf(event);
  const sequence = Date.now() - beforeAt < SECOND_KEY_MS ? [before, key] : [];
  const command =
    commands.value.find((one) => same(keysOf(one), sequence) && (one.may?.() ?? true)) ??
    commands.value.find((one) => same(keysOf(one), [key]) && (one.may?.() ?? true));
  before = key;
  beforeAt = Date.now();
  if (!command) return;
  event.preventDefault();
  before = '';
  command.run();
}

/** @param {string[]} keys @param {string[]} pressed */
const same = (keys, pressed) => keys.length > 0 && keys.length === pressed.length && keys.every((key, at) => key.toLowerCase() === pressed[at].toLowerCase());

/** @param {KeyboardEvent} event */
function nameOf(event) {
  const shifted = event.shiftKey && /^[a-z]$/i.test(event.key);
  return [(event.ctrlKey || event.metaKey) && 'Control', event.altKey && 'Alt', shifted && 'Shift', event.key].filter(Boolean).join('+');
}

addEventListener('keydown', onKey);

/**
 * F6 and Shift F6 move between the regions of a page, which carry `data-region`.
 * @param {boolean} backwards
 */
function nextRegion(backwards) {
  const regions = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('[data-region]')]).filter((one) => one.offsetParent);
  if (regions.length === 0) return;
  const at = regions.findIndex((one) => one.contains(document.activeElement));
  const next = regions[(at + (backwards ? -1 : 1) + regions.length) % regions.length];
  const inside = /** @type {HTMLElement | null} */ (next.querySelector('[data-region-focus], [tabindex="0"], button, a[href], textarea, input'));
  (inside ?? next).focus();
}

addEventListener('keydown', (event) => {
  if (event.key !== 'F6' || event.ctrlKey || event.altKey || document.querySelector('dialog[open]')) return;
  event.preventDefault();
  nextRegion(event.shiftKey);
});
