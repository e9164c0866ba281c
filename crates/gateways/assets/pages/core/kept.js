// What the browser keeps: settings, drafts, messages that wait for the network. Signing out clears what belongs to a person.
const PREFIX = 'tasuki.';

/** @typedef {'localStorage' | 'sessionStorage'} StorageName */

/**
 * A full or forbidden storage loses a draft on reload, and nothing else.
 * @param {StorageName} storage @param {string} key @param {string | null} text @returns {boolean} whether it is stored
 */
function put(storage, key, text) {
  try {
    if (text === null) window[storage].removeItem(key);
    else window[storage].setItem(key, text);
    return true;
  } catch {
    return false;
  }
}

/** @param {StorageName} storage @param {string} key */
function get(storage, key) {
  try {
    return window[storage].getItem(key);
  } catch {
    return null;
  }
}

/** The slot of this tab, or that of the last sign-in in this browser. */
export const slot = {
  read: () => get('sessionStorage', `${PREFIX}slot`) ?? get('localStorage', `${PREFIX}slot`),
  /** @param {string} value */
  write(value) {
    put('sessionStorage', `${PREFIX}slot`, value);
    put('localStorage', `${PREFIX}slot`, value);
  },
  /** Ties this tab to the slot it uses, so that a sign-in in another tab does not change it. */
  adopt() {
    const mine = slot.read();
    if (mine) put('sessionStorage', `${PREFIX}slot`, mine);
  },
  clear() {
    const mine = slot.read();
    put('sessionStorage', `${PREFIX}slot`, null);
    if (get('localStorage', `${PREFIX}slot`) === mine) put('localStorage', `${PREFIX}slot`, null);
  },
};

/** The person of this tab; empty while it is signed out, when nothing is kept. */
let owner = '';

/**
 * Belongs to the person of this tab: drafts, unsent messages. It survives the end of a sign-in, because a person who comes back with a
 * new link has a new slot and the same drafts. Signing out clears it.
 */
export const kept = {
  /** @param {string} person */
  open(person) {
    owner = person;
  },
  /** @param {string} name @param {any} [otherwise] */
  read: (name, otherwise = null) => (owner ? parse(get('localStorage', mine(name)), otherwise) : otherwise),
  /** @param {string} name @param {any} value `null` forgets it @returns {boolean} whether it is stored */
  write: (name, value) => owner !== '' && put('localStorage', mine(name), value === null ? null : JSON.stringify(value)),
  clear() {
    const start = mine('');
    for (const key of Object.keys(localStorage)) if (owner && key.startsWith(start)) put('localStorage', key, null);
    owner = '';
  },
  /** Calls `tell` when another tab changes the name. @param {string} name @param {() => void} tell */
  watch(name, tell) {
    /** @param {StorageEvent} event */
    const hear = (event) => event.key === mine(name) && tell();
    addEventListener('storage', hear);
    return () => removeEventListener('storage', hear);
  },
};

/** Belongs to the browser: sound, language, keys. It has nothing of a person and stays. */
export const settings = {
  /** @param {string} name @param {any} [otherwise] */
  read: (name, otherwise = null) => parse(get('localStorage', `${PREFIX}set.${name}`), otherwise),
  /** @param {string} name @param {any} value */
  write: (name, value) => put('localStorage', `${PREFIX}set.${name}`, value === null ? null : JSON.stringify(value)),
};

/** @param {string} name */
const mine = (name) => `${PREFIX}of.${owner}.${name}`;

/** @param {string | null} text @param {any} otherwise */
function parse(text, otherwise) {
  if (text === null) return otherwise;
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}
