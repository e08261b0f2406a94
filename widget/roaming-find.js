// The finder of <roaming-ask>: lists the sections that match the typed words. Enter opens the page of a section, the button
// beside it its text in place. It is loaded if there is no endpoint, or if the endpoint fails.

import { el, fill, icon } from "./roaming-ask.js";
import { findMatches } from "./roaming-finder.js";
import { Library } from "./roaming-library.js";
import { copier } from "./roaming-tools.js";

const ENGLISH = {
  results: "{n} section found|{n} sections found",
  best: "Best {shown} of {n} sections",
  meanwhile: "Meanwhile, in these docs",
  more: "Show {n} more",
  none: "Nothing found. Try other words.",
  many: "This site has {n} sections: too many to search here. Use the search of the site.",
  unread: "This cannot be read at the moment.",
  loading: "Loading…",
  page: "Open the page",
  peek: "Read “{title}” here",
  keyMove: "move",
  keyOpen: "open",
  keyRead: "read here",
  keyClose: "close",
  prompt: "Copy a prompt for your own AI",
  promptText:
    "Answer this question from the documentation of {site}: {question}\n\nIts pages are listed at {llms}. Read these " +
    "sections first, and cite the ones you use by their address:\n\n{sections}\n",
};
const MOST_SHOWN = 8;
const MORE = 20; // results that are added at a time
const STYLE = `
.found > p { margin-block: 12px 0 }
.found > .count { margin-block: 0 8px; font-size: .8em; line-height: 1.334; font-weight: 700; color: var(--_muted) }
.hits { list-style: none; padding: 0; border: 1px solid var(--_line); border-radius: 12px; overflow: hidden }
.hit + .hit { border-block-start: 1px solid var(--_line) }
.row-of-hit { position: relative; display: grid; grid-template-columns: minmax(0, 1fr) 32px; gap: 0 8px; align-items: center;
  padding: 12px 8px 12px 16px; transition: background .12s }
.row-of-hit:dir(rtl) { padding: 12px 16px 12px 8px }
.row-of-hit:hover, .row-of-hit:has(a:focus-visible), .current .row-of-hit { background: var(--_soft) }
.row-of-hit::before { content: ""; position: absolute; inset-block: 0; inset-inline-start: 0; width: 2px }
.row-of-hit:has(a:focus-visible)::before, .current .row-of-hit::before { background: var(--_accent) }
.crumb { font-size: .8em; line-height: 1.334; color: var(--_muted) }
.hit h3 { font-size: .9333em; line-height: 1.43; font-weight: 700; white-space: normal }
.hit h3 > a { color: inherit; text-decoration: none; outline: 0 }
.hit h3 > a::after { content: ""; position: absolute; inset: 0 }
.hit .snippet { margin-block-start: 2px; font-size: .8667em; line-height: 1.54; color: var(--_muted); text-wrap: pretty;
  display: -webkit-box; -webkit-line-clamp: 2; -webkit-box-orient: vertical; overflow: clip; overflow-clip-margin: 1px }
.hit mark { background: var(--_mark); color: var(--_fg); text-decoration: none; border-radius: 3px; padding: 1px; margin: 0 -1px }
.hit .peek { position: relative; display: grid; place-items: center; width: 32px; height: 32px; min-height: 32px; padding: 0;
  border: 0; border-radius: var(--_radius); background: none; color: var(--_muted) }
.hit .peek:hover { background: var(--_tint); color: var(--_fg) }
.peek .icon { transition: rotate .12s }
.peek:dir(rtl) .icon { scale: -1 1 }
.peek[aria-expanded=true] .icon { rotate: 90deg }
.peek[aria-expanded=true]:dir(rtl) .icon { rotate: -90deg }
.hit > .open { padding: 12px 16px; border-block-start: 1px solid var(--_line); font-size: .9333em }
.keys { display: none; order: 3; flex: none; gap: 4px 16px; flex-wrap: wrap; padding: 10px 20px;
  border-block-start: 1px solid var(--_line); font-size: .8em; line-height: 1.334; color: var(--_muted) }
.finder .keys { display: flex }
.keys span { display: inline-flex; gap: 4px }
kbd { font: inherit; border: 1px solid color-mix(in srgb, currentColor 36%, transparent); border-radius: 4px; padding: 0 5px }
@media (max-width: 599px), (pointer: coarse) {
  .finder .keys { display: none }
  .row-of-hit { grid-template-columns: minmax(0, 1fr) 44px }
  .hit .peek { width: 44px; height: 44px }
}
@media (forced-colors: active) {
  .current .row-of-hit, .row-of-hit:has(a:focus-visible) { outline: 2px solid Highlight; outline-offset: -2px }
  .hit mark { background: Mark; color: MarkText }
}
`;

/** Shows search results in `into`. `host` is the <roaming-ask> element. */
export class View {
  #library;
  #latest;
  #counting;
  #list; // the shown results
  constructor(host, into) {
    Object.assign(this, { host, into });
    this.#library = new Library(host);
    into.className = "found";
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    host.shadowRoot.adoptedStyleSheets.push(sheet);
    const key = (name, ...keys) => el("span", {}, ...keys.map((each) => el("kbd", {}, each)), this.words[name]);
    const read = host.matches(":dir(rtl)") ? "←" : "→";
    const keys = [key("keyMove", "↑", "↓"), key("keyOpen", "↵"), key("keyRead", read), key("keyClose", "Esc")];
    this.panel.append(el("div", { class: "keys", "aria-hidden": "true" }, ...keys));
    this.panel.addEventListener("keydown", this.#keyed, true);
    for (const kind of ["focusin", "focusout"]) this.panel.addEventListener(kind, () => this.#mark());
  }
  get words() {
    return { ...ENGLISH, ...this.host.settings.words };
  }
  get panel() {
    return this.into.closest("dialog");
  }
  /** Whether the panel is a finder, and not one that waits for its endpoint. */
  get #active() {
    return this.panel.classList.contains("finder");
  }
  /** Show the results for a query, unless a newer query has arrived in between. */
  async list(question) {
    const { words } = this;
    const latest = (this.#latest = {});
    clearTimeout(this.#counting);
    this.#list = undefined;
    if (!question.trim()) return this.into.replaceChildren();
    const note = (text) => el("p", { class: "muted" }, text);
    const library = this.#library;
    const before = library.finder;
    let found;
    try {
      if (!before) this.into.replaceChildren(note(words.loading));
      found = await library.find(question);
    } catch {
      if (latest === this.#latest) this.into.replaceChildren(note(words.unread));
      return;
    }
    const { finder } = library;
    if (finder !== before) this.host._emit("outline", { sections: finder.sections.length, digest: finder.source.digest });
    if (latest !== this.#latest) return;
    if (library.isLarge) return this.into.replaceChildren(note(fill(words.many, { n: finder.count })));
    const asked = await finder.asked(question);
    if (latest !== this.#latest) return;
    const message = found.length ? fill(words.results, { n: found.length }) : words.none;
    this.into.replaceChildren(
      ...(found.length ? this.#results(found, asked) : [note(message)]),
      el("p", { class: "row" }, copier(words.prompt, () => this.#prompt(question.trim(), found), this.host)),
    );
    this.#mark();
    this.#counting = setTimeout(() => this.host._say(message), 600); // after a pause in typing
  }

  // Results

  #results(found, asked) {
    const { words } = this;
    const count = el("p", { class: "count" });
    const list = (this.#list = el("ul", { class: "hits", role: "list" }));
    const showMore = () => {
      const next = list.children.length;
      show(MORE);
      list.children[next].querySelector("a")?.focus(); // the button may be gone
    };
    const more = el("button", { type: "button", onclick: showMore });
    const below = el("p", {}, more);
    const show = (number) => {
      const shown = list.children.length;
      list.append(...found.slice(shown, shown + number).map((section) => this.#hit(section, asked)));
      const left = found.length - list.children.length;
      const values = { n: found.length, shown: list.children.length };
      count.textContent = this.#active ? fill(left ? words.best : words.results, values) : words.meanwhile;
      more.textContent = fill(words.more, { n: Math.min(left, MORE) });
      below.hidden = !left;
    };
    show(MOST_SHOWN);
    return [count, list, below];
  }
  #hit(section, asked) {
    const { words, host } = this;
    const { title, path, opening } = section;
    const url = this.#library.address(section);
    const link = host.settings.anchor({ url }, "");
    link.append(...this.#marked(title, asked));
    const body = el("div", { class: "open answer", hidden: true });
    const label = fill(words.peek, { title });
    const peek = el("button", { type: "button", class: "peek", "aria-expanded": "false", "aria-label": label });
    peek.append(icon("m9 6 6 6-6 6"));
    peek.addEventListener("click", () => {
      body.hidden = !body.hidden;
      peek.ariaExpanded = `${!body.hidden}`;
      if (!body.hidden && !body.firstChild) this.#read(section, url, body);
    });
    const text = el(
      "div", {}, el("p", { class: "crumb" }, path.slice(0, -1).join(" › ")), el("h3", {}, link),
      el("p", { class: "snippet" }, ...this.#marked(opening, asked)),
    );
    return el("li", { class: "hit", part: "trail-item" }, el("div", { class: "row-of-hit" }, text, peek), body);
  }
  /** Return a text with its matches marked. */
  #marked(text, asked) {
    const parts = [];
    let at = 0;
    for (const [start, end] of findMatches(text, asked)) {
      parts.push(text.slice(at, start), el("mark", {}, text.slice(start, end)));
      at = end;
    }
    return [...parts, text.slice(at)].filter(Boolean);
  }
  async #read(section, url, body) {
    const { words, host } = this;
    const { id, title, path } = section;
    host._emit("section", { id, title, path, url, state: "open" });
    body.append(words.loading);
    const markdown = import("./roaming-markdown.js"); // not needed for the results
    const text = await this.#library.text(section).catch(() => words.unread);
    const { Markdown } = await markdown;
    body.replaceChildren();
    new Markdown(body, { link: host.settings.link, words, root: host.shadowRoot, say: (text) => host._say(text) }).push(`${text}\n\n`);
    body.append(el("p", {}, host.settings.anchor({ url }, words.page)));
    host._emit("section", { id, title, path, url, state: "read" });
  }

  // Keys: the arrows move through the links; letters go to the input again

  #keyed = (event) => {
    const { key, target, isComposing, ctrlKey, metaKey, altKey, shiftKey } = event;
    if (!this.#active || !this.#list || isComposing || ctrlKey || metaKey || altKey || shiftKey) return;
    const input = this.panel.querySelector("textarea");
    const links = [...this.#list.querySelectorAll("h3 > a")];
    const at = links.findIndex((link) => link.closest(".hit").contains(target));
    if (target !== input && at < 0) return;
    if (key === "Escape" && input.value) {
      this.host.prefill("");
      input.focus();
      event.preventDefault();
      return event.stopPropagation();
    }
    const peek = this.host.matches(":dir(rtl)") ? "ArrowLeft" : "ArrowRight";
    const inText = target.closest(".open");
    if (key === "ArrowDown") links[Math.min(at + 1, links.length - 1)]?.focus();
    else if (key === "ArrowUp" && target !== input) (links[at - 1] ?? input).focus();
    else if (key === "Enter" && target === input) links[0]?.click();
    else if (key === peek && at >= 0 && !inText) links[at].closest(".hit").querySelector(".peek").click();
    else {
      if (at >= 0 && !inText && /^[^\s]$/u.test(key)) input.focus(); // and the letter is inserted
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  /** Mark the result that Enter in the input opens. */
  #mark() {
    const first = this.#list?.firstElementChild;
    first?.classList.toggle("current", this.#active && this.host.shadowRoot.activeElement?.localName === "textarea");
  }

  #prompt(question, found) {
    const { site } = this.#library.finder.source;
    const sections = found.slice(0, 5).map(({ path, page }) => `- ${path.join(" › ")}: ${site.url}${page.markdown}`);
    const values = { site: site.name, question, llms: `${site.url}llms.txt`, sections: sections.join("\n") };
    return fill(this.words.promptText, values);
  }
}
