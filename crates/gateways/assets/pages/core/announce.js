// What a screen reader says. One polite and one assertive live region; the sentences are those of the catalogue.
// A region that changes twice within one reading loses the first text, so the texts wait for each other.

/** How long a text stays, so that a reader has taken it. */
const STAYS_MS = 700;
/** More than this waits only if many things happen at once: then the newest polite ones count. */
const WAITING_MAX = 6;

/** @typedef {{ text: string, about?: string }} Line */

/** @param {'status' | 'alert'} role */
function region(role) {
  /** @type {HTMLElement | null} */
  let element = null;
  /** @type {Line[]} */
  const waiting = [];
  let busy = false;

  function make() {
    element = document.createElement('div');
    element.className = 'unseen';
    element.setAttribute('role', role);
    element.setAttribute('aria-live', role === 'alert' ? 'assertive' : 'polite');
    element.setAttribute('aria-atomic', 'true');
    document.body.append(element);
  }

  function next() {
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
      if (!element) make();
      const same = about ? waiting.findIndex((line) => line.about === about) : -1;
      if (same >= 0) waiting[same] = { text, about };
      else waiting.push({ text, about });
      if (role === 'status' && waiting.length > WAITING_MAX) waiting.splice(0, waiting.length - WAITING_MAX);
      if (!busy) {
        busy = true;
        // The region must be in the page before its text changes.
        setTimeout(next, 30);
      }
    },
    make() {
      if (!element) make();
    },
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

/**
 * Calls `tell` with the seconds that are left, once at each of 60, 30 and 10.
 * @param {(seconds: number) => void} tell
 */
export function countdown(tell) {
  let last = Infinity;
  return (/** @type {number} */ seconds) => {
    const mark = [10, 30, 60].find((step) => seconds <= step && last > step);
    if (mark !== undefined && last !== Infinity) tell(mark);
    last = seconds;
  };
}
