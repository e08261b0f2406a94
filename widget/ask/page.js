// The page around <roaming-ask>: room beside it for a docked panel, the button in the header of Material, stored data. The styles
// of both are in roaming-early.js, which also keeps the place of an open panel until it is drawn.

const HEADERS = "[data-md-component=header], .navbar, .menu-bar, .VPLocalNav, header:not(main *)";
const NARROWEST = 560; // pixels of the article beside a docked panel
const LINES = ":is(main, [role=main], article) :is(h1, h2, h3, h4, p, li):not(nav *, table *)";
const BLOCKS = ":is(main, [role=main], article) :is(h1, h2, h3, h4, p, li, pre, td):not(nav *)";

/** The button that a build adds to the header of Material. */
export const headerButtons = () => document.querySelectorAll(".md-header [data-roaming-open][aria-expanded]");
/** Resolves when the page has the styles of roaming-early.js, which a page without it gets late. */
export const early = document.documentElement.dataset.roaming ?? import(new URL("roaming-early.js", import.meta.url));

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
/** Remove what roaming-early.js shows in the place of a panel. */
export function removeFrame() {
  delete document.documentElement.dataset.roamingFrame;
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

/** What the next page needs: the state of the panel (open, width, size, top, inset, level, room, draft, place,
 * everywhere, parked, finding) and the turns. */
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
