// The card of a citation: breadcrumb, title and passage of its section. It is loaded when a citation is first hovered.

import { adopt, el } from "./roaming-ask.js";

const ENGLISH = {
  onAnotherPage: "On another page",
  goThere: "go to the passage",
};
const DELAY = 150; // ms
const LINGER = 250; // ms in which the pointer may move from the citation to the card
const STYLE = `
.card { position: fixed; inset: auto; width: min(22em, 100vw - 24px); margin: 0; padding: 14px 16px; border: 0;
  border-radius: 12px; color: var(--_fg); background: var(--_raise); box-shadow: var(--_shadow);
  animation: .12s var(--_ease) appear }
.card > * { display: block }
.card .crumb { font-size: .8em; line-height: 1.34; color: var(--_muted) }
.card b { margin-block: 2px 6px; font-size: .933em; line-height: 1.43; font-weight: 700 }
.card .passage { font-size: .867em; line-height: 1.54; color: var(--_muted); text-wrap: pretty; max-height: 9.3em;
  overflow: hidden }
.card .passage mark { color: var(--_fg); background: var(--_mark); border-radius: 3px; text-decoration: none }
.card .where { display: flex; justify-content: space-between; gap: 12px; margin: 10px -16px -14px; padding: 8px 16px;
  border-block-start: 1px solid var(--_line); font-size: .8em; line-height: 1.34; color: var(--_muted) }
.card .where > :last-child { color: var(--_accent) }
.card kbd { margin-inline-end: 4px; padding: 0 5px; border: 1px solid var(--_edge); border-radius: 4px }
@media (max-width: 599px) { .card kbd { display: none } }
@media (prefers-reduced-motion) { .card { animation: none } }
@media (forced-colors: active) { .card { border: 1px solid } .card mark { background: Mark; color: MarkText } }
`;
let current; // { link, card, close } of the card that is shown or about to be shown

/** Show the card of a citation until the pointer or the focus leaves it, or Esc is pressed. */
export function showCard(host, link, section, passage) {
  if (!section || !HTMLElement.prototype.showPopover || current?.link === link) return;
  current?.close();
  adopt(host.shadowRoot, STYLE);
  const card = draw(host, link, section, passage);
  const abort = new AbortController();
  const { signal } = abort;
  const opening = setTimeout(() => {
    if (!link.isConnected) return close();
    host.shadowRoot.querySelector("dialog").append(card);
    card.showPopover();
    place(card, link);
    link.setAttribute("aria-describedby", card.id);
  }, DELAY);
  let closing;
  const close = () => {
    clearTimeout(opening);
    clearTimeout(closing);
    abort.abort();
    card.remove();
    link.removeAttribute("aria-describedby");
    if (current?.link === link) current = undefined;
  };
  const leave = () => (closing = setTimeout(close, LINGER));
  for (const hovered of [link, card]) {
    hovered.addEventListener("pointerleave", leave, { signal });
    hovered.addEventListener("pointerenter", () => clearTimeout(closing), { signal });
  }
  link.addEventListener("focusout", close, { signal });
  link.addEventListener("click", close, { signal });
  host.shadowRoot.querySelector(".log").addEventListener("scroll", close, { signal, passive: true });
  const escape = (event) => {
    if (event.key !== "Escape") return;
    event.stopImmediatePropagation();
    event.preventDefault();
    close();
  };
  addEventListener("keydown", escape, { signal, capture: true });
  current = { link, close };
}

function draw(host, link, { title, path, snippet, url }, passage) {
  const words = { ...ENGLISH, ...host.settings.words };
  const here = new URL(link.href).pathname === location.pathname;
  const shown = passage ? el("mark", {}, passage) : snippet;
  return el(
    "div", { class: "card", id: "card", role: "tooltip", popover: "manual", part: "card" },
    el("span", { class: "crumb" }, path.slice(0, -1).join(" › ")),
    el("b", {}, title),
    shown && el("p", { class: "passage", dir: "auto" }, shown),
    el("div", { class: "where" }, el("span", {}, here ? words.onThisPage : words.onAnotherPage), el("span", {}, el("kbd", {}, "↵"), words.goThere)),
  );
}

/** Place the card below its citation, or above it where there is no room. */
function place(card, link) {
  const at = link.getBoundingClientRect();
  const { width, height } = card.getBoundingClientRect();
  const panel = card.parentNode.getBoundingClientRect();
  const left = Math.min(Math.max(at.left - width / 3, panel.left + 8), panel.right - width - 8);
  const below = at.bottom + 8;
  const top = below + height < innerHeight - 8 ? below : Math.max(8, at.top - 8 - height);
  card.style.setProperty("left", `${left}px`);
  card.style.setProperty("top", `${top}px`);
}
