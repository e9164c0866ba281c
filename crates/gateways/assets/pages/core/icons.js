// Our own icons: a 20 grid, strokes of 1.5 with round ends. They say nothing to a screen reader; words stand beside them.
import { html } from './html.js';

const drawings = {
  arrow: 'M4 10h12M11 5l5 5-5 5',
  back: 'M7 5L3.5 8.5 7 12M4 8.5h7.5a4 4 0 0 1 0 8H9',
  swap: 'M4 7h11.5M12.5 4l3 3-3 3M16 13H4.5M7.5 10l-3 3 3 3',
  check: 'M4.5 10.5l3.5 3.5 7.5-8',
  cross: 'M5.5 5.5l9 9M14.5 5.5l-9 9',
  clock: 'M10 3a7 7 0 1 1 0 14a7 7 0 0 1 0-14zM10 6v4.2l2.5 1.5',
  person: 'M10 4a3 3 0 1 1 0 6a3 3 0 0 1 0-6zM4.5 16.5c.4-3 2.7-4.5 5.5-4.5s5.1 1.5 5.5 4.5',
  people: 'M7.5 5a2.7 2.7 0 1 1 0 5.4a2.7 2.7 0 0 1 0-5.4zM2.5 16c.3-2.6 2.3-3.7 5-3.7s4.7 1.1 5 3.7M12.7 5.2a2.6 2.6 0 0 1 0 5M14.5 12.6c1.7.4 2.8 1.5 3 3.4',
  bot: 'M5.5 6.5h9a1.5 1.5 0 0 1 1.5 1.5v6a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 4 14V8a1.5 1.5 0 0 1 1.5-1.5zM10 6.5v-3M8 10v1.5M12 10v1.5M1.8 10v2.5M18.2 10v2.5',
  queue: 'M4 6h12M4 10h12M4 14h7',
  pause: 'M7.5 5v10M12.5 5v10',
  play: 'M7 5l8 5-8 5z',
  warn: 'M10 3.5l7 12.5H3zM10 8.5v3.5M10 14v.1',
  late: 'M10 3.5l7 12.5H3zM10 8.5v3.5M10 14v.1',
  question: 'M10 3a7 7 0 1 1 0 14a7 7 0 0 1 0-14zM8 8.2a2 2 0 1 1 2.8 1.9c-.6.3-.8.7-.8 1.4M10 13.7v.1',
  info: 'M10 3a7 7 0 1 1 0 14a7 7 0 0 1 0-14zM10 9.5v4M10 6.6v.1',
  lock: 'M6 9h8a1 1 0 0 1 1 1v5.5a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1V10a1 1 0 0 1 1-1zM7 9V6.5a3 3 0 0 1 6 0V9',
  chat: 'M4.5 4.5h11a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1H9l-3.5 3v-3h-1a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1z',
  chats: 'M4 4h8a1 1 0 0 1 1 1v4a1 1 0 0 1-1 1H7.5L5 12.5V10H4a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1zM15.5 7.5h.5a1 1 0 0 1 1 1v4.5a1 1 0 0 1-1 1h-1v2.5L12.5 14H9.5a1 1 0 0 1-1-1',
  globe: 'M10 3a7 7 0 1 1 0 14a7 7 0 0 1 0-14zM3 10h14M10 3c2.6 2.2 2.6 11.8 0 14M10 3c-2.6 2.2-2.6 11.8 0 14',
  eye: 'M2.5 10c1.8-3.3 4.3-5 7.5-5s5.7 1.7 7.5 5c-1.8 3.3-4.3 5-7.5 5s-5.7-1.7-7.5-5zM10 7.7a2.3 2.3 0 1 1 0 4.6a2.3 2.3 0 0 1 0-4.6z',
  ear: 'M6 8.5a4 4 0 1 1 8 0c0 2.5-2.5 3-2.5 5.5a2.2 2.2 0 0 1-4 1.2M8.2 9a1.8 1.8 0 1 1 3.6 0c0 1.2-1.3 1.4-1.3 2.5',
  clip: 'M16 9l-6.6 6.6a3.6 3.6 0 0 1-5.1-5.1l6.8-6.8a2.4 2.4 0 0 1 3.4 3.4l-6.7 6.7a1.2 1.2 0 0 1-1.7-1.7l6-6',
  smile: 'M10 3a7 7 0 1 1 0 14a7 7 0 0 1 0-14zM7.5 8v.6M12.5 8v.6M7 11.8c1.6 2.1 4.4 2.1 6 0',
  file: 'M6 3h5.5L15 6.5V16a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM11.5 3v3.5H15',
  image: 'M4.5 4h11a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1h-11a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1zM3.5 13.5l3.5-3.5 3.5 3.5 2-2 4 4M13 7.5v.1',
  sound: 'M3.5 8h2.5L10 4.5v11L6 12H3.5zM12.5 8a3 3 0 0 1 0 4M14.7 5.8a6 6 0 0 1 0 8.4',
  silent: 'M3.5 8h2.5L10 4.5v11L6 12H3.5zM13 8l4 4M17 8l-4 4',
  bell: 'M5.5 14V9a4.5 4.5 0 0 1 9 0v5M4 14h12M8.5 16.5a1.6 1.6 0 0 0 3 0',
  phone: 'M5 3.5h2.5L9 7 7.3 8.3a9 9 0 0 0 4.4 4.4L13 11l3.5 1.5V15a1.5 1.5 0 0 1-1.6 1.5C9 16.2 3.8 11 3.5 5.1A1.5 1.5 0 0 1 5 3.5z',
  more: 'M5 10h.1M10 10h.1M15 10h.1',
  offline: 'M3 3l14 14M5.5 11.5a6 6 0 0 1 2.6-1.8M11.7 9.6a6 6 0 0 1 2.8 1.9M3 8.5a10 10 0 0 1 3-2.1M9 5.5c3-.3 6 .9 8 3M8 14a3 3 0 0 1 4 0',
  again: 'M15.5 7A6 6 0 1 0 16 10M16 4v3.5h-3.5',
  search: 'M9 4a5 5 0 1 1 0 10a5 5 0 0 1 0-10zM12.7 12.7L16.5 16.5',
  star: 'M10 3l2.1 4.5 4.9.6-3.6 3.4.9 4.9L10 14l-4.3 2.4.9-4.9L3 8.1l4.9-.6z',
  key: 'M6.5 7.5a2.7 2.7 0 1 1 0 5.4a2.7 2.7 0 0 1 0-5.4zM9.2 10.2H17v2.3M14 10.2v2',
  link: 'M8.5 11.5l3-3M7.5 9L5.3 11.2a2.5 2.5 0 0 0 3.5 3.5L11 12.5M12.5 11l2.2-2.2a2.5 2.5 0 0 0-3.5-3.5L9 7.5',
  down: 'M5.5 8l4.5 4.5L14.5 8',
  right: 'M8 5.5l4.5 4.5L8 14.5',
  left: 'M12 5.5L7.5 10l4.5 4.5',
  filter: 'M4 6h12M6.5 10h7M8.5 14h3',
  inbox: 'M3.5 11l2-6h9l2 6v4a1 1 0 0 1-1 1h-11a1 1 0 0 1-1-1zM3.5 11H7l1 2h4l1-2h3.5',
  board: 'M4.5 4h3.5v12H4.5zM12 4h3.5v5H12zM12 12h3.5v4H12z',
  ledger: 'M5.5 3.5h9v13h-9zM8 7h4M8 10h4M8 13h2.5',
  chart: 'M4 16.5h12M6 16v-4.5M10 16V6M14 16V9',
  graph: 'M5 4.5v11M15 5.5v2a2 2 0 0 1-2 2H5M15 3v2.5',
  flag: 'M5.5 17V4h9l-2 3 2 3h-9',
  pulse: 'M2.5 10H6l2-4.5 3.5 9 2-4.5h4',
  shield: 'M10 3l5.5 2v4.5c0 3.5-2.2 5.9-5.5 7.5-3.3-1.6-5.5-4-5.5-7.5V5z',
  bookmark: 'M6 3.5h8v13L10 13.5l-4 3z',
  slash: 'M8 16l4-12',
  plus: 'M10 4.5v11M4.5 10h11',
  minus: 'M4.5 10h11',
  out: 'M8 4H5a1 1 0 0 0-1 1v10a1 1 0 0 0 1 1h3M8.5 10H16M13 7l3 3-3 3',
  download: 'M10 3.5v9M6.5 9l3.5 3.5L13.5 9M4 16.5h12',
  enter: 'M15.5 5v4a1.5 1.5 0 0 1-1.5 1.5H4.5M8 7l-3.5 3.5L8 14',
  dot: 'M10 10h.1',
  half: 'M10 3a7 7 0 1 1 0 14a7 7 0 0 1 0-14zM10 3v14',
  open: 'M8 5H5v10h10v-3M11 4h5v5M16 4l-7 7',
};

/** @typedef {keyof typeof drawings} IconName */

/** Icons that are filled in some states, and those with thick dots. */
const thick = new Set(['more', 'dot']);

/**
 * @param {{ name: IconName, size?: number, filled?: boolean, class?: string }} props
 */
export const Icon = ({ name, size = 20, filled = false, class: more = '' }) => html`
  <svg class=${`icon ${more}`} width=${size} height=${size} viewBox="0 0 20 20" aria-hidden="true" focusable="false"
    fill=${filled ? 'currentColor' : 'none'} stroke="currentColor" stroke-width=${thick.has(name) ? 2.4 : 1.5}
    stroke-linecap="round" stroke-linejoin="round"><path d=${drawings[name]} /></svg>`;

/** The mark of Tasuki: a sash that passes on. @param {{ size?: number }} props */
export const Mark = ({ size = 32 }) => html`
  <svg class="mark" width=${size} height=${size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <rect class="mark-ground" width="32" height="32" rx="8" />
    <path class="mark-sash" d="M4.5 24v-5.5h6.2L17 8h10.5v5.5h-6.8L14.3 24z" />
  </svg>`;
