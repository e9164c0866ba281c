// The catalogue: one key for each sentence. A language is one file in `words/`; a key that it lacks is read in English.
import { computed, signal } from './html.js';
import { settings } from './kept.js';
import { en } from './words/en.js';

/** @typedef {keyof typeof en} Key */
/** @typedef {Partial<Record<Key, string | Partial<Record<Intl.LDMLPluralRule, string>>>>} Catalogue */

/** The languages, by code, in their own names. Add a file and a line for another one. */
export const languages = { en: 'English', de: 'Deutsch' };

/** @type {Record<string, () => Promise<Catalogue>>} */
const files = { de: async () => (await import('./words/de.js')).de };

/** @type {Record<string, Catalogue>} */
const loaded = { en: /** @type {Catalogue} */ (en) };

/** The language of the page. @type {import('./html.js').Signal<string>} */
export const language = signal('en');
const catalogue = computed(() => loaded[language.value] ?? loaded.en);
const plurals = computed(() => new Intl.PluralRules(language.value));

/** Reads the language of the person, or of the browser, before the first render. */
export async function beginWords() {
  const wanted = settings.read('language') ?? navigator.languages.map((tag) => tag.split('-')[0]).find((code) => code in languages) ?? 'en';
  await speak(wanted);
}

/** Changes the language and remembers it. @param {string} code */
export async function chooseLanguage(code) {
  settings.write('language', code);
  await speak(code);
}

/** @param {string} code */
async function speak(code) {
  if (!(code in languages)) return;
  if (!loaded[code]) loaded[code] = await files[code]().catch(() => loaded.en);
  language.value = code;
  document.documentElement.lang = code;
}

/**
 * A sentence, with its {placeholders} filled. `n` also chooses the plural.
 * @param {Key} key
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function t(key, values = {}) {
  return sentence(key, values).replace(/\{(\w+)\}/g, (whole, name) => (name in values ? format(values[name]) : whole));
}

/**
 * The same as pieces, so that a component can set a name or a number apart: [['', 'Reply to '], ['name', 'Ana']].
 * @param {Key} key @param {Record<string, string | number>} values
 * @returns {[string, string][]}
 */
export function pieces(key, values) {
  return sentence(key, values)
    .split(/\{(\w+)\}/)
    .map((piece, at) => (at % 2 ? [piece, format(values[piece] ?? '')] : ['', piece]));
}

/** @param {Key} key @param {Record<string, string | number>} values */
function sentence(key, values) {
  const entry = catalogue.value[key] ?? loaded.en[key] ?? key;
  return typeof entry === 'string' ? entry : (entry[plurals.value.select(Number(values.n))] ?? entry.other ?? '');
}

/** @param {string | number} value */
const format = (value) => (typeof value === 'number' ? value.toLocaleString(language.value) : value);
