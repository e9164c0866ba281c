// How it was with a person: five stars that are a group of radio buttons, and a line to add.
import { html, useState } from '../core/html.js';
import { Problem } from '../core/api.js';
import { Icon } from '../core/icons.js';
import { kept } from '../core/kept.js';
import { t } from '../core/words.js';
import { Button } from '../parts/button.js';
import { toast } from '../parts/toast.js';
import { explain, focusMessage, rate } from './actions.js';

const words = /** @type {const} */ (['star_1', 'star_2', 'star_3', 'star_4', 'star_5']);

/** @param {{ chat: import('./model.js').Chat, transfer: string, name: string }} props */
export function RatingCard({ chat, transfer, name }) {
  const now = chat.transfer.value;
  const [score, setScore] = useState(0);
  const [comment, setComment] = useState('');
  const [problem, setProblem] = useState('');
  const [done, setDone] = useState(() => kept.read(`rated.${transfer}`) === true);
  const asks = now?.transfer_id === transfer && now.asks_rating === true;
  if (!asks || done) return null;
  const finish = () => {
    kept.write(`rated.${transfer}`, true);
    setDone(true);
    focusMessage();
  };
  const send = (/** @type {Event} */ event) => {
    event.preventDefault();
    rate(transfer, score, comment.trim()).then(
      () => (finish(), toast(t('rate_thanks'))),
      (error) => (error instanceof Problem && error.code === 'already_exists' ? finish() : setProblem(explain(error))),
    );
  };
  return html`
    <form class="card rating" aria-label=${t('how_was_it', { name })} onSubmit=${send}>
      <h2 dir="auto">${t('how_was_it', { name })}</h2><p>${t('rate_sub')}</p>
      <fieldset class="stars"><legend class="unseen">${t('how_was_it', { name })}</legend>
        ${words.map((word, at) => html`
          <label class=${at < score ? 'star star-on' : 'star'}><input type="radio" name=${`stars-${transfer}`} class="unseen" value=${at + 1} checked=${score === at + 1} onChange=${() => setScore(at + 1)} />
            <${Icon} name="star" size=${24} filled=${at < score} /><span class="unseen">${t('stars', { n: at + 1, word: t(word) })}</span></label>`)}
        <span class="stars-word" aria-hidden="true">${score > 0 && t('stars', { n: score, word: t(words[score - 1]) })}</span>
      </fieldset>
      <input class="input rating-more" dir="auto" value=${comment} onInput=${(/** @type {any} */ event) => setComment(event.target.value)} placeholder=${t('rate_add')} aria-label=${t('rate_add')} maxlength=${1000} />
      ${problem && html`<p class="field-error" role="alert">${problem}</p>`}
      <div class="card-actions"><${Button} kind="primary" large type="submit" disabled=${score === 0}>${t('rate_send')}<//><${Button} kind="quiet" large onClick=${finish}>${t('skip')}<//></div>
    </form>`;
}
