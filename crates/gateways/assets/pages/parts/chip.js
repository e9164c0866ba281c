// Chips: a state in a word with an icon. Deadlines, verdicts, counts and loads.
import { html, classes } from '../core/html.js';
import { Icon } from '../core/icons.js';
import { duration, useNow } from '../core/time.js';
import { t } from '../core/words.js';

/** @param {{ tone?: 'accent' | 'ok' | 'soon' | 'late' | 'outline', icon?: import('../core/icons.js').IconName, children?: any }} props */
export const Chip = ({ tone, icon, children }) => html`
  <span class=${classes('chip', tone && `chip-${tone}`)}>${icon && html`<${Icon} name=${icon} size=${14} />`}<span class="one-line">${children}</span></span>`;

const sentences = /** @type {const} */ ({ answer: 'answer_in', reply: 'reply_in', back: 'back_to_you_in' });

/** From this share of the time on, a deadline is soon. */
const SOON = 0.75;

/**
 * The tone of a deadline: neutral, soon, late.
 * @param {number} since @param {number} until @param {number} now
 * @returns {'calm' | 'soon' | 'late'}
 */
function urgency(since, until, now) {
  if (now >= until) return 'late';
  return now - since >= (until - since) * SOON ? 'soon' : 'calm';
}

/**
 * A deadline, which ticks.
 * @param {{ since: string, until: string | null, kind: 'answer' | 'reply' | 'back', stopped?: boolean, met?: boolean }} props
 */
export function DeadlineChip({ since, until, kind, stopped = false, met = false }) {
  const now = useNow(!stopped && !met && until !== null);
  if (met) return html`<${Chip} tone="ok" icon="check">${t('in_time')}<//>`;
  if (stopped || until === null) return html`<${Chip} tone="outline" icon="pause">${t('clock_stopped')}<//>`;
  const end = Date.parse(until);
  const tone = urgency(Date.parse(since), end, now);
  if (tone === 'late') return html`<${Chip} tone="late" icon="late">${t('late_by', { t: duration(now - end) })}<//>`;
  const icon = kind === 'back' ? 'pause' : 'clock';
  return html`<${Chip} tone=${tone === 'soon' ? 'soon' : undefined} icon=${icon}>${t(sentences[kind], { t: duration(end - now) })}<//>`;
}

const verdicts = /** @type {const} */ ({
  same: ['ok', 'check', 'verdict_same'],
  changed: ['late', 'cross', 'verdict_changed'],
  missing: ['late', 'warn', 'verdict_missing'],
  checking: [undefined, 'clock', 'verdict_checking'],
  unseen: ['outline', undefined, 'verdict_unseen'],
});

/** What the server found of a file. @param {{ verdict: keyof typeof verdicts }} props */
export function VerdictChip({ verdict }) {
  const [tone, icon, words] = verdicts[verdict];
  return html`<${Chip} tone=${tone} icon=${icon}>${t(words)}<//>`;
}

/** A number that asks for attention; `label` says of what. @param {{ n: number, label?: string, quiet?: boolean }} props */
export const Count = ({ n, label, quiet = false }) =>
  n > 0 && html`<span class=${classes('count', quiet && 'count-quiet')}><span aria-hidden=${label ? 'true' : undefined}>${n > 99 ? '99+' : n}</span>${label && html`<span class="unseen">${label}</span>`}</span>`;

/** How many chats a person has, as slanted bars. @param {{ n: number, capacity: number, rings?: number }} props */
export const Loads = ({ n, capacity, rings = 0 }) => html`
  <span class="loads" role="img" aria-label=${t('chats_of', { n, m: capacity })}>
    ${Array.from({ length: Math.min(Math.max(capacity, n), 12) }, (_, at) => html`<i class=${classes('load', at < n ? 'load-full' : at < n + rings && 'load-next')}></i>`)}
  </span>`;
