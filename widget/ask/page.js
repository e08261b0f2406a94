// The page around <roaming-ask>: the button in the header of Material, and what is stored for the next page.

/** The button that a build adds to the header of Material. */
export const headerButtons = () => document.querySelectorAll(".md-header [data-roaming-open][aria-expanded]");

/** Give back the place of a panel, also what roaming-early.js shows there. */
export function leavePage() {
  const { dataset, style } = document.documentElement;
  delete dataset.roamingFrame;
  delete dataset.roamingDocked;
  style.setProperty("--roaming-inset", "0px");
}
/** Show an element above everything else. */
export function raise(element) {
  element.popover = "manual";
  element.togglePopover?.(true);
}

/** Breakpoints: the panel is docked beside the page, or covers the screen. */
export const WIDE = matchMedia("(min-width: 1100px)");
export const PHONE = matchMedia("(max-width: 599.98px)");

const PANEL = `roaming:${new URL("../", import.meta.url)}:panel`; // key of the panel's state

/** What the next page needs: the state of the panel (open, width, frame, begin, inset, level, style, room, expanded, draft,
 * place, everywhere, parked, finding) and the turns. */
export class Memory {
  #store;
  #key; // of the turns
  constructor(name, base) {
    this.#store = openStore(name);
    this.isShared = name === "local";
    this.#key = `roaming:${base}`;
    this.state = recall(this.#store, PANEL) ?? {};
  }
  remember(state) {
    this.#save(PANEL, Object.assign(this.state, state));
  }
  get turns() {
    return recall(this.#store, this.#key);
  }
  /** When the conversation was last cleared, in any tab. */
  get cleared() {
    return recall(this.#store, `${this.#key}:cleared`) ?? -1;
  }
  set cleared(time) {
    this.#save(`${this.#key}:cleared`, time);
  }
  /** Store the turns; return whether there was enough space. */
  keepTurns(turns) {
    return this.#save(this.#key, turns);
  }
  #save(key, value) {
    try {
      this.#store?.setItem(key, JSON.stringify(value));
      return true;
    } catch {} // full or forbidden
  }
}
/** Return a storage; nothing in a sandbox, which forbids it. */
function openStore(name) {
  try {
    return { session: () => sessionStorage, local: () => localStorage }[name]?.();
  } catch {}
}
function recall(store, key) {
  try {
    return JSON.parse(store.getItem(key));
  } catch {} // no storage, or written by another version
}
