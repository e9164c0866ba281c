// The banner of a confirmation. Its buttons are verbs of the action, never Yes or OK.
import { html, classes } from '../core/html.js';
import { useCountdown } from '../core/announce.js';
import { Icon } from '../core/icons.js';
import { duration, useNow } from '../core/time.js';
import { t } from '../core/words.js';
import { Button } from './button.js';

/**
 * `until` is absent without a deadline. "No answer means no" stands only where `otherwise` is `no`.
 * @param {{ agent: string, action: string, yes: string, no: string, onYes: () => void, onNo: () => void, until?: number,
 *   otherwise?: 'no' | 'yes' | 'nothing', irreversible?: boolean, consequence?: string, busy?: boolean, of?: { n: number, m: number },
 *   stacked?: boolean, children?: import('../core/html.js').Child }} props
 */
export function ConfirmBanner({ agent, action, yes, no, onYes, onNo, until, otherwise = 'nothing', irreversible = false, consequence, busy = false, of, stacked = false, children }) {
  const now = useNow(until !== undefined);
  const left = until === undefined ? undefined : Math.max(0, until - now);
  useCountdown(left);
  return html`
    <section class=${classes('banner', stacked && 'banner-stacked')} aria-label=${t('asks_action', { agent, action })}>
      <${Icon} name="warn" />
      <div class="banner-words">
        <h3 tabindex="-1" dir="auto" data-prompt>${t('asks_action', { agent, action })}</h3>
        ${consequence && html`<p dir="auto" class="theirs">${consequence}</p>`}
        <p>${deadline(left, otherwise, irreversible)}</p>
        ${children}
      </div>
      <div class="banner-actions">
        ${of && of.m > 1 && html`<span class="meta">${t('of_n', of)}</span>`}
        <${Button} onClick=${onNo} disabled=${busy}>${no}<//>
        <${Button} kind="primary" onClick=${onYes} disabled=${busy}>${yes}<//>
      </div>
    </section>`;
}

/** @param {number | undefined} left @param {'no' | 'yes' | 'nothing'} otherwise @param {boolean} irreversible */
function deadline(left, otherwise, irreversible) {
  if (left === undefined) return irreversible ? t('irreversible') : '';
  const values = { t: duration(left) };
  if (otherwise === 'no') return t(irreversible ? 'irreversible_no' : 'no_answer_no', values);
  return `${irreversible ? `${t('irreversible')} ` : ''}${t('answer_within', values)}`;
}

/** A confirmation that is over: a colleague answered, or the time ran out. @param {{ text: string, good?: boolean, onClose?: () => void }} props */
export const SettledBanner = ({ text, good = false, onClose }) => html`
  <div class=${classes('banner', good ? 'banner-ok' : 'banner-over')}>
    <${Icon} name=${good ? 'check' : 'clock'} /><p class="banner-words" dir="auto">${text}</p>
    ${onClose && html`<${Button} kind="quiet" onClick=${onClose}>${t('close')}<//>`}
  </div>`;
