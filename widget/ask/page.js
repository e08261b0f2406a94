// The page around <roaming-ask>: room beside it for a docked panel, the button in the header of Material, stored data.

import { adopt } from "./elements.js";

// The page beside a docked panel. Headers and banners of known themes keep the whole width; others shrink with the page, and
// the panel is beside them. The table of contents leaves its place where the article would become narrow.
const DOCKED = ":root[data-roaming-docked]";
const NARROW = ":root[data-roaming-docked=narrow]";
const PAGE_STYLE = `
@media screen and (min-width: 1100px) {
  ${DOCKED} body { padding-inline-end: var(--roaming-inset) }
  ${DOCKED} :is(body > :is(.md-header, .navbar, [data-md-component=announce], .bd-header, .bd-header-announcement),
    #__docusaurus > :is(.navbar, .theme-announcement-bar)) { width: auto; margin-inline-end: calc(-1 * var(--roaming-inset)) }
  ${DOCKED} .wy-grid-for-nav { width: calc(100% - var(--roaming-inset)) }
  ${DOCKED} .wy-nav-content { padding-inline: 1.618em }
  ${DOCKED} .md-sidebar { width: 190px }
  ${DOCKED} .VPDoc .content { padding-inline: 0 }
  ${DOCKED} .nav-wide-wrapper { display: none }
  ${DOCKED} .nav-wrapper { display: block }
  ${DOCKED} :is(div.document, .page > .main, .main > .content, .VPDoc .content) { box-sizing: border-box; min-width: 0; max-width: 100% }
  ${NARROW} :is(.md-sidebar--secondary, .VPDoc .aside, .toc-drawer, .bd-sidebar-secondary, .right-sidebar-container,
    .col:has(> .theme-doc-toc-desktop)) { display: none }
  ${NARROW} .right-sidebar-container ~ .main-pane { width: 100% }
  ${NARROW} .col[class*=docItemCol] { max-width: 100% !important }
}
`;
const HEADERS = "[data-md-component=header], .navbar, .menu-bar, .VPLocalNav, header:not(main *)";
const NARROWEST = 560; // pixels of the article beside a docked panel
const LINES = ":is(main, [role=main], article) :is(h1, h2, h3, h4, p, li):not(nav *, table *)";
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

/** Return where the page's own header ends that stays in sight, if it reaches the side of the panel. */
export function headerEnd() {
  const ends = [...document.querySelectorAll(HEADERS)].map((one) => {
    const { top, bottom, left, right, width } = one.getBoundingClientRect();
    const { position, direction } = getComputedStyle(one);
    const reaches = direction === "rtl" ? left < 32 : right > innerWidth - 32;
    return /sticky|fixed/.test(position) && top < 200 && width > innerWidth / 2 && reaches ? bottom : 0;
  });
  return Math.max(0, ...ends);
}
/** Move the page aside by the width of the panel; `level` is that of the style. The first visible paragraph stays where it is. */
export function moveAside(width, level = "") {
  const root = document.documentElement;
  const inset = `${width}px`;
  const now = root.style.getPropertyValue("--roaming-inset") || "0px";
  if (now === inset && (root.dataset.roamingDocked ?? "") === level) return;
  adopt(document, PAGE_STYLE);
  const end = headerEnd();
  const top = (one) => one.getBoundingClientRect().top;
  const first = scrollY && [...document.querySelectorAll(BLOCKS)].find((one) => top(one) >= end);
  const before = first && top(first);
  if (width) root.dataset.roamingDocked = level;
  else delete root.dataset.roamingDocked;
  root.style.setProperty("--roaming-inset", inset);
  if (first) scrollBy({ top: top(first) - before, behavior: "instant" });
}
/** Whether the article is wide enough beside a panel, and nothing covers or cuts its first lines in sight. */
export function isReadable(panel) {
  const blocks = [...document.querySelectorAll(LINES)].filter((one) => one.checkVisibility());
  if (!blocks.some((one) => one.matches("p, li") && one.clientWidth >= NARROWEST)) return false;
  const end = headerEnd();
  const { left: start, right: side } = panel.getBoundingClientRect();
  const range = document.createRange();
  const firstLine = (one) => {
    const isCut = getComputedStyle(one).overflowX !== "visible"; // by the theme, with an ellipsis
    range.selectNodeContents(one);
    return [...(isCut ? one : range).getClientRects()].find(({ width }) => width > 8);
  };
  const lines = blocks.map((one) => [one, firstLine(one)]).filter(([, line]) => line?.top >= end && line.bottom < innerHeight);
  if (lines.some(([, { left, right }]) => left < side && right > start)) return false; // a hit test would count as a layout shift
  return lines.slice(0, lines.length / 2).every(([one, { left, right, top, height }]) =>
    [left + 1, right - 1].every((x) => {
      const hit = document.elementFromPoint(x, top + height / 2);
      return one.contains(hit) || hit?.closest("dialog, [role=dialog]");
    }),
  );
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

/** What the next page needs: the state of the panel (open, width, inset, level, room, draft, place, everywhere, parked, finding) and the turns. */
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
// A page is moved aside before it is shown, if possible: this file is loaded early, the element is parsed last.
const previous = recall(openStore("session"), PANEL) ?? recall(openStore("local"), PANEL);
if (previous?.open && WIDE.matches) moveAside(previous.inset ?? 0, previous.level);
