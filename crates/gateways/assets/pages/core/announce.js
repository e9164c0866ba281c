// What a screen reader says: one polite and one assertive live region, with the sentences of the catalogue.
// A region that changes twice within one reading loses the first text, so the texts wait for each other.
import { useEffect, useRef } from './html.js';
import { t } from './words.js';

/** How long a text stays, so that a reader has taken it. */
const STAYS_MS = 700;
/** A reader notices a change only in a region that has been in the page for a moment. */
const SETTLES_MS = 30;
/** More than this waits only if many things happen at once: then the newest polite ones count. */
const WAITING_MAX = 6;

/** @typedef {{ text: string, about?: string }} Announcement */

/** @param {'status' | 'alert'} role */
function region(role) {
  /** @type {HTMLElement | null} */
  let element = null;
  /** @type {Announcement[]} */
  const waiting = [];
  let busy = false;

  function make() {
    if (element) return;
    element = document.createElement('div');
    element.className = 'unseen';
    element.setAttribute('role', role);
    element.setAttribute('aria-live', role === 'alert' ? 'assertive' : 'polite');
    element.setAttribute('aria-atomic', 'true');
    document.body.append(element);
  }

  /** A modal dialog makes the page inert, and readers ignore an inert region, so the region goes into the dialog. */
  function moved() {
    const host = [...document.querySelectorAll('dialog:modal')].at(-1) ?? document.body;
    if (!element || element.parentElement === host) return false;
    host.append(element);
    return true;
  }

  /** @returns {unknown} */
  function next() {
    if (waiting.length && moved()) return setTimeout(next, SETTLES_MS);
    const line = waiting.shift();
    busy = line !== undefined;
    if (!line || !element) return;
    const text = document.createElement('p');
    text.dir = 'auto';
    text.textContent = line.text;
    element.replaceChildren(text);
    setTimeout(() => {
      element?.replaceChildren();
      setTimeout(next, 50);
    }, STAYS_MS);
  }

  return {
    /** A later text about the same thing replaces one that still waits. @param {string} text @param {string} [about] */
    say(text, about) {
      make();
      const same = about ? waiting.findIndex((line) => line.about === about) : -1;
      if (same >= 0) waiting[same] = { text, about };
      else waiting.push({ text, about });
      if (role === 'status' && waiting.length > WAITING_MAX) waiting.splice(0, waiting.length - WAITING_MAX);
      if (!busy) {
        busy = true;
        setTimeout(next, SETTLES_MS);
      }
    },
    make,
  };
}

const polite = region('status');
const assertive = region('alert');

/** Puts both regions into the page. Call it before anything is said. */
export function beginAnnouncing() {
  polite.make();
  assertive.make();
}

/** Says it when the reader has a pause. @param {string} text @param {string} [about] */
export const say = (text, about) => polite.say(text, about);

/** Says it at once. @param {string} text @param {string} [about] */
export const alert = (text, about) => assertive.say(text, about);

/**
 * Gives the whole sentences of a text that grows, and at its end the rest.
 * @param {(sentence: string) => void} tell
 */
export function bySentence(tell) {
  let told = 0;
  return (/** @type {string} */ whole, /** @type {boolean} */ complete) => {
    const fresh = whole.slice(told);
    const ends = [...fresh.matchAll(/[.!?…。！？]+["”’)\]]*(?=\s)|\n/g)];
    const last = ends.at(-1);
    const upTo = complete ? fresh.length : last ? last.index + last[0].length : 0;
    const text = fresh.slice(0, upTo).trim();
    told += upTo;
    if (text) tell(text);
  };
}

/** Says the time that is left to answer, once at each of 60, 30 and 10 seconds. @param {number | undefined} leftMs */
export function useCountdown(leftMs) {
  const last = useRef(Infinity);
  const seconds = leftMs === undefined ? Infinity : Math.ceil(leftMs / 1000);
  useEffect(() => {
    const mark = [10, 30, 60].find((step) => seconds <= step && last.current > step);
    if (mark !== undefined && last.current !== Infinity) say(t('live_left', { n: mark }), 'countdown');
    last.current = seconds;
  }, [seconds]);
}
