// Times as people read them. `now` ticks each second while a component shows it.
import { signal, useEffect } from './html.js';
import { language, t } from './words.js';

/** The present, in ms; moves once a second while a component watches it. */
export const now = signal(Date.now());
let watchers = 0;
/** @type {ReturnType<typeof setInterval> | undefined} */
let timer;

/** Keeps the clock ticking while the component is shown, and reads it. @param {boolean} [on] */
export function useNow(on = true) {
  useEffect(() => (on ? watchClock() : undefined), [on]);
  // The signal is old if no component watched it until now.
  const ticked = on ? now.value : now.peek();
  return watchers > 0 ? ticked : Date.now();
}

/** @returns {() => void} */
function watchClock() {
  if (watchers++ === 0) {
    now.value = Date.now();
    timer = setInterval(() => (now.value = Date.now()), 1000);
  }
  return () => {
    if (--watchers === 0) clearInterval(timer);
  };
}

/** `13:58` @param {string | number | Date} at */
export const clock = (at) => format({ hour: '2-digit', minute: '2-digit' }, at);

/** `12 Mar` in this year, else with its year. @param {string | number | Date} at */
export function day(at) {
  const same = new Date(at).getFullYear() === new Date().getFullYear();
  return format({ day: 'numeric', month: 'short', ...(same ? {} : { year: 'numeric' }) }, at);
}

/** Today `13:58`, else `12 Mar, 13:58`. @param {string | number | Date} at */
export const when = (at) => (new Date(at).toDateString() === new Date().toDateString() ? clock(at) : `${day(at)}, ${clock(at)}`);

/** `Tuesday 14:06` @param {string | number | Date} at */
export const weekday = (at) => `${format({ weekday: 'long' }, at)} ${clock(at)}`;

/** `1:42`, and from an hour on `2 h 05`. @param {number} ms */
export function duration(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${two(seconds % 60)}`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))}`;
  return t('days', { n: Math.floor(seconds / 86_400) });
}

/** The same to be read aloud and in sentences: `1 minute 12`. @param {number} ms */
export function spoken(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return t('seconds', { n: seconds });
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 && minutes < 10 ? `${t('minutes', { n: minutes })} ${seconds % 60}` : t('minutes', { n: minutes });
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${t('hours', { n: hours })}${minutes % 60 ? ` ${minutes % 60}` : ''}` : t('days', { n: Math.floor(hours / 24) });
}

/** @type {Record<string, number>} */
const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a span of the API, such as `90s`, `15m`, `250ms`. @param {string} span */
export function spanMs(span) {
  const [, number, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(span) ?? [];
  return Number(number ?? 0) * (UNITS[unit ?? 'ms'] ?? 0);
}

/** `84 KB` @param {number} bytes */
export function bytes(bytes) {
  const [size, unit] = bytes < 1000 ? [bytes, 'B'] : bytes < 1_000_000 ? [bytes / 1000, 'KB'] : [bytes / 1_000_000, 'MB'];
  return `${size.toLocaleString(language.value, { maximumFractionDigits: size < 10 && unit !== 'B' ? 1 : 0 })} ${unit}`;
}

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/** @param {Intl.DateTimeFormatOptions} options @param {string | number | Date} at */
function format(options, at) {
  const key = language.value + JSON.stringify(options);
  // English times are those of the pictures: 24 hours.
  const tag = language.value === 'en' ? 'en-GB' : language.value;
  let made = formats.get(key);
  if (!made) formats.set(key, (made = new Intl.DateTimeFormat(tag, options)));
  return made.format(new Date(at));
}

/** @param {number} value */
const two = (value) => String(value).padStart(2, '0');
