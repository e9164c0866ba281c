// Nothing here, loading, error. A skeleton comes after 300 ms; no spinner lies over content.
import { html, useEffect, useState } from '../core/html.js';
import { Icon } from '../core/icons.js';
import { t } from '../core/words.js';
import { Button } from './button.js';

const SKELETON_AFTER_MS = 300;

/** @param {{ rows?: number }} props */
export function Skeleton({ rows = 3 }) {
  const [shown, show] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => show(true), SKELETON_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  if (!shown) return null;
  return html`
    <div class="bones" role="img" aria-label=${t('loading')}>
      ${Array.from({ length: rows }, () => html`<div class="bones-row"><div class="bone bone-round"></div><div><div class="bone bone-short"></div><div class="bone bone-long"></div></div></div>`)}
    </div>`;
}

/** @param {{ why?: string, again?: () => void }} props */
export const DidNotLoad = ({ why, again }) => html`
  <div class="stand-in" role="group">
    <${Icon} name="warn" /><div><h3>${t('did_not_load')}</h3><p>${why ?? t('server_silent')}</p></div>
    ${again && html`<${Button} onClick=${again}>${t('try_again')}<//>`}
  </div>`;

/** @param {{ text: string, hint?: string, action?: { name: string, run: () => void } }} props */
export const NothingMatches = ({ text, hint, action }) => html`
  <div class="stand-in">
    <${Icon} name="search" /><div><h3 dir="auto">${t('nothing_matches', { text })}</h3>${hint && html`<p>${hint}</p>`}</div>
    ${action && html`<${Button} onClick=${action.run}>${action.name}<//>`}
  </div>`;

/** @param {{ title: string, hint?: string, children?: import('../core/html.js').Child }} props */
export const Empty = ({ title, hint, children }) => html`<div class="empty"><h2>${title}</h2>${hint && html`<p>${hint}</p>`}${children}</div>`;
