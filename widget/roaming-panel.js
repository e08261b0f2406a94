// The panel of <roaming-ask>: a dialog with the conversation and the input, its place beside the page, and what it shows
// before there is an answer.

import { PHONE, WIDE, adopt, el, fill, icon, namedIcon, plain, raise, tool } from "./roaming-ask.js";
export { Conversation } from "./ask/conversation.js";

// The page beside a docked panel. Headers and banners of known themes keep the whole width; others shrink with the page, and
// the panel is beside them. The table of contents leaves its place where the article would become narrow.
const DOCKED = ":root[data-roaming-docked]";
const NARROW = ":root[data-roaming-docked=narrow]";
const PAGE_STYLE = `
@media screen and (min-width:1100px){
${DOCKED} body{padding-inline-end:var(--roaming-inset)}
${DOCKED} :is(body>:is(.md-header,.navbar,[data-md-component=announce],.bd-header,.bd-header-announcement),#__docusaurus>:is(.navbar,.theme-announcement-bar)){width:auto;margin-inline-end:calc(-1*var(--roaming-inset))}
${DOCKED} .wy-grid-for-nav{width:calc(100% - var(--roaming-inset))}
${DOCKED} .wy-nav-content{padding-inline:1.618em}
${DOCKED} .md-sidebar{width:190px}
${DOCKED} .VPDoc .content{padding-inline:0}
${DOCKED} .nav-wide-wrapper{display:none}
${DOCKED} .nav-wrapper{display:block}
${DOCKED} :is(div.document,.page>.main,.main>.content,.VPDoc .content){box-sizing:border-box;min-width:0;max-width:100%}
${NARROW} :is(.md-sidebar--secondary,.VPDoc .aside,.toc-drawer,.bd-sidebar-secondary,.right-sidebar-container,.col:has(>.theme-doc-toc-desktop)){display:none}
${NARROW} .right-sidebar-container~.main-pane{width:100%}
${NARROW} .col[class*=docItemCol]{max-width:100%!important}
}
@media screen and (min-width:600px){
:root[data-roaming-frame] body::after{content:"";display:block;position:fixed;z-index:3;inset:var(--roaming-begin) 0 0 auto;width:var(--roaming-frame);background:var(--md-default-bg-color,var(--pst-color-background,var(--bs-body-bg,Canvas)));box-shadow:0 0 0 1px color-mix(in srgb,currentColor 13%,transparent)}
:root[data-roaming-frame]:dir(rtl) body::after{inset-inline:auto 0}
}
`;
const HEADERS = "[data-md-component=header], .navbar, .menu-bar, .VPLocalNav, header:not(main *)";
const NARROWEST_PAGE = 560; // pixels of the article beside a docked panel
const LINES = ":is(main, [role=main], article) :is(h1, h2, h3, h4, p, li):not(nav *, table *)";
const BLOCKS = ":is(main, [role=main], article) :is(h1, h2, h3, h4, p, li, pre, td):not(nav *)";

const NARROWEST = 320; // pixels
const WIDEST = 640;
const ROOMY = matchMedia("(min-width: 900px)"); // for an expanded panel
const EXPAND = "M14 4h6v6m0-6-7 7M10 20H4v-6m0 6 7-7";
const MOST_SUGGESTIONS = 4;
const NEAR_END = 48; // pixels
const TEXT = ":is(h1, h2, p, li):not(table *, header *)"; // what a docked panel must not cover; tables may be too wide

const STYLE = `
dialog:modal .resize { display: none }
.foot .tool::after { inset-inline-end: 0 }
.head .tool::after { inset-block: calc(100% + 6px) auto; inset-inline-end: 0 }

/* Rows in a frame: suggestions, sources, results */
.rows { list-style: none; padding: 0; border: 1px solid var(--_line); border-radius: 12px; overflow: hidden }
.rows > * + * { border-block-start: 1px solid var(--_line) }
.rows :focus-visible { outline-offset: -2px; border-radius: 11px }
.pick { display: flex; width: 100%; min-height: 48px; gap: 12px; align-items: center; padding-block: 12px; padding-inline: 16px 12px; border: 0;
  border-radius: 0; background: none; font-size: 1em; font-weight: 400; text-align: start }
.pick span { flex: 1 }
.pick .icon { color: var(--_muted); transition: translate .16s var(--_ease) }
.pick:hover .icon { color: var(--_accent); translate: 2px }
.pick:dir(rtl):hover .icon { translate: -2px }

/* The panel: docked below the header; on narrower screens it floats, on a phone it covers the screen */
dialog { inset-block: var(--roaming-top, var(--_top, 0px)) 0; inset-inline: auto 0; width: var(--_width);
  height: var(--roaming-height, auto); max-width: 100%; max-height: none; border: 0 solid var(--_line);
  border-inline-start-width: 1px; flex-direction: column; color: var(--_fg); background: var(--_bg);
  transition: opacity .12s, display .12s allow-discrete, overlay .12s allow-discrete }
dialog[open] { display: flex }
dialog:focus-visible { outline: 0 }
dialog.expanded { inset-block: 0; height: auto; width: min(720px, 100%) }
dialog.expanded .resize { display: none }
@media (max-width: 899.98px) { .expand { display: none } }
dialog:not([open]) { opacity: 0; pointer-events: none }
dialog.opening { animation: .18s var(--_ease) opening }
.resize { position: absolute; z-index: 2; inset-block: 0; inset-inline-start: -5px; width: 9px; cursor: ew-resize;
  touch-action: none; outline: 0 }
.resize::after { content: ""; position: absolute; inset-block: 0; inset-inline-start: 4px; width: 2px; background: var(--_accent);
  opacity: 0; transition: opacity .12s .08s }
.resize:is(:hover, :focus-visible)::after { opacity: 1 }
.head { position: relative; z-index: 1; display: flex; gap: 4px; align-items: center; flex: none; height: 52px;
  padding-inline: 20px 12px }
.head::after { content: ""; position: absolute; inset-block: 100% auto; inset-inline: 0 12px; height: 12px; pointer-events: none;
  background: linear-gradient(var(--_bg), transparent) }
h2 { flex: 1; display: flex; gap: 8px; align-items: center; min-width: 0 }
h2 span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.log { flex: 1; min-height: 0; overflow: auto; container-type: size; padding: 8px 20px 24px; overscroll-behavior: contain;
  scrollbar-width: thin; scrollbar-color: var(--_line) transparent }
.log:focus-visible { outline-offset: -2px }
.flow { display: flex; flex-direction: column; min-height: 100cqh }
.flow > * { min-width: 0; animation: .2s var(--_ease) rising }
.restored > * { animation: none }
.latest { min-height: 100cqh; align-content: start }

/* Nothing asked yet: just above the input */
.intro { margin-block-start: auto }
.starting .intro { visibility: hidden }
.hello > span { display: grid; place-items: center; width: 44px; height: 44px; margin-block: 16px; border-radius: 12px;
  background: var(--_tint) }
.hello span .icon { width: 24px; height: 24px }
.hello h3 { margin-block-end: 8px; font-size: 1.3333em; line-height: 1.4; letter-spacing: -.01em }
.hello p { color: var(--_muted); padding-block-end: 8px }

/* The endpoint cannot be reached */
.notice { display: grid; grid-template-columns: 18px 1fr; gap: 0 12px; padding: 16px; border: 1px solid var(--_line);
  border-radius: 12px; margin-block-end: 16px }
.notice > .icon { margin-block-start: 3px; color: var(--_danger) }
.notice p { margin-block-end: 12px; color: var(--_muted); font-size: .9333em; line-height: 1.43 }

/* The input */
.foot { position: relative; flex: none; padding: 0 20px 12px }
.foot::before { content: ""; position: absolute; inset: -40px 0 auto; height: 40px; pointer-events: none;
  background: linear-gradient(transparent, var(--_bg)) }
.latest-button { position: absolute; inset-block-start: -44px; inset-inline-end: 20px; border-radius: 50%; background: var(--_raise);
  box-shadow: var(--_shadow); color: var(--_fg) }
.latest-button:hover { background: var(--_raise) }
:is(.waiting, .undone) { padding: 0 4px 8px }
.undo { min-height: 24px; padding: 0 4px; border: 0; background: none; color: var(--_accent); font-size: 1em; text-decoration: underline }
form { position: relative; padding: 4px; border: 1px solid var(--_edge); border-radius: 12px; background: var(--_bg) }
form:focus-within { border-color: var(--_accent); box-shadow: 0 0 0 1px var(--_accent) }
form:not(:has(textarea:focus)):focus-within { border-color: var(--_edge); box-shadow: none }
textarea { display: block; width: 100%; min-height: 40px; max-height: 144px; padding: 8px 12px 4px; border: 0; outline: 0;
  resize: none; field-sizing: content; background: none }
textarea:focus-visible { outline: 0 }
textarea::placeholder { color: var(--_muted); opacity: 1 }
:host(:dir(rtl)) textarea:placeholder-shown { text-align: right }
.bar { display: flex; align-items: center; gap: 8px; padding-inline-start: 8px }
.chip { display: inline-flex; align-items: center; gap: 6px; min-width: 0; height: 28px; padding-inline-start: 8px;
  border: 1px solid var(--_line); border-radius: var(--_radius); color: var(--_muted); font-size: .8667em }
.chip .icon { width: 16px; height: 16px }
.chip .tool { width: 26px; height: 26px; border-radius: 7px }
.chip .tool::before { content: ""; position: absolute; inset: -3px }
.send { width: 36px; height: 36px; margin-inline-start: auto; border-radius: 9px; background: var(--_accent);
  color: var(--_on-accent) }
.send:hover { background: color-mix(in srgb, var(--_accent) 88%, var(--_fg)); color: var(--_on-accent) }
.send:is(:disabled, .idle) { background: var(--_soft); color: var(--_muted); opacity: 1 }

/* The finder: its field is on top, since nothing is written back */
.finder .foot { order: 1; padding-block: 4px 8px }
.finder .foot::before, .finder .head::after, .finder h2 .icon, .finder :is(.bar, .latest-button) { display: none }
.finder form { display: flex; align-items: center; padding-block: 1px; padding-inline-start: 12px }
.finder .log { order: 2 }
form > .icon { display: none; color: var(--_muted) }
.finder form > .icon { display: block }
.finder .intro { margin-block-start: 0 }
.finder article { display: none }
.finder .latest { min-height: 0 }

.row { display: flex; flex-wrap: wrap; gap: .4em; font-size: .875em }
@media (min-width: 1100px) { :host { --_width: var(--roaming-width, clamp(352px, 27.5vw, 416px)) } }
dialog:not(.docked) { box-shadow: 0 0 40px #00000026 }
@media (max-width: 599px) {
  dialog { inset: 0; width: 100%; height: 100dvh; border: 0; padding-block-end: env(safe-area-inset-bottom) }
  .head { height: 56px; padding-inline: 16px 4px }
  .log, .foot { padding-inline: 16px }
  .send { width: 44px; height: 44px }
  .latest-button { inset-block-start: -52px }
  textarea { font-size: max(16px, 1em) }
  .chip { height: 36px }
  .chip .tool { width: 34px; height: 34px }
  .chip .tool::before { inset: -5px }
}
@media (max-height: 420px) {
  .head { height: 44px }
  .chip { display: none }
  form { display: flex; align-items: end }
}
:host([inline]) dialog { position: static; width: auto; height: 100%; padding: 0; border: 0; border-radius: inherit; box-shadow: none; z-index: auto }
:host([inline]) :is([part=close], .resize, .expand) { display: none }
@keyframes rising { from { opacity: 0; translate: 0 4px } }
@keyframes opening { from { opacity: 0; translate: 12px } }
@media (forced-colors: active) {
  .chip, .hello > span { border: 1px solid }
  .send { forced-color-adjust: none; background: ButtonFace; color: ButtonText; border: 1px solid ButtonText }
  form:focus-within { outline: 2px solid Highlight }
}
`;

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
    adopt(host.shadowRoot, STYLE);
    const close = tool(words.close, namedIcon("x"), () => host.close(), { part: "close" });
    const parts = this.#parts;
    parts.title = el("span");
    parts.reset = tool(words.reset, namedIcon("new"), () => host.reset(), { part: "reset" });
    parts.expand = tool(words.expand, icon(EXPAND), this.#expand, { class: "tool expand", part: "expand", "aria-pressed": "false" });
    parts.leave = tool(words.button, namedIcon("ask"), actions.leave);
    parts.polite = el("div", { class: "sr", role: "status" });
    parts.alert = el("div", { class: "sr", role: "alert" });
    this.element = el(
      "dialog", { part: "panel", tabindex: "-1", onkeydown: actions.escape, oncancel: actions.escape },
      this.#buildEdge(words),
      el("div", { class: "head", part: "header" }, el("h2", { part: "title" }, namedIcon("ask"), parts.title), parts.leave, parts.reset, parts.expand, close),
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
    parts.undone = el("p", { class: "small undone" });
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
  /** Show the panel; without `focus` nothing moves, and the focus stays where it is. With `types` the input gets it. */
  show(focus, types = focus) {
    this.element.classList.toggle("opening", focus);
    this.stayBelowHeader();
    const isModal = PHONE.matches && !this.#host.isInline;
    this.element.autofocus = isModal; // not the first button; a part of a page must not get the focus when the page loads
    isModal ? this.element.showModal() : (this.element.open = true);
    this.dock();
    delete document.documentElement.dataset.roamingFrame;
    if (focus) (types ? this.input : this.element).focus();
  }
  close() {
    this.element.close();
    this.#host.popover = null;
    this.dock();
  }
  /** Move the page aside if it stays readable beside the panel, with its table of contents or without; otherwise the panel floats. */
  dock = () => {
    if (this.#host.isInline) return moveAside(0);
    const { element, isOpen } = this;
    const { state } = this.#memory;
    const isExpanded = !!state.expanded && ROOMY.matches;
    element.classList.toggle("expanded", isExpanded);
    this.#parts.expand.ariaPressed = isExpanded;
    const width = WIDE.matches && isOpen && !isExpanded ? element.offsetWidth : 0;
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
    this.#memory.remember({ inset: isDocked ? width : 0, level, room, frame: element.offsetWidth, begin: isExpanded ? 0 : headerEnd(), style: PAGE_STYLE });
    this.#raise();
  };
  /** Use the whole height and more width, or not; the page does not move aside for that. */
  #expand = () => {
    this.#memory.remember({ expanded: !this.#memory.state.expanded });
    this.#host.popover = null;
    this.dock();
  };
  stayBelowHeader() {
    if (!this.#host.isInline && this.#place()) this.#raise();
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
    if (!headerEnd() || this.#memory.state.expanded || this.#probe().some((stack) => stack.indexOf(this.#host) > 0)) raise(this.#host);
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
    const shown = undo ? [`${cleared} `, el("button", { type: "button", class: "undo", onclick: press }, label)] : [];
    this.#parts.undone.replaceChildren(...shown);
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

  /** Show a state: whether the panel only finds, finds now, runs, is down, asks about this page, has no turns. */
  draw({ onlyFinds, finds, runs, isDown, isHere, isEmpty }) {
    const { words, page } = this.#host.settings;
    const { title, reset, leave, chip, clear, intro } = this.#parts;
    const name = fill(finds ? words.findTitle : words.title, { site: plain(page.title || words.docs) });
    this.element.classList.toggle("finder", finds);
    title.textContent = this.element.ariaLabel = name;
    reset.hidden = (finds && !onlyFinds) || (isEmpty && !isDown);
    leave.hidden = onlyFinds || !finds;
    this.input.placeholder = this.input.ariaLabel = finds ? words.findPlaceholder : isEmpty ? words.placeholder : words.followUp;
    chip.hidden = !isHere;
    clear.hidden = !finds || !this.input.value;
    this.#drawSend(runs, words);
    this.#drawIntro(finds, onlyFinds, words);
    intro.hidden = finds ? this.input.value.trim() : !isEmpty || isDown;
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

// The page

/** Return where the page's own header ends that stays in sight, if it reaches the side of the panel. */
function headerEnd() {
  const ends = [...document.querySelectorAll(HEADERS)].map((one) => {
    const { top, bottom, left, right, width } = one.getBoundingClientRect();
    const { position, direction } = getComputedStyle(one);
    const reaches = direction === "rtl" ? left < 32 : right > innerWidth - 32;
    return /sticky|fixed/.test(position) && top < 200 && width > innerWidth / 2 && reaches ? bottom : 0;
  });
  return Math.max(0, ...ends);
}
/** Move the page aside by the width of the panel; `level` is that of the style. The first visible paragraph stays where it is. */
function moveAside(width, level = "") {
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
function isReadable(panel) {
  const blocks = [...document.querySelectorAll(LINES)].filter((one) => one.checkVisibility());
  if (!blocks.some((one) => one.matches("p, li") && one.clientWidth >= NARROWEST_PAGE)) return false;
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
