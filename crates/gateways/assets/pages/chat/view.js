// The page: head, who answers now, the transcript, and the composer.
import { html, useEffect, useMemo } from '../core/html.js';
import { t } from '../core/words.js';
import { DidNotLoad, Empty, Skeleton } from '../parts/empty.js';
import { ConnectionStrip, watchConnection } from '../parts/strip.js';
import { ChatComposer } from './composer.js';
import { Head, WhoAnswers } from './head.js';
import { Log } from './log.js';
import { Chat } from './model.js';

/** @param {{ who: import('../core/who.js').Who }} props */
export function ChatPage({ who }) {
  if (!who.conversation_id)
    return html`<div class="chat"><${Head} who=${who} /><main><${Empty} title=${t('no_chat_here')} hint=${t('no_chat_hint')} /></main></div>`;
  return html`<${OpenChat} who=${who} id=${who.conversation_id} />`;
}

/** @param {{ who: import('../core/who.js').Who, id: string }} props */
function OpenChat({ who, id }) {
  const chat = useMemo(() => new Chat(id), [id]);
  useEffect(() => chat.close, [chat]);
  useEffect(() => watchConnection(chat.missed), [chat]);
  const holder = chat.holder.value;
  useEffect(() => {
    if (holder && holder.kind !== 'queue') document.title = t('chat_of', { name: holder.name });
    else if (holder) document.title = t('waiting_head');
  }, [holder?.kind, holder?.name]);
  const state = chat.state.value;
  return html`
    <div class="chat">
      <a class="skip" href=${`#${holder?.kind === 'closed' ? 'messages' : 'message'}`} onClick=${toTarget}>${t('skip_to_chat')}</a>
      <${Head} who=${who} chat=${chat} />
      <${WhoAnswers} chat=${chat} />
      <div class="chat-strip"><${ConnectionStrip} /></div>
      <main class="chat-main" aria-label=${t('chat_title')}>
        ${state === 'ready' ? html`<${Log} chat=${chat} />`
          : html`<div class="log"><div class="column">${state === 'failed' ? html`<${DidNotLoad} again=${chat.again} />` : html`<${Skeleton} />`}</div></div>`}
        <${ChatComposer} chat=${chat} ready=${state === 'ready'} />
      </main>
    </div>`;
}

/** A link would change the URL, which belongs to sign-in links. @param {Event} event */
function toTarget(event) {
  event.preventDefault();
  const { hash } = /** @type {HTMLAnchorElement} */ (event.currentTarget);
  document.getElementById(hash.slice(1))?.focus();
}
