// All components with their states on one page, to be looked at beside the design. It is not part of the product.
import { html, render, useState } from '../core/html.js';
import { Avatar, PresenceWord } from '../parts/avatar.js';
import { ConfirmBanner, SettledBanner } from '../parts/banner.js';
import { Button } from '../parts/button.js';
import { Chip, Count, DeadlineChip, Loads, VerdictChip } from '../parts/chip.js';
import { Composer, LockedComposer } from '../parts/composer.js';
import { HolderDivider } from '../parts/divider.js';
import { DidNotLoad, NothingMatches, Skeleton } from '../parts/empty.js';
import { Switch } from '../parts/field.js';
import { Bubble, Message, MessageState, TypingDots } from '../parts/message.js';
import { RingCard } from '../parts/ring.js';
import { ConversationRow } from '../parts/row.js';
import { toast, Toasts } from '../parts/toast.js';

const now = Date.now();
const at = (/** @type {number} */ seconds) => new Date(now + seconds * 1000).toISOString();
const none = () => {};

const Rows = () => html`
  <div><h2>Conversation row</h2><div class="stack">
    <${ConversationRow} name="Priya Raman" last="Please change the invoice address" since=${at(-100)} chip=${html`<${DeadlineChip} kind="answer" since=${at(-100)} until=${at(80)} />`} place="Billing" onOpen=${none} />
    <${ConversationRow} name="Jonas Weber" last="Does the new tariff start on the 1st?" since=${at(-185)} unread=${2} chip=${html`<${DeadlineChip} kind="reply" since=${at(-185)} until=${at(28)} />`} place="Contracts" onOpen=${none} />
    <${ConversationRow} name="Ana García" chosen typing since=${at(-462)} chip=${html`<${Chip} tone="soon" icon="warn">Confirm<//>`} place="Billing · High" onOpen=${none} />
    <${ConversationRow} name="Marek Nowak" last="Meter reading looks wrong" since=${at(-192)} looks=${['Ivan']} chip=${html`<${DeadlineChip} kind="reply" since=${at(-192)} until=${at(-12)} />`} place="Billing" onOpen=${none} />
    <${ConversationRow} name="Tom Baker" last="Gone to read the meter" since=${at(-250)} chip=${html`<${DeadlineChip} kind="back" since=${at(-250)} until=${at(3500)} />`} onOpen=${none} />
  </div></div>
  <div><h2>Ring</h2><${RingCard} ring=${{ id: 'r', customer: 'Noa Levi', queue: 'Billing', about: 'Billing · waited 0:41 · from Carol', words: 'My bill doubled and I don’t know why.', since: now, until: now + 30_000 }} onAccept=${none} onDecline=${none} keys=${{ accept: ['a'], decline: ['d'] }} /></div>
  <div><h2>Deadline, presence</h2><div class="flow">
    <${DeadlineChip} kind="answer" since=${at(0)} until=${at(158)} /><${DeadlineChip} kind="reply" since=${at(-100)} until=${at(28)} /><${DeadlineChip} kind="reply" since=${at(-100)} until=${at(-12)} />
    <${DeadlineChip} kind="reply" since=${at(0)} until=${null} stopped /><${DeadlineChip} kind="reply" since=${at(0)} until=${at(9)} met /></div>
    <div class="flow"><${PresenceWord} state="available" /><${PresenceWord} state="busy" /><${PresenceWord} state="away" more="12 min" /></div>
    <div class="flow"><${Avatar} name="Ivan Horvat" /> person <${Avatar} name="Bob" kind="bot" /> bot <${Avatar} name="Billing" kind="queue" /> queue <${Avatar} name="Hana" me presence="busy" /><${Count} n=${3} label="3" /><${Loads} n=${2} capacity=${3} rings=${1} /></div></div>`;

function Middle() {
  const [mode, setMode] = useState(/** @type {'reply' | 'note'} */ ('reply'));
  const [text, setText] = useState('');
  const shared = { name: 'Ana', value: text, onInput: setText, onSend: none };
  return html`
    <div><h2>Holder change</h2><div class="stack">
      <${HolderDivider} kind="passed" strong="Bob passed it to Carol" text="13:58" /><${HolderDivider} kind="waiting" strong="Waits in Billing" text="since 14:00" />
      <${HolderDivider} kind="person" strong="You took over from Carol" text="14:01" icon="arrow" slides /><${HolderDivider} kind="hold" strong="On hold" text="14:05 to 14:09" /><${HolderDivider} kind="back" strong="You gave it back to Bob" text="14:10" /></div></div>
    <div><h2>Message</h2><div class="stack">
      ${/** @type {const} */ (['read', 'sending', 'kept', 'failed']).map((state) => html`<${Message} side="right" avatar=${{ name: 'Hana S', kind: 'person', me: true }} said=${html`<${MessageState} state=${state} again=${none} />`}><${Bubble} tone="mine" text="Let me check." /><//>`)}
      <${Message} avatar=${{ name: 'Ana García', kind: 'person' }} said="Ana · 14:00"><${Bubble} tone="customer" text="Then please get me a person." /><//>
      <${Message} side="right" avatar=${{ name: 'Ivan', kind: 'person' }} said="Ivan · 14:01"><${Bubble} tone="note" text="Up to 20 is fine." /><//>
      <${Message} avatar=${{ name: 'Ana García', kind: 'person' }}><${TypingDots} /><//></div></div>
    <div><h2>Composer</h2><div class="stack">
      <${Composer} mode=${mode} onMode=${setMode} placeholder="Write to Ana, or / for saved replies" ...${shared} />
      <${Composer} mode="note" onMode=${none} placeholder="Write a note, @ to mention" ...${shared} /><${LockedComposer} name="Ivan" onNote=${none} /></div></div>`;
}

const Right = () => html`
  <div><h2>Confirmation banner</h2><div class="stack">
    <${ConfirmBanner} agent="Carol" action="refund €38.40" yes="Refund €38.40" no="Don’t refund" onYes=${none} onNo=${none} until=${now + 102_000} otherwise="no" irreversible stacked of=${{ n: 1, m: 3 }} />
    <${ConfirmBanner} agent="Carol" action="refund €38.40" yes="Refund €38.40" no="Don’t refund" onYes=${none} onNo=${none} until=${now + 102_000} />
    <${SettledBanner} good text="Ivan said yes at 14:04. You need not do anything." /><${SettledBanner} text="Nobody answered, so it did not happen." /></div></div>
  <div><h2>Loading, error, nothing found</h2><${Skeleton} rows=${1} /><${DidNotLoad} again=${none} /><${NothingMatches} text="kaya" hint="Search also closed ones?" action=${{ name: 'Search all', run: none }} /></div>
  <div><h2>Files, verdicts</h2><div class="flow">${/** @type {const} */ (['same', 'changed', 'missing', 'checking', 'unseen']).map((verdict) => html`<${VerdictChip} verdict=${verdict} />`)}</div></div>
  <div><h2>Buttons</h2><div class="flow"><${Button} kind="primary">Accept<//><${Button}>Hold<//><${Button} kind="quiet">Skip<//><${Button} kind="danger">End chat<//><${Button} icon="pause" keys=${['h']}>Hold<//><${Button} disabled>Send<//></div>
    <${Switch} label="View" value="a" choices=${[{ value: 'a', name: 'Picture' }, { value: 'b', name: 'Table' }]} onChoose=${none} /></div>
  <${Toasts} />`;

render(html`<section><${Rows} /></section><section><${Middle} /></section><section><${Right} /></section>`, /** @type {Element} */ (document.getElementById('page')));
toast('Resolved. Bob has Ana now.', { action: { name: 'Open', run: none } });
toast('Ivan was faster. He has Marek.', { icon: 'warn', action: { name: 'Look', run: none } });
