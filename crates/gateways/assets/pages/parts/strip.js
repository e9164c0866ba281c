// The strip under the head: the state of the connection.
import { html, signal } from '../core/html.js';
import { alert, say } from '../core/announce.js';
import { Icon } from '../core/icons.js';
import * as live from '../core/live.js';
import { t } from '../core/words.js';

/** A loss that is shorter than this is not shown. */
const QUIET_MS = 1_500;
const BACK_MS = 5_000;

/** @typedef {'none' | 'again' | 'offline' | 'back'} Shown */
/** @type {import('../core/html.js').Signal<Shown>} */
const shown = signal('none');
const n_missed = signal(0);
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/**
 * Watches the connection of the page until the returned function is called.
 * @param {() => number | Promise<number>} missed how many messages came in during the break
 * @returns {() => void}
 */
export function watchConnection(missed) {
  let broken = false;
  const stop = live.state.subscribe((state) => {
    clearTimeout(timer);
    broken ||= state === 'offline' || state === 'again';
    if (state === 'offline') {
      if (shown.peek() !== 'offline') alert(t('live_offline'));
      shown.value = 'offline';
    } else if (state === 'again') {
      timer = setTimeout(() => (shown.value = 'again'), shown.peek() === 'offline' ? 0 : QUIET_MS);
    } else if (state === 'online' && broken) {
      // After the page has begun to read what came in during the break.
      timer = setTimeout(back);
    }
  });

  async function back() {
    n_missed.value = await missed();
    if (live.state.peek() !== 'online' || !broken) return;
    broken = false;
    const quiet = shown.peek() === 'none';
    if (n_missed.value) say(t('live_back', { n: n_missed.value }));
    else if (!quiet) say(t('live_back_none'));
    if (quiet) return;
    shown.value = 'back';
    timer = setTimeout(() => (shown.value = 'none'), BACK_MS);
  }

  return () => {
    stop();
    clearTimeout(timer);
    broken = false;
    shown.value = 'none';
  };
}

export function ConnectionStrip() {
  if (shown.value === 'none') return null;
  if (shown.value === 'back') return html`<div class="strip strip-back"><${Icon} name="check" size=${16} />${n_missed.value ? t('back_new', { n: n_missed.value }) : t('back_none')}</div>`;
  if (shown.value === 'offline') return html`<div class="strip strip-offline"><${Icon} name="offline" size=${16} />${t('offline')}</div>`;
  return html`<div class="strip strip-again"><${Icon} name="again" size=${16} />${t('connecting_again')}</div>`;
}
