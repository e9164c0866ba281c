// How every page begins: words, live regions, sign-in, and then its view.
import { html, render, useEffect } from './html.js';
import { beginAnnouncing } from './announce.js';
import * as live from './live.js';
import { begin, signIn, who } from './who.js';
import { beginWords } from './words.js';
import { Skeleton } from '../parts/empty.js';
import { SignIn } from '../parts/sign-in.js';
import { Toasts } from '../parts/toast.js';

/**
 * @typedef {object} Page
 * @property {(props: { who: import('./who.js').Who }) => import('./html.js').Child} View shown to a person who is signed in
 * @property {() => string} title of the document, before the view sets its own
 * @property {() => string} [signInSub] the line under "Sign in"
 */

/** @param {Page} page */
export async function beginPage(page) {
  beginAnnouncing();
  await beginWords();
  render(html`<${Gate} page=${page} />`, /** @type {Element} */ (document.getElementById('page')));
  await begin();
}

/** @param {{ page: Page }} props */
function Gate({ page: { View, title, signInSub } }) {
  const state = signIn.value;
  useEffect(() => {
    document.title = title();
  }, [state]);
  useEffect(() => {
    if (state !== 'in') live.close();
  }, [state]);
  return html`
    ${state === 'in' && who.value
      ? html`<${View} who=${who.value} key=${who.value.principal} />`
      : state === 'asking'
        ? html`<main aria-busy="true"><${Skeleton} rows=${4} /></main>`
        : html`<${SignIn} sub=${signInSub?.()} />`}
    <${Toasts} />`;
}
