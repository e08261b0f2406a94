// The page around <roaming-ask>: room beside it for a docked panel, the button in the header of Material, stored data.

import { adopt } from "./elements.js";

// The page beside a docked panel. Themes have sidebars of a fixed width, which leave little room between them.
const DOCKED = ":root[data-roaming-docked]";
const PAGE_STYLE = `
@media screen and (min-width: 1100px) {
  ${DOCKED} body { padding-inline-end: var(--roaming-inset) }
  ${DOCKED} body > :is(.md-header, .navbar) { margin-inline-end: calc(-1 * var(--roaming-inset)) }
  ${DOCKED} .wy-grid-for-nav { width: calc(100% - var(--roaming-inset)) }
  ${DOCKED} :is(.VPDoc .aside, .toc-drawer) { display: none }
  ${DOCKED} :is(div.document, .page > .main, .main > .content) { min-width: 0; max-width: 100% }
}
@media screen and (min-width: 1100px) and (max-width: 1499px) {
  ${DOCKED} .md-sidebar { width: 190px }
}
`;
const HEADERS = "[data-md-component=header], .navbar.fixed-top, header:not(main *)";
const BLOCKS = ":is(main, [role=main], article) :is(h1, h2, h3, h4, p, li, pre, td):not(nav *)";

// The button that a build adds to the header of Material. It gets its size before the page is first drawn.
const HEADER_BUTTON = ".md-header [data-roaming-open][aria-expanded]";
const HEADER_STYLE = `
${HEADER_BUTTON} { z-index: 0; display: flex; flex: none; align-items: center; gap: 8px; height: 36px;
  margin-inline-start: 8px; padding-inline: 12px 8px; border-radius: 4px; font: 700 14px/20px var(--md-text-font-family);
  box-shadow: inset 0 0 0 1px color-mix(in srgb, currentColor 36%, transparent); transition: background .12s }
${HEADER_BUTTON}:is(:hover, [aria-expanded=true]) { opacity: 1; background: color-mix(in srgb, currentColor 12%, transparent) }
${HEADER_BUTTON} kbd { display: inline-block; min-width: 38px; padding: 0 5px; border-radius: 4px; text-align: center;
  font: 12px/16px var(--md-text-font-family); box-shadow: inset 0 0 0 1px color-mix(in srgb, currentColor 36%, transparent); white-space: nowrap }
${HEADER_BUTTON}[hidden] { display: none }
@media (max-width: 59.98em) {
  ${HEADER_BUTTON} { width: 44px; height: 44px; justify-content: center; margin: 0; padding: 0; box-shadow: none }
  ${HEADER_BUTTON} svg { width: 22px; height: 22px }
  ${HEADER_BUTTON} :is(b, kbd) { display: none }
}
@media (forced-colors: active) { ${HEADER_BUTTON} { border: 1px solid } }
`;
export const headerButtons = () => document.querySelectorAll(HEADER_BUTTON);
adopt(document, HEADER_STYLE); // the header may not be parsed yet

/** Return where the page's own header ends that stays in sight. */
export function headerEnd() {
  const ends = [...document.querySelectorAll(HEADERS)].map((one) => {
    const { top, bottom, width } = one.getBoundingClientRect();
    return /sticky|fixed/.test(getComputedStyle(one).position) && top < 200 && width > innerWidth / 2 ? bottom : 0;
  });
  return Math.max(0, ...ends);
}
/** Move the page aside by the width of the panel. The first visible paragraph stays where it is. */
export function moveAside(width) {
  const root = document.documentElement;
  const inset = `${width}px`;
  if ((root.style.getPropertyValue("--roaming-inset") || "0px") === inset) return;
  adopt(document, PAGE_STYLE);
  const end = headerEnd();
  const top = (one) => one.getBoundingClientRect().top;
  const first = scrollY && [...document.querySelectorAll(BLOCKS)].find((one) => top(one) >= end);
  const before = first && top(first);
  root.toggleAttribute("data-roaming-docked", width > 0);
  root.style.setProperty("--roaming-inset", inset);
  if (first) scrollBy({ top: top(first) - before, behavior: "instant" });
}

/** Breakpoints: the panel is docked beside the page, or covers the screen. */
export const WIDE = matchMedia("(min-width: 1100px)");
export const PHONE = matchMedia("(max-width: 599.98px)");

const PANEL = `roaming:${new URL("../", import.meta.url)}:panel`; // key of the panel's state

/** What the next page needs: the state of the panel (open, width, inset, draft, place, everywhere, parked, finding) and the turns. */
export class Memory {
  #store;
  #key; // of the turns
  constructor(name, base) {
    this.#store = openStore(name);
    this.#key = `roaming:${base}`;
    this.state = recall(this.#store, PANEL) ?? {};
  }
  remember(state) {
    this.#save(PANEL, Object.assign(this.state, state));
  }
  get turns() {
    return recall(this.#store, this.#key);
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
// A page is moved aside before it is shown, if possible: this file is loaded early, the element is parsed last.
const previous = recall(openStore("session"), PANEL) ?? recall(openStore("local"), PANEL);
if (previous?.open && WIDE.matches) moveAside(previous.inset ?? 0);
