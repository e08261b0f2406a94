// The steps of a turn: a tree of the sections while they are opened, then one line with as many beads as sections.

import { adopt, el, fill, icon, namedIcon, plain, svg } from "./roaming-ask.js";
import { TICK } from "./roaming-tools.js";

const ENGLISH = {
  outlineOf: "Reading the outline · {n} section|Reading the outline · {n} sections",
  current: "Reading",
  progress: "{n} of {all} sections",
  opened: "Read {n} section|Read {n} sections",
  whole: "Read all {n} sections",
  counted: "{text}, cited {n}",
  useless: "{text}, none answers this",
  open: "reading",
  read: "read",
  cited: "cited",
  unused: "not used",
  missing: "not there",
  too_big: "too long",
};
const MOST_BEADS = 24;

const STYLE = `
summary { display: flex; align-items: center; gap: 8px; min-height: 32px; margin-inline: -8px; padding: 4px 8px;
  border-radius: 8px; font-size: .867em; line-height: 1.54; color: var(--_muted); list-style: none; cursor: pointer;
  transition: background .12s }
summary::-webkit-details-marker { display: none }
summary:hover { background: var(--_soft) }
.trail b { font-weight: 700; color: var(--_fg) }
.trail .counted { flex: 1 }
.trail time { font-variant-numeric: tabular-nums }
summary > .icon { width: 16px; height: 16px; transition: rotate .12s }
[open] > summary > .icon, [open] > summary > .icon.mirrored:dir(rtl) { rotate: 90deg }
[open] > summary > .icon.mirrored:dir(rtl) { rotate: -90deg }
.ring { flex: none; width: 14px; height: 14px; border: 2px solid var(--_line); border-block-start-color: var(--_accent);
  border-radius: 50%; animation: .9s linear infinite ring }
@keyframes ring { to { transform: rotate(1turn) } }
.beads { flex: none; height: 10px; margin-inline-end: 2px; overflow: visible }
.beads:dir(rtl) { scale: -1 1 }
.beads path { stroke: var(--_edge); stroke-width: 1.5; opacity: .6 }
.beads circle { fill: var(--_bg); stroke: var(--_edge); stroke-width: 1.3; transition: fill .2s, stroke .2s }
.beads .on { fill: var(--_accent); stroke: var(--_accent) }
.rest { margin-inline: -4px 2px; font-size: .846em; font-variant-numeric: tabular-nums }
.tree { list-style: none; padding: 4px 0 0; padding-inline-start: 6px; font-size: .867em; line-height: 1.54 }
.tree ul { list-style: none; padding: 0 }
.tree .group { display: flex; align-items: center; gap: 8px; min-height: 28px; color: var(--_muted); font-size: .923em }
.tree .group .icon { width: 14px; height: 14px }
.tree .row { position: relative; display: flex; align-items: center; gap: 8px; min-height: 32px; font-size: 1em }
.tree ul .row { padding-inline-start: 28px }
.trail[open] .row { animation: .2s var(--_ease) appear }
.tree ul .row::before { content: ""; position: absolute; inset-block: -4px 16px; inset-inline-start: 6px; width: 14px;
  border: 0 solid var(--_line); border-block-end-width: 1px; border-inline-start-width: 1px; border-end-start-radius: 8px }
.tree ul .row + .row::before { inset-block-start: -25px }
.tree .row > :first-child { flex: 1; min-width: 0; padding-block: 6px; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; color: inherit; text-decoration: none; border-radius: 4px }
.tree .row > a:hover { text-decoration: underline }
.tree .state { display: flex; align-items: center; gap: 6px; color: var(--_muted); font-size: .923em; white-space: nowrap }
.tree .state .icon { width: 14px; height: 14px }
.tree [data-state=open] > :first-child { font-weight: 700 }
.tree [data-state=open] > .state { color: var(--_accent) }
.tree [data-state=open] > .state::after { content: ""; width: 6px; height: 6px; border-radius: 50%; background: currentColor;
  animation: 1.4s ease-in-out infinite pulse }
.tree :is([data-state=unused], [data-state=missing], [data-state=too_big]) > :first-child { color: var(--_muted) }
.number { display: inline-block; min-width: 18px; padding: 0 5px; border-radius: 5px; font-size: 11px; line-height: 18px;
  font-weight: 700; font-variant-numeric: tabular-nums; text-align: center; color: var(--_accent); background: var(--_tint) }
@keyframes pulse { 50% { opacity: .3 } }
@keyframes appear { from { opacity: 0; transform: translateY(4px) } }
@media (max-width: 599px) {
  summary, .tree .row { min-height: 44px }
  .tree .row > :first-child { padding-block: 12px }
  .tree ul .row::before { inset-block: -4px 22px }
  .tree ul .row + .row::before { inset-block-start: -31px }
}
@media (prefers-reduced-motion) { .trail *, .trail .state::after { animation: none !important; transition: none !important }
  .ring { border-style: dotted } }
@media (forced-colors: active) { .beads .on { fill: Highlight; stroke: Highlight } .number { border: 1px solid } }
`;

/** The steps of one turn. `host` is the <roaming-ask> element. */
export class Trail {
  #host;
  #words;
  #list = el("ul", { class: "tree" });
  #summary = el("summary");
  #rows = new Map(); // sections with their row, by id
  #groups = new Map(); // lists, by the titles above their sections
  #outline;
  #clock;
  #phase = "outline"; // then "reading", "writing", "done"
  #touched = false; // the reader has opened or closed it
  constructor(host) {
    this.#host = host;
    this.#words = { ...ENGLISH, ...host.settings.words };
    adopt(host.shadowRoot, STYLE);
    this.element = el("details", { class: "trail", part: "trail", open: true }, this.#summary, this.#list);
    this.#summary.addEventListener("click", () => (this.#touched = true));
    this.#draw();
  }
  get count() {
    return this.#rows.size;
  }
  /** Start the clock, with a note if the endpoint is slow. */
  start() {
    const begun = Date.now();
    const time = el("time", { "aria-hidden": "true" });
    const slow = setTimeout(() => this.#phase !== "writing" && this.#draw(this.#words.slow), 5_000);
    const tick = () => {
      if (!this.element.isConnected) return this.#clock.stop(); // the reader has started over
      const seconds = Math.floor((Date.now() - begun) / 1000);
      const rest = String(seconds % 60).padStart(2, "0");
      time.textContent = seconds ? `${Math.floor(seconds / 60)}:${rest}` : "";
    };
    const ticking = setInterval(tick, 1000);
    this.#clock = { time, stop: () => (clearInterval(ticking), clearTimeout(slow)) };
    this.#draw();
  }
  outline({ sections, whole }) {
    this.#outline = { sections, whole };
    this.#draw();
  }
  /** Show a section; `number` is that of its citation. */
  section(section, number) {
    if (this.#phase === "outline") this.#phase = "reading";
    const known = this.#rows.get(section.id);
    const row = known?.row ?? this.#row(section);
    this.#rows.set(section.id, { section, row, number });
    this.#state(section, row, number);
    this.#draw();
  }
  /** Fold the tree before the first words of the answer are shown, so that no word moves. */
  fold() {
    if (this.#phase === "writing") return;
    this.#phase = "writing";
    this.#clock?.stop();
    const focused = this.#host.shadowRoot.activeElement;
    if (!this.#touched && !this.#list.contains(focused)) this.element.open = false;
    this.#draw();
  }
  finish({ sections, answered }) {
    this.fold();
    this.#phase = "done";
    for (const { section, row, number } of this.#rows.values()) this.#state(section, row, number);
    this.element.hidden = !this.count && !this.#outline?.whole;
    this.#draw(undefined, sections, answered);
  }
  /** Open the tree, and move the focus to it. */
  show() {
    this.element.open = true;
    this.#summary.focus();
  }
  #row(section) {
    const titles = section.path.slice(0, -1).join(" › ");
    if (!this.#groups.has(titles)) {
      const list = titles ? el("ul") : this.#list;
      if (titles) this.#list.append(el("li", {}, el("span", { class: "group" }, namedIcon("page"), titles), list));
      this.#groups.set(titles, list);
    }
    const row = el("li", { class: "row", part: "trail-item" }, this.#host.settings.anchor(section, section.title), el("span", { class: "state" }));
    this.#groups.get(titles).append(row);
    return row;
  }
  #state(section, row, number) {
    const words = this.#words;
    const read = ["read", "cited"].includes(section.state);
    const state = number ? "cited" : !read ? section.state : this.#phase === "done" ? "unused" : "read";
    const label = words[Object.hasOwn(ENGLISH, state) ? state : "read"];
    const tokens = this.#host.hasAttribute("show-usage") && section.tokens && ` · ${fill(words.tokens, { n: section.tokens })}`;
    row.dataset.state = state;
    row.lastChild.replaceChildren(plain(`${label}${tokens || ""}`));
    if (number) row.lastChild.append(el("span", { class: "number" }, number));
    else if (state === "read") row.lastChild.append(icon(TICK));
  }
  /** Show the line above the tree. */
  #draw(note, total, answered = true) {
    const words = this.#words;
    const { sections: all = 0, whole } = this.#outline ?? {};
    const counted = (text) => el("span", { class: "counted" }, text);
    if (this.#phase === "outline" || this.#phase === "reading") {
      const { time } = this.#clock ?? {};
      const label = note ?? (this.#phase === "reading" ? words.current : all ? fill(words.outlineOf, { n: all }) : words.outline);
      const progress = this.#phase === "reading" && all > 0 ? fill(words.progress, { n: this.count, all }) : "\u00a0";
      // The same elements stay, so that a focused line keeps the focus and the ring does not restart.
      const ring = this.#summary.querySelector(".ring") ?? el("span", { class: "ring", role: "presentation" });
      return this.#summary.replaceChildren(ring, el("b", {}, label), counted(progress), ...(time ? [time] : []));
    }
    const cited = [...this.#rows.values()].filter(({ number }) => number).length;
    const text = whole ? fill(words.whole, { n: all }) : fill(words.opened, { n: total ?? this.count });
    const shown = this.#phase !== "done" || (!cited && answered) ? text : fill(cited ? words.counted : words.useless, { text, n: cited });
    const drawn = this.count ? [this.#beads()] : [];
    if (this.count > MOST_BEADS) drawn.push(el("span", { class: "rest", "aria-hidden": "true" }, `+${this.count - MOST_BEADS}`));
    this.#summary.replaceChildren(...drawn, counted(shown), namedIcon("chev"));
  }
  /** Draw one bead for each section, filled where it is cited; of many, those that are cited and the first others. */
  #beads() {
    const rows = [...this.#rows.values()];
    let others = MOST_BEADS - rows.filter(({ number }) => number).length;
    const shown = rows.filter(({ number }) => number || others-- > 0).slice(0, MOST_BEADS);
    const step = Math.min(12, 120 / shown.length);
    const width = step * (shown.length - 1) + 10;
    const circles = shown.map(({ number }, at) =>
      svg("circle", { cx: 5 + at * step, cy: 5, r: Math.min(3.5, step * 0.36), ...(number && { class: "on" }) }),
    );
    const line = svg("path", { d: `M5 5h${width - 10}` });
    return svg("svg", { class: "beads", width, height: 10, viewBox: `0 0 ${width} 10`, "aria-hidden": true }, line, ...circles);
  }
}
