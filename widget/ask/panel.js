// The panel of <roaming-ask>: a dialog with the conversation and the input, its place beside the page, and what it shows
// before there is an answer.

import { el, fill, namedIcon, plain, tool } from "./elements.js";
import { PHONE, WIDE, headerEnd, isReadable, moveAside, raise } from "./page.js";

const NARROWEST = 320; // pixels
const WIDEST = 640;
const MOST_SUGGESTIONS = 4;
const NEAR_END = 48; // pixels
const TEXT = ":is(h1, h2, p, li):not(table *, header *)"; // what a docked panel must not cover; tables may be too wide

/** The panel of an element. `memory` keeps what the next page needs; `actions` are called by input and buttons. */
export class Panel {
  #host;
  #memory;
  #actions;
  #parts = {}; // elements by name
  #follows = false; // whether the end of the growing answer stays in sight

  constructor(host, memory, actions) {
    this.#host = host;
    this.#memory = memory;
    this.#actions = actions;
    const { words } = host.settings;
    const close = tool(words.close, namedIcon("x"), () => host.close(), { part: "close" });
    const parts = this.#parts;
    parts.title = el("span");
    parts.reset = tool(words.reset, namedIcon("new"), () => host.reset(), { part: "reset" });
    parts.leave = tool(words.button, namedIcon("ask"), actions.leave);
    parts.polite = el("div", { class: "sr", role: "status" });
    parts.alert = el("div", { class: "sr", role: "alert" });
    this.element = el(
      "dialog", { part: "panel", onkeydown: actions.escape, oncancel: actions.escape },
      this.#buildEdge(words),
      el("div", { class: "head", part: "header" }, el("h2", { part: "title" }, namedIcon("ask"), parts.title), parts.leave, parts.reset, close),
      this.#buildLog(words),
      this.#buildFoot(words),
      parts.polite,
      parts.alert,
    );
    host.shadowRoot.append(this.element);
    const follow = () => (this.dock(), host._draw());
    new ResizeObserver(follow).observe(document.body); // the page has loaded, or is another one
  }

  // Parts

  #buildLog(words) {
    const parts = this.#parts;
    parts.intro = el("div", { part: "suggestions", class: "intro" });
    parts.notice = el("div");
    this.hits = el("div");
    parts.flow = el("div", { class: "flow" }, parts.intro, parts.notice, this.hits);
    const release = () => (this.#follows = false);
    const attrs = { class: "log", part: "log", tabindex: "0", role: "region", "aria-label": words.log, "aria-busy": "true" };
    parts.log = el("div", { ...attrs, onscroll: this.#scrolled, onwheel: release, ontouchmove: release }, parts.flow);
    new ResizeObserver(this.#scrolled).observe(parts.flow);
    return parts.log;
  }
  #buildFoot(words) {
    const parts = this.#parts;
    const { submit, typed, changed, everywhere } = this.#actions;
    this.input = el("textarea", {
      part: "input", rows: 1, maxlength: 4000, enterkeyhint: "send", dir: "auto", onkeydown: typed, oninput: changed,
    });
    parts.jump = tool(words.latest, namedIcon("down"), this.#jump, { class: "tool latest-button", hidden: true });
    parts.waiting = el("p", { class: "small waiting" });
    parts.undone = el("p", { class: "small waiting" });
    const leave = tool(words.everywhere, namedIcon("x"), everywhere);
    parts.chip = el("span", { class: "chip", part: "chip" }, namedIcon("page"), words.here, leave);
    parts.send = el("button", { part: "send", class: "tool send" });
    parts.clear = tool(words.clear, namedIcon("x"), () => this.#host.prefill(""), { class: "tool clear", hidden: true });
    const bar = el("div", { class: "bar" }, parts.chip, parts.send);
    const form = el("form", { part: "form", onsubmit: submit }, namedIcon("find"), this.input, parts.clear, bar);
    return el("div", { class: "foot" }, parts.jump, parts.waiting, parts.undone, form);
  }
  /** Create the edge that changes the width of the panel by dragging or with arrow keys. */
  #buildEdge(words) {
    const isMirrored = () => this.#host.matches(":dir(rtl)");
    const size = (wanted) => {
      const width = Math.round(Math.min(WIDEST, Math.max(NARROWEST, wanted)));
      this.#memory.remember({ width });
      this.#setWidth(width);
      this.dock();
    };
    const { width } = this.#memory.state;
    if (width) this.#setWidth(width);
    const edge = this.#parts.edge = el("div", {
      class: "resize", role: "separator", tabindex: "0", "aria-orientation": "vertical", "aria-label": words.width,
      "aria-valuemin": NARROWEST, "aria-valuemax": WIDEST,
      onpointerdown: ({ pointerId }) => edge.setPointerCapture(pointerId),
      onpointermove: ({ pointerId, clientX }) => {
        if (edge.hasPointerCapture(pointerId)) size(isMirrored() ? clientX : document.documentElement.clientWidth - clientX);
      },
      onkeydown: ({ key }) => {
        const step = { ArrowLeft: 32, ArrowRight: -32 }[key];
        if (step) size(this.element.offsetWidth + (isMirrored() ? -step : step));
      },
    });
    return edge;
  }
  #setWidth(width) {
    this.#host.style.setProperty("--roaming-width", `${width}px`);
  }

  // Place

  get isOpen() {
    return this.element.open;
  }
  /** Show the panel; without `focus` nothing moves, and the focus stays where it is. */
  show(focus) {
    this.element.classList.toggle("opening", focus);
    this.stayBelowHeader();
    PHONE.matches ? this.element.showModal() : (this.element.open = true);
    this.dock();
    if (focus) this.input.focus();
  }
  close() {
    this.element.close();
    this.#host.popover = null;
    this.dock();
  }
  /** Move the page aside if it stays readable beside the panel, with its table of contents or without; otherwise the panel floats. */
  dock = () => {
    const { element, isOpen } = this;
    const { state } = this.#memory;
    const width = WIDE.matches && isOpen ? element.offsetWidth : 0;
    const room = innerWidth - width;
    const levels = room === state.room && state.level ? [state.level] : ["", "narrow"];
    const fits = (level) => {
      moveAside(width, level);
      this.#place();
      return isReadable(element) && !this.#probe().flat().some((one) => one.matches(TEXT));
    };
    const level = width ? levels.find(fits) : undefined;
    const isDocked = level !== undefined;
    if (!isDocked) moveAside(0);
    if (!isOpen) return;
    this.#parts.edge.ariaValueNow = element.offsetWidth;
    this.#place();
    element.classList.toggle("docked", isDocked);
    this.#memory.remember({ inset: isDocked ? width : 0, level, room });
    this.#raise();
  };
  stayBelowHeader() {
    if (this.#place()) this.#raise();
  }
  /** Begin below the header of the page; return whether the place is another one. */
  #place() {
    const { style } = this.#host;
    const before = style.getPropertyValue("--_top");
    style.setProperty("--_top", `${headerEnd()}px`);
    return style.getPropertyValue("--_top") !== before;
  }
  /** Show the panel above an element that covers it. The search and the menus of a header open above the panel. */
  #raise() {
    if (!headerEnd() || this.#probe().some((stack) => stack.indexOf(this.#host) > 0)) raise(this.#host);
  }
  /** Return the elements at points of the panel, in a grid from its start edge to the centre of the close button. */
  #probe() {
    const { left, right, top, bottom } = this.element.getBoundingClientRect();
    const stacks = [];
    for (let x = left + 12; x < right; x += (right - left - 40) / 3)
      for (let y = top + 26; y < bottom; y += 60) stacks.push(document.elementsFromPoint(x, y));
    return stacks;
  }
  /** Whether the panel covers an element of the page. */
  covers(target) {
    const { left, right, top, bottom } = target.getBoundingClientRect();
    const panel = this.element.getBoundingClientRect();
    return left >= panel.left && right <= panel.right && top >= panel.top && bottom <= panel.bottom;
  }

  // Conversation

  /** Add the article of a turn; the one before it no longer fills the panel. */
  add(article) {
    const { flow, notice } = this.#parts;
    for (const one of flow.querySelectorAll(".latest")) one.classList.remove("latest");
    article.classList.add("latest");
    notice.before(article);
  }
  /** Bring the question of a turn to the top. */
  showTurn(article) {
    const { log } = this.#parts;
    this.#follows = false;
    log.scrollTop = article.offsetTop - log.firstChild.offsetTop;
  }
  /** Begin to restore turns: they appear without animation. */
  beginRestoring() {
    this.#parts.flow.classList.add("restored");
  }
  /** End restoring, at the place where the reader was. */
  endRestoring() {
    this.#parts.log.ariaBusy = "false";
  }
  get place() {
    return this.#parts.log.scrollTop;
  }
  set place(top) {
    this.#parts.log.scrollTop = top ?? this.#parts.log.scrollHeight;
  }
  #scrolled = () => {
    const { log, jump } = this.#parts;
    const { scrollHeight, scrollTop, clientHeight } = log;
    if (this.#follows) log.scrollTop = scrollHeight;
    jump.hidden = this.#follows || scrollHeight - scrollTop - clientHeight < NEAR_END;
  };
  /** Jump to the end, and stay there while the answer grows. */
  #jump = () => {
    const { log } = this.#parts;
    this.#follows = this.#actions.isRunning();
    log.scrollTop = log.scrollHeight;
    this.#scrolled();
    log.focus();
  };
  /** Announce a text to screen readers. */
  say(text, urgent) {
    (urgent ? this.#parts.alert : this.#parts.polite).textContent = text;
  }
  /** Show the question that is sent after the current answer. */
  showNext(question) {
    const { waiting } = this.#parts;
    waiting.textContent = question ? fill(this.#host.settings.words.next, { question: plain(question) }) : "";
    this.say(waiting.textContent);
  }
  /** Offer to undo that the conversation was cleared; without a function, no longer. */
  offerUndo(undo) {
    const { cleared, undo: label } = this.#host.settings.words;
    const press = () => {
      this.offerUndo();
      undo();
      this.input.focus();
    };
    const button = undo && el("button", { type: "button", class: "undo", onclick: press }, label);
    this.#parts.undone.replaceChildren(...(undo ? [`${cleared} `, button] : []));
    this.say(undo ? `${cleared} ${label}` : "");
  }
  /** Whether questions are refused at the moment. */
  get waits() {
    return this.#parts.send.disabled;
  }
  set waits(waits) {
    this.#parts.send.disabled = waits;
  }

  // State

  /** Show a state: whether the panel only finds, finds now, runs, is down, asks about this page; number of turns. */
  draw({ onlyFinds, finds, runs, isDown, isHere, turns }) {
    const { words, page } = this.#host.settings;
    const { title, reset, leave, chip, clear, intro } = this.#parts;
    const name = fill(finds ? words.findTitle : words.title, { site: plain(page.title || words.docs) });
    this.element.classList.toggle("finder", finds);
    title.textContent = this.element.ariaLabel = name;
    reset.hidden = (finds && !onlyFinds) || !(turns || isDown);
    this.element.classList.toggle("typed", !!this.input.value.trim());
    leave.hidden = onlyFinds || !finds;
    this.input.placeholder = this.input.ariaLabel = finds ? words.findPlaceholder : turns ? words.followUp : words.placeholder;
    chip.hidden = !isHere;
    clear.hidden = !finds || !this.input.value;
    this.#drawSend(runs, words);
    this.#drawIntro(finds, onlyFinds, words);
    intro.hidden = finds ? this.input.value.trim() : turns || isDown;
    this.#drawNotice(isDown && !finds, words);
  }
  #drawSend(runs, words) {
    const { send } = this.#parts;
    const name = runs ? words.stop : words.send;
    send.classList.toggle("idle", !runs && !this.input.value.trim());
    if (send.ariaLabel === name) return;
    send.ariaLabel = name;
    send.replaceChildren(namedIcon(runs ? "stop" : "up"));
  }
  /** Show what can be asked, if nothing was asked or typed yet. */
  #drawIntro(finds, onlyFinds, words) {
    const { intro } = this.#parts;
    const suggestions = JSON.parse(this.#host.settings.page.suggestions ?? "[]").slice(0, MOST_SUGGESTIONS);
    const key = JSON.stringify([finds, onlyFinds, suggestions]);
    if (intro.dataset.key === key) return; // a new element would lose the focus
    intro.dataset.key = key;
    const suggest = (text) => {
      const pick = () => (onlyFinds ? this.#host.prefill(text) : this.#host.ask(text));
      return el("li", {}, el("button", { class: "pick", onclick: pick }, el("span", {}, text), namedIcon("go")));
    };
    const hello = [el("span", {}, namedIcon("ask")), el("h3", {}, words.hello)];
    intro.replaceChildren(
      el("div", { class: "hello" }, ...(finds ? [] : hello), el("p", {}, finds ? words.findIntro : words.intro)),
      ...(suggestions.length ? [el(finds ? "h3" : "h4", { class: "label" }, words.suggested)] : []),
      el("ul", { class: "rows" }, ...suggestions.map(suggest)),
    );
  }
  #drawNotice(isDown, words) {
    const { notice } = this.#parts;
    if (!isDown === !notice.firstChild) return;
    const text = [el("strong", {}, words.down), el("p", {}, words.kept)];
    const again = () => this.#host.ask(this.input.value);
    const button = el("button", { onclick: again }, namedIcon("redo"), words.retry);
    notice.replaceChildren(
      ...(isDown ? [el("div", { class: "notice", part: "error" }, namedIcon("off"), el("div", {}, ...text, button))] : []),
    );
  }
}
