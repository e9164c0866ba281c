// Labelled fields and small switches.
import { html, useId } from '../core/html.js';
import { Icon } from '../core/icons.js';

/**
 * A label, its field and what is wrong with it.
 * @param {{ label: string, value: string, onInput: (value: string) => void, hint?: string, error?: string, type?: string, lines?: boolean,
 *   required?: boolean, autocomplete?: string, maxlength?: number, min?: string, placeholder?: string }} props
 */
export function LabelledField({ label, value, onInput, hint, error, type = 'text', lines = false, ...rest }) {
  const id = useId();
  const about = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ') || undefined;
  const shared = { id, class: 'input', dir: 'auto', value, 'aria-describedby': about, 'aria-invalid': error ? 'true' : undefined, ...rest };
  const hear = (/** @type {any} */ event) => onInput(event.target.value);
  return html`
    <div class="field">
      <label for=${id}>${label}</label>
      ${lines ? html`<textarea ...${shared} rows="2" onInput=${hear}></textarea>` : html`<input ...${shared} type=${type} onInput=${hear} />`}
      ${hint && html`<p class="meta" id=${`${id}-hint`}>${hint}</p>`}
      ${error && html`<p class="field-error" id=${`${id}-error`} role="alert"><${Icon} name="warn" size=${16} />${error}</p>`}
    </div>`;
}

/**
 * One of a few: Picture or Table, All or Late.
 * @template {string} T
 * @param {{ label: string, value: T, choices: { value: T, name: import('../core/html.js').Child }[], onChoose: (value: T) => void }} props
 */
export function Switch({ label, value, choices, onChoose }) {
  const move = (/** @type {KeyboardEvent & { currentTarget: HTMLElement }} */ event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = choices.findIndex((one) => one.value === value);
    const next = (at + step + choices.length) % choices.length;
    const group = event.currentTarget;
    onChoose(choices[next].value);
    requestAnimationFrame(() => /** @type {HTMLElement} */ (group.children[next])?.focus());
  };
  return html`
    <div class="switch" role="radiogroup" aria-label=${label} onKeyDown=${move}>
      ${choices.map((one) => html`<button type="button" role="radio" aria-checked=${one.value === value} tabindex=${one.value === value ? 0 : -1} onClick=${() => onChoose(one.value)}>${one.name}</button>`)}
    </div>`;
}
