// The sign-in card: a token, or the hint to open the link. The sash beside it passes on.
import { html, useState } from '../core/html.js';
import { Icon, Mark } from '../core/icons.js';
import { ask, enterWithToken, linkProblem, signIn } from '../core/who.js';
import { t } from '../core/words.js';
import { Button } from './button.js';
import { DidNotLoad } from './empty.js';

/** @param {{ sub?: string }} props */
export function SignIn({ sub = t('sign_in_sub') }) {
  return html`
    <div class="sign-in">
      <aside class="sign-in-side">
        <svg viewBox="0 0 720 900" preserveAspectRatio="xMidYMid slice" aria-hidden="true" focusable="false">
          <path class="sash-band" d="M-20 642H182L357 312a56 56 0 0 1 49-30H760v96H430L262 704a64 64 0 0 1-57 34H-20z" />
          <path class="sash-thread" d="M-20 655H189L366 318a44 44 0 0 1 38-23H760M-20 724H205a50 50 0 0 0 44-27L421 365H760" />
        </svg>
        <p>${t('motto_1')}<br />${t('motto_2')}</p>
      </aside>
      <main class="sign-in-main">
        <div class="sign-in-card">
          <div class="sign-in-brand"><${Mark} />${t('tasuki')}</div>
          <h1>${t('sign_in')}</h1>
          <p>${sub}</p>
          ${signIn.value === 'unreachable' ? html`<${DidNotLoad} again=${ask} />` : html`<${TokenForm} />`}
          <div class="sign-in-link"><${Icon} name="link" size=${16} /><p>
            ${linkProblem.value ? html`<b class="strong">${t('link_used')}</b>` : html`<b class="strong">${t('link_hint_title')}</b> ${t('link_hint')}`}</p></div>
        </div>
        <p class="second sign-in-foot">${t('sign_in_trouble')}</p>
      </main>
    </div>`;
}

function TokenForm() {
  const [token, setToken] = useState('');
  const [wrong, setWrong] = useState('');
  const [busy, setBusy] = useState(false);
  const enter = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy || !token.trim()) return;
    setBusy(true);
    const problem = await enterWithToken(token.trim());
    setBusy(false);
    if (!problem) return;
    setWrong(problem.mayPass ? t(problem.status === 429 ? 'too_fast' : 'server_silent') : t('token_wrong'));
    document.getElementById('token')?.focus();
  };
  return html`
    <form onSubmit=${enter} class="field">
      <label for="token">${t('token')}</label>
      <div class="sign-in-field">
        <div class="key"><${Icon} name="key" size=${16} /><input class="input" id="token" type="password" autocomplete="off" spellcheck=${false} placeholder="tasuki_…" value=${token}
          onInput=${(/** @type {any} */ event) => (setToken(event.target.value), setWrong(''))} aria-invalid=${wrong ? 'true' : undefined} aria-describedby="token-about" /></div>
        <${Button} type="submit" large disabled=${busy}>${t('sign_in')}<//>
      </div>
      <div id="token-about">
        <div role="alert">${wrong && html`<p class="field-error"><${Icon} name="warn" size=${16} />${wrong}</p>`}</div>
        ${!wrong && html`<p class="second">${t('token_hint')}</p>`}</div>
    </form>`;
}
