// The strip under the head: how the connection stands.
import { html, signal } from '../core/html.js';
import { alert, say } from '../core/announce.js';
import { Icon } from '../core/icons.js';
import * as live from '../core/live.js';
import { t } from '../core/words.js';

/** A short loss is repaired before anybody needs to know of it. */
const QUIET_MS = 1_500;
const BACK_MS = 5_000;

/** @typedef {'none' | 'again' | 'offline' | 'back'} Shown */
/** @type {import('../core/html.js').Signal<Shown>} */
const shown = signal('none');
const n_missed = signal(0);
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let started = false;

/** Watches the connection of the page. @param {() => number | Promise<number>} missed how many messages came in during the break */
export function watchConnection(missed) {
  if (started) return;
  started = true;
  live.state.subscribe((state) => {
    clearTimeout(timer);
    if (state === 'offline') {
      if (shown.peek() !== 'offline') alert(t('live_offline'));
      shown.value = 'offline';
    } else if (state === 'again') {
      timer = setTimeout(() => (shown.value = 'again'), shown.peek() === 'offline' ? 0 : QUIET_MS);
    } else if (state === 'online' && (shown.peek() === 'again' || shown.peek() === 'offline')) {
      // What came in during the break is read first, so that the number is true.
      timer = setTimeout(async () => {
        n_missed.value = await missed();
        if (live.state.peek() !== 'online') return;
        say(n_missed.value ? t('live_back', { n: n_missed.value }) : t('live_back_none'));
        shown.value = 'back';
        timer = setTimeout(() => (shown.value = 'none'), BACK_MS);
      });
    } else if (state === 'idle' || state === 'ended') {
      shown.value = 'none';
    }
  });
}

export function ConnectionStrip() {
  if (shown.value === 'none') return null;
  if (shown.value === 'back') return html`<div class="strip strip-back"><${Icon} name="check" size=${16} />${n_missed.value ? t('back_new', { n: n_missed.value }) : t('back_none')}</div>`;
  if (shown.value === 'offline') return html`<div class="strip strip-offline"><${Icon} name="offline" size=${16} />${t('offline')}</div>`;
  return html`<div class="strip strip-again"><${Icon} name="again" size=${16} />${t('connecting_again')}</div>`;
}
