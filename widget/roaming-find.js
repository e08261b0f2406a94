// The finder of <roaming-ask>: lists where to start, then the sections that match the typed words. Enter opens the page of
// a section, the button beside it its text in place.

import { SEND_KEY, adopt, el, fill, icon, namedIcon } from "./roaming-ask.js";
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
  topPages: "Start here",
  prompt: "Copy a prompt for your own AI",
  promptText:
    "Answer this question from the documentation of {site}: {question}\n\nIts pages are listed at {llms}. Read these " +
    "sections first, and cite the ones you use by their address:\n\n{sections}\n",
};
const MOST_BEFORE_QUESTION = 5;
const MOST_SHOWN = 8;
const MORE = 20; // results that are added at a time
const MOST_PASSAGES = 3; // results that show more than their opening
const PAUSE = 600; // milliseconds in typing
const STYLE = `
.found > p { margin-block: 12px 0 }
.found > .count { margin-block: 0 8px; font-size: .8em; line-height: 1.334; font-weight: 700; color: var(--_muted) }
.hits { list-style: none; padding: 0; border: 1px solid var(--_line); border-radius: 12px; overflow: hidden }
.hit + .hit { border-block-start: 1px solid var(--_line) }
.row-of-hit { position: relative; display: grid; grid-template-columns: minmax(0, 1fr) 32px; gap: 0 8px; align-items: center;
  padding-block: 12px; padding-inline: 16px 8px; transition: background .12s }
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
.asks { margin-block-end: 16px }
.asks .pick { background: var(--_tint); font-size: .9333em; font-weight: 700 }
.asks .pick:is(:hover, :focus-visible, .current > *) { background: var(--_mark) }
.asks .icon { color: var(--_accent) }
.asks kbd { font-size: .8571em; font-weight: 400 }
.passage { padding: 4px 16px 12px; font-size: .8667em }
.hit:has(.peek[aria-expanded=true]) .passage { display: none }
.hit > .open { padding: 12px 16px; border-block-start: 1px solid var(--_line); font-size: .9333em }
.keys { display: none; order: 3; flex: none; gap: 4px 16px; flex-wrap: wrap; padding: 10px 20px;
  border-block-start: 1px solid var(--_line); font-size: .8em; line-height: 1.334; color: var(--_muted) }
.finder .keys { display: flex }
.keys span { display: inline-flex; gap: 4px }
kbd { font: inherit; border: 1px solid color-mix(in srgb, currentColor 36%, transparent); border-radius: 4px; padding: 0 5px }
@media (max-width: 599px), (pointer: coarse) {
  .finder .keys, .asks kbd { display: none }
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
  #shown; // what the list was made for
  #counting;
  #best; // the link that Enter in the input opens
  #entered; // the list for which Enter was pressed too early
  constructor(host, into) {
    Object.assign(this, { host, into });
    this.#library = new Library(host);
    into.className = "found";
    adopt(host.shadowRoot, STYLE);
    const key = (name, ...keys) => el("span", {}, ...keys.map((each) => el("kbd", {}, each)), this.words[name]);
    const read = host.matches(":dir(rtl)") ? "←" : "→";
    const keys = [key("keyMove", "↑", "↓"), key("keyOpen", "↵"), key("keyRead", read), ...(this.host.isInline ? [] : [key("keyClose", "Esc")])];
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
  /** Show the results for a query, or where to start if the panel is a finder or `starts`; `asks` adds a row that asks it. A newer list wins. */
  async list(question, asks, starts) {
    const { words, host, into } = this;
    const library = this.#library;
    const { path, manifest } = host.settings.page;
    const isEmpty = !question.trim();
    const key = JSON.stringify([question, asks, starts, this.#active, manifest, isEmpty && path]);
    if (key === this.#shown) return; // new elements would lose the focus
    this.#shown = key;
    clearTimeout(this.#counting);
    this.#best = undefined;
    const row = asks && !isEmpty ? [this.#asking(question.trim())] : [];
    const show = (...parts) => {
      if (key !== this.#shown) return false;
      if (into.contains(host.shadowRoot.activeElement)) this.panel.querySelector("textarea").focus();
      into.replaceChildren(...row, ...parts);
    };
    const note = (text) => show(isEmpty ? "" : el("p", { class: "muted" }, text));
    if (isEmpty && !this.#active && !starts) return show();
    const before = library.finder;
    let found = [];
    let asked;
    try {
      if (!before) note(words.loading);
      if (isEmpty) await library.open();
      else found = await library.find(question);
      if (library.isLarge) return note(fill(words.many, { n: library.finder.count }));
      if (found.length) asked = await library.finder.asked(question);
    } catch {
      note(words.unread);
      if (key === this.#shown) this.#shown = undefined; // try again
      return;
    }
    const { sections, source } = library.finder;
    if (library.finder !== before && !starts) host._emit("outline", { sections: sections.length, digest: source.digest });
    if (isEmpty) return show(...this.#start(path));
    const message = found.length ? fill(words.results, { n: found.length }) : words.none;
    const prompt = el("p", { class: "row" }, copier(words.prompt, () => this.#prompt(question.trim(), found), host));
    const results = found.length ? this.#results(found, asked) : [el("p", { class: "muted" }, message)];
    if (show(...results, prompt) === false) return;
    this.#best = into.querySelector(".hits a") ?? into.querySelector(".pick");
    this.#mark();
    if (this.#entered === key) this.#best?.click();
    const pause = () => {
      host._say(message);
      this.#showPassages(found, asked).catch(() => {}); // the openings remain
    };
    this.#counting = setTimeout(pause, PAUSE);
    const isNew = await library.understand(question).catch(() => false); // words alone remain
    if (!isNew || key !== this.#shown || into.contains(host.shadowRoot.activeElement)) return;
    this.#shown = undefined;
    await this.list(question, asks, starts);
  }

  /** Return a row that asks the query. */
  #asking(query) {
    const ask = () => this.host.ask(query);
    const text = el("span", {}, fill(this.words.askRow, { query }));
    const row = el("button", { class: "pick", onclick: ask }, namedIcon("ask"), text, el("kbd", {}, SEND_KEY));
    return el("ul", { class: "rows asks" }, el("li", {}, row));
  }
  /** Return the sections of a page, or a page of each part of the site. */
  #start(path) {
    const { words } = this;
    const { sections } = this.#library.finder;
    const pages = sections.filter(({ page, parent }) => page.path && !parent);
    const parts = new Map();
    for (const one of pages) parts.set(one.page.above[0] ?? one, parts.get(one.page.above[0]) ?? one);
    const most = this.#active ? MOST_SHOWN : MOST_BEFORE_QUESTION;
    const top = [...new Set([...parts.values(), ...pages])].slice(0, most);
    const inPage = sections.filter(({ page, parent }) => path && page.path === path && parent && !parent.parent);
    const shown = inPage.length ? inPage.slice(0, most) : pages.filter((one) => top.includes(one));
    if (!shown.length) return [];
    const label = el("h3", { class: "label" }, inPage.length ? words.onThisPage : words.topPages);
    return [label, el("ul", { class: "hits start", role: "list" }, ...shown.map((one) => this.#hit(one)))];
  }

  // Results

  #results(found, asked) {
    const { words } = this;
    const count = el("p", { class: "count" });
    const list = el("ul", { class: "hits", role: "list" });
    const showMore = () => {
      const next = list.children.length;
      show(MORE);
      list.children[next].querySelector("a")?.focus(); // the button may be gone
    };
    const more = el("button", { onclick: showMore });
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
  /** Return a section's row; without a query only its title. */
  #hit(section, asked) {
    const { words, host } = this;
    const { title, path, opening, parent } = section;
    const url = this.#library.address(section);
    const link = host.settings.anchor({ url }, "");
    link.append(...(asked ? this.#marked(title, asked) : [title]));
    const body = el("div", { class: "open answer", hidden: true });
    const label = fill(words.peek, { title });
    const peek = el("button", { class: "peek", "aria-expanded": "false", "aria-label": label });
    peek.append(icon("m9 6 6 6-6 6"));
    peek.addEventListener("click", () => {
      body.hidden = !body.hidden;
      peek.ariaExpanded = `${!body.hidden}`;
      if (!body.hidden && !body.firstChild) this.#read(section, url, body);
    });
    const crumb = (asked || !parent) && el("p", { class: "crumb" }, path.slice(0, -1).join(" › "));
    const snippet = asked && el("p", { class: "snippet" }, ...this.#marked(opening, asked));
    const text = el("div", {}, crumb, el("h3", {}, link), snippet);
    return el("li", { class: "hit", part: "trail-item" }, el("div", { class: "row-of-hit" }, text, peek), body);
  }
  /** Show the passages of the best results instead of their openings. */
  async #showPassages(found, asked) {
    const { into, words, host } = this;
    const key = this.#shown;
    const best = found.slice(0, MOST_PASSAGES);
    const [{ Markdown }, { cut }, ...texts] = await Promise.all([
      import("./roaming-markdown.js"),
      import("./roaming-excerpt.js"),
      ...best.map((section) => this.#library.text(section, { subsections: false }).catch(() => "")),
    ]);
    const rows = into.querySelectorAll(".hits > li");
    for (const [at, text] of texts.entries()) {
      if (key !== this.#shown || !rows[at] || !text.trim()) continue;
      const passage = el("div", { class: "passage answer" });
      rows[at].querySelector(".row-of-hit").after(passage);
      rows[at].querySelector(".snippet").hidden = true;
      new Markdown(passage, { link: host.settings.link, words, root: host.shadowRoot, say: (said) => host._say(said) }).push(`${text}\n\n`);
      cut(passage, asked, at);
    }
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
    if (!this.#active || isComposing || ctrlKey || metaKey || altKey || shiftKey) return;
    const input = this.panel.querySelector("textarea");
    const links = [...this.into.querySelectorAll(".pick, .row-of-hit h3 > a")];
    const at = links.findIndex((link) => link.closest("li").contains(target));
    if (target !== input && at < 0) return;
    if (key === "Escape" && input.value && !this.host.settings.replacesSearch) {
      this.host.prefill("");
      input.focus();
      event.preventDefault();
      return event.stopPropagation();
    }
    const peek = this.host.matches(":dir(rtl)") ? "ArrowLeft" : "ArrowRight";
    const inText = target.closest(".open, .passage");
    if (key === "ArrowDown") links[Math.min(at + 1, links.length - 1)]?.focus();
    else if (key === "ArrowUp" && target !== input) (links[at - 1] ?? input).focus();
    else if (key === "Enter" && target === input) this.#best ? this.#best.click() : (this.#entered = this.#shown);
    else if (key === peek && at >= 0 && !inText) links[at].closest("li").querySelector(".peek")?.click();
    else {
      if (at >= 0 && !inText && /^[^\s]$/u.test(key)) input.focus(); // and the letter is inserted
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  /** Mark the result that Enter in the input opens. */
  #mark() {
    const row = this.#best?.closest("li");
    row?.classList.toggle("current", this.#active && this.host.shadowRoot.activeElement?.localName === "textarea");
  }

  #prompt(question, found) {
    const { site } = this.#library.finder.source;
    const root = new URL(site.url, this.host.settings.page.base).href; // the site may not know its URL
    const sections = found.slice(0, 5).map(({ path, page }) => `- ${path.join(" › ")}: ${root}${page.markdown}`);
    const values = { site: site.name, question, llms: `${root}llms.txt`, sections: sections.join("\n") };
    return fill(this.words.promptText, values);
  }
}
