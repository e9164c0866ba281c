// Short tones that can be turned off. They accompany a sentence and never replace one.
import { signal } from './html.js';
import { settings } from './kept.js';

/** Whether sound is on; kept in this browser. */
export const sound = signal(settings.read('sound', true));

/** @param {boolean} on */
export function setSound(on) {
  sound.value = on;
  settings.write('sound', on);
}

/** Frequencies in Hz and lengths in s. @type {Record<string, [number, number][]>} */
const tunes = {
  message: [[660, 0.09]],
  person: [[523, 0.1], [784, 0.16]],
  ring: [[784, 0.18], [659, 0.18], [784, 0.18], [659, 0.28]],
  question: [[587, 0.12], [587, 0.12], [880, 0.2]],
};

/** @type {AudioContext | undefined} */
let context;

/** Plays a tune if sound is on, and the browser allows it: it does after the first click or key. @param {keyof typeof tunes} name */
export function play(name) {
  if (!sound.value || !navigator.userActivation?.hasBeenActive) return;
  context ??= new AudioContext();
  let at = context.currentTime;
  for (const [frequency, length] of tunes[name]) {
    const tone = context.createOscillator();
    const volume = context.createGain();
    tone.frequency.value = frequency;
    tone.type = 'sine';
    volume.gain.setValueAtTime(0.0001, at);
    volume.gain.exponentialRampToValueAtTime(0.12, at + 0.015);
    volume.gain.exponentialRampToValueAtTime(0.0001, at + length);
    tone.connect(volume).connect(context.destination);
    tone.start(at);
    tone.stop(at + length);
    at += length;
  }
}
