// What the browser keeps: settings, drafts, messages that wait for the network. Signing out clears what belongs to a sign-in.
const PREFIX = 'tasuki.';

/** @param {Storage} storage @param {string} key @param {string | null} text */
function put(storage, key, text) {
  try {
    if (text === null) storage.removeItem(key);
    else storage.setItem(key, text);
  } catch {
    // A full or forbidden storage loses a draft on reload, and nothing else.
  }
}

/** @param {Storage} storage @param {string} key */
function get(storage, key) {
  try {
    return storage.getItem(key);
  } catch {
    return null;
  }
}

/** The slot of this tab, or that of the last sign-in in this browser. */
export const slot = {
  read: () => get(sessionStorage, `${PREFIX}slot`) ?? get(localStorage, `${PREFIX}slot`),
  /** @param {string} value */
  write(value) {
    put(sessionStorage, `${PREFIX}slot`, value);
    put(localStorage, `${PREFIX}slot`, value);
  },
  /** Ties this tab to the slot it uses, whoever signs in in another tab. */
  adopt() {
    const mine = slot.read();
    if (mine) put(sessionStorage, `${PREFIX}slot`, mine);
  },
  clear() {
    const mine = slot.read();
    put(sessionStorage, `${PREFIX}slot`, null);
    if (get(localStorage, `${PREFIX}slot`) === mine) put(localStorage, `${PREFIX}slot`, null);
  },
};

/** Belongs to the sign-in of this tab: drafts, waiting messages, where one was. Cleared at sign-out. */
export const kept = {
  /** @param {string} name @param {any} [otherwise] */
  read(name, otherwise = null) {
    return parse(get(localStorage, mine(name)), otherwise);
  },
  /** @param {string} name @param {any} value `null` forgets it */
  write(name, value) {
    put(localStorage, mine(name), value === null ? null : JSON.stringify(value));
  },
  clear() {
    const start = mine('');
    for (const key of Object.keys(localStorage)) if (key.startsWith(start)) put(localStorage, key, null);
  },
  /** Tells another tab's changes of one name. @param {string} name @param {() => void} tell */
  watch(name, tell) {
    /** @param {StorageEvent} event */
    const hear = (event) => event.key === mine(name) && tell();
    addEventListener('storage', hear);
    return () => removeEventListener('storage', hear);
  },
};

/** Belongs to the browser: sound, language, keys. It has nothing of a sign-in and stays. */
export const settings = {
  /** @param {string} name @param {any} [otherwise] */
  read: (name, otherwise = null) => parse(get(localStorage, `${PREFIX}set.${name}`), otherwise),
  /** @param {string} name @param {any} value */
  write: (name, value) => put(localStorage, `${PREFIX}set.${name}`, value === null ? null : JSON.stringify(value)),
};

/** @param {string} name */
const mine = (name) => `${PREFIX}of.${slot.read() ?? 'nobody'}.${name}`;

/** @param {string | null} text @param {any} otherwise */
function parse(text, otherwise) {
  if (text === null) return otherwise;
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}
