// What rings for a person: at the top of the list, and on phones a strip over the chat.
import { html, useEffect, useRef } from '../core/html.js';
import { alert } from '../core/announce.js';
import { Icon } from '../core/icons.js';
import { useNow } from '../core/time.js';
import { t } from '../core/words.js';
import { Avatar } from './avatar.js';
import { Button } from './button.js';
import { Theirs } from './text.js';

/**
 * @typedef {object} Ring
 * @property {string} id
 * @property {string} customer
 * @property {string} queue
 * @property {string} about such as "Billing · waited 0:41 · from Carol"
 * @property {string} [words] the last words of the customer
 * @property {number} since in ms
 * @property {number} [until] in ms, if the ring ends by itself
 */

/** @param {{ ring: Ring, onAccept: () => void, onDecline: () => void, busy?: boolean, strip?: boolean, keys?: { accept: string[], decline: string[] } }} props */
export function RingCard({ ring, onAccept, onDecline, busy = false, strip = false, keys }) {
  const now = useNow();
  const left = ring.until === undefined ? undefined : Math.max(0, Math.ceil((ring.until - now) / 1000));
  useRingWords(ring, left);
  const seconds = left !== undefined && html`<span>${t('seconds_left', { s: left })}</span>`;
  const actions = html`
    <${Button} kind="primary" onClick=${onAccept} disabled=${busy} keys=${keys?.accept}>${t('accept')}<//>
    <${Button} onClick=${onDecline} disabled=${busy} keys=${keys?.decline}>${t('decline')}<//>`;
  if (strip)
    return html`<section class="ring-strip" aria-label=${t('ring_title')}><${Icon} name="bell" /><${Theirs} class="strong grow" text=${ring.customer} />${seconds}${actions}</section>`;
  return html`
    <section class="ring" aria-label=${t('ring_title')}>
      <div class="ring-head"><${Icon} name="bell" size=${16} /><span>${t('ring_title')}</span>${seconds}</div>
      ${left !== undefined && html`<div class="ring-bar" aria-hidden="true"><i style=${{ width: `${share(ring, now)}%` }}></i></div>`}
      <div class="ring-who"><${Avatar} name=${ring.customer} /><div class="grow"><${Theirs} class="strong" text=${ring.customer} /><p class="second" dir="auto">${ring.about}</p></div></div>
      ${ring.words && html`<p dir="auto" class="theirs">“${ring.words}”</p>`}
      <div class="ring-actions">${actions}</div>
    </section>`;
}

/** @param {Ring} ring @param {number} now */
const share = (ring, now) => (ring.until === undefined ? 0 : Math.max(0, Math.min(100, ((ring.until - now) / (ring.until - ring.since)) * 100)));

/** Says it once, and again at ten seconds. @param {Ring} ring @param {number | undefined} left */
function useRingWords(ring, left) {
  const said = useRef('');
  useEffect(() => {
    const mark = left !== undefined && left <= 10 ? `${ring.id}:10` : ring.id;
    if (said.current === mark || (left === 0)) return;
    said.current = mark;
    alert(t('live_ring', { name: ring.customer, queue: ring.queue, s: left ?? 0 }), `ring.${ring.id}`);
  }, [ring.id, left !== undefined && left <= 10]);
}
