// <roaming-ask>: sends a question to an answer endpoint, shows which sections were read, and links every source.
//
//   <script type="module" src="roaming/roaming-ask.js"></script>
//   <roaming-ask endpoint="https://ask.example/"></roaming-ask>      without an endpoint it searches sections
//
// The modules next to this file are loaded on demand: roaming-panel.js for the panel, roaming-turn.js with the first
// question, roaming-find.js where sections are searched, roaming-search.js for the search of the theme, roaming-webmcp.js where the browser has WebMCP.
// There are no inline styles, no inline scripts and no HTML from strings, so the strictest content security policy
// works. Text from answers and manifests is only inserted as text nodes.
//
// A build joins this file with those in the folder ask, so a page loads one file.

import { MODIFIER, adopt, el, isShortcut, namedIcon, tool } from "./ask/elements.js";
import { Memory, PHONE, WIDE, headerButtons, leavePage, raise } from "./ask/page.js";
import { STYLE } from "./ask/style.js";
import { Settings } from "./ask/settings.js";
export { PHONE, WIDE, raise } from "./ask/page.js";
export { MODIFIER, SEND_KEY, adopt, el, fill, icon, isShortcut, namedIcon, plain, svg, tool } from "./ask/elements.js";

const LONGEST_QUESTION = 4000; // characters
const TYPED = "input, textarea, select, [contenteditable]"; // elements that use the Escape key themselves
/** What opens the panel where it replaces the search of a theme. */
export const SEARCH = ".md-search__form, .md-search__button, [for=__search], #rtd-search-form, [data-bs-target='#mkdocs_search_modal']";
const isInSight = (one) => one.checkVisibility({ opacityProperty: true }) && one.getBoundingClientRect().right > 0;
const load = (name) => import(new URL(name, import.meta.url));

/** The element. It dispatches bubbling events `roaming:…`; `request` and `fetch` may be overridden. */
export class RoamingAsk extends HTMLElement {
  static observedAttributes = ["open", "mode", "endpoint"];
  settings = new Settings(this);
  _ready; // resolves when the button is shown
  _isClosing = false; // the focus returns to the page
  #memory;
  #button;
  #parked; // the bar that leads back to the answer on a phone
  #panel; // created when it is first opened
  #building; // resolves then
  #conversation;
  #opener; // the element that gets the focus back
  #abort; // aborts the listeners on the page
  #tools; // removes the tools for the browser's agent
  #view; // of the finder
  #query; // of the view
  #watched; // aborts the bar for selected text
  #isTouched = false; // the last input was a touch
  #scrollTop = 0; // the page's last scroll position

  // Public API

  /** Open the panel; without `focus` the focus does not move. */
  async open(focus = true) {
    await this._ready;
    const typed = this.#panel || !focus ? undefined : this.#collectKeys();
    if (!this.#panel) await (this.#building ??= this.#build().catch(() => (this.#building = undefined)));
    const early = typed?.() ?? "";
    if (!this.#panel || !this.isConnected || this.settings.mode === "off" || this.#panel.isOpen) return;
    this.#opener = document.activeElement;
    while (this.#opener?.shadowRoot?.activeElement) this.#opener = this.#opener.shadowRoot.activeElement;
    this.#panel.show(focus, this.#types);
    this.#panel.input.value += early;
    this.toggleAttribute("open", true);
    if (!this.isInline) this.#memory.remember({ open: true, parked: false });
    this._draw();
    this._emit("open");
  }
  /** Close the panel; a focus inside it returns to the previous element. */
  close() {
    if (!this.#panel?.isOpen || this.isInline) return;
    const isInside = this.shadowRoot.activeElement;
    this._isClosing = true;
    this.#panel.close();
    this.removeAttribute("open");
    this.#memory.remember({ open: false, ...(PHONE.matches || { finding: false }) }); // a bar may lead back
    this._draw();
    this.#uncover();
    const back = this.#opener?.isConnected && this.#opener !== document.body ? this.#opener : this.#button;
    if (isInside) back.focus({ preventScroll: true });
    this._isClosing = false;
    this._emit("close");
  }
  /** Put a question into the input; without one, its words stay. */
  async prefill(question) {
    const wasOpen = this.#panel?.isOpen;
    await this.open();
    if (!this.#panel) return;
    this.#panel.input.value = question ?? this.#panel.input.value;
    if (wasOpen || this.#types) this.#panel.input.focus();
    this._draw();
  }
  /** Search sections for words; without any, for those in the input, which are selected. */
  async search(words) {
    await this._ready;
    this.#memory.remember({ finding: true });
    const draft = this.#panel?.input.value ?? this.#memory.state.draft ?? "";
    await this.prefill(words);
    if (words === undefined && this.#panel?.input.value === draft) this.#panel.input.select(); // not what was just typed
  }
  /** Send a question after the current answer has ended; without an endpoint, search sections. */
  async ask(question) {
    await this._ready;
    question = String(question).trim().slice(0, LONGEST_QUESTION);
    this.#memory.remember({ finding: false });
    await this.open();
    this._draw();
    if (!question || !this.#panel || this.#panel.waits) return;
    if (this.settings.onlyFinds) return this.prefill(question);
    await this.#conversation.ask(question);
  }
  /** Stop the current answer. */
  stop() {
    this.#conversation?.stop();
  }
  /** Delete all turns. */
  reset() {
    if (this.#conversation) this.#conversation.reset();
    else this.#memory?.keepTurns([]);
    this.#memory?.remember({ everywhere: undefined, finding: false });
    if (this.#panel) this.prefill("");
  }
  /** Send a question to the endpoint. */
  request(body, signal) {
    return this._post("v1/ask", body, signal);
  }
  fetch(...what) {
    return globalThis.fetch(...what);
  }

  /** Whether the panel is a part of the page: in its element with `data-roaming-panel`. */
  get isInline() {
    return this.hasAttribute("inline");
  }

  // For the modules

  _emit(name, detail = {}) {
    return this.dispatchEvent(new CustomEvent(`roaming:${name}`, { detail, bubbles: true, composed: true, cancelable: true }));
  }
  _post(path, body, signal) {
    const headers = { "content-type": "application/json", accept: "text/event-stream" };
    const url = new URL(path, this.settings.endpoint);
    return this.fetch(url, { method: "POST", redirect: "error", headers, body: JSON.stringify(body), signal });
  }
  /** Announce a text to screen readers. */
  _say(text, urgent) {
    this.#panel?.say(text, urgent);
  }
  /** Refuse questions, or accept them again. */
  _wait(waits) {
    this.#panel.waits = waits;
  }
  /** Open the panel to ask or to search, or close it if it is open for that. */
  _toggle(finding) {
    if (this.#panel?.isOpen && (this.#finds === finding || this.settings.onlyFinds)) return this.close();
    if (finding) return this.search();
    this.#memory.remember({ finding });
    this.prefill();
  }
  /** Return the request of a question. */
  _describe(question, turns) {
    const { page, language } = this.settings;
    const scope = JSON.parse(this.getAttribute("scope"));
    return { question, page: this.#isHere ? page.path : undefined, lang: language, turns, scope };
  }
  /** Show the current state of button and panel. */
  _draw() {
    const { words, onlyFinds, mode, replacesSearch } = this.settings;
    const isOpen = !!this.#panel?.isOpen;
    const isParked = this.#memory.state.parked && PHONE.matches;
    const finds = this.#finds;
    this.#button.replaceChildren(namedIcon(onlyFinds ? "find" : "ask"), el("span", {}, onlyFinds ? words.findButton : words.button));
    this.#parked.firstChild.replaceChildren(namedIcon(finds ? "find" : "ask"), finds ? words.backToFind : words.back);
    const buttons = [...headerButtons()];
    for (const one of buttons) one.hidden = onlyFinds; // they ask
    const entrances = onlyFinds && replacesSearch ? [...document.querySelectorAll(SEARCH)] : buttons;
    this.#button.hidden = isOpen || this.isInline || isParked || mode === "off" || entrances.some(isInSight);
    for (const one of [this.#button, ...buttons]) one.ariaExpanded = isOpen && finds === onlyFinds;
    this.#parked.hidden = !isParked || isOpen;
    if (!this.#conversation) return;
    const { isDown, isEmpty, isRunning: runs } = this.#conversation;
    this.#panel.draw({ onlyFinds, finds, runs, isDown, isHere: this.#isHere, isEmpty });
    this.#query = finds || isDown ? this.#panel.input.value : "";
    const starts = isEmpty && !this.settings.page.suggestions; // with sections, as there are no questions
    if (this.#query || finds || starts || this.#view) this.#find(finds && !onlyFinds && !isDown, starts);
  }

  // Lifecycle

  connectedCallback() {
    const place = document.querySelector("[data-roaming-panel]");
    this.toggleAttribute("inline", !!place);
    if (place && this.parentNode !== place) return place.append(this); // connects it again
    this.#refit(); // a dialog that was removed and inserted again is no longer modal
    this._ready ??= this.#begin();
    const { signal } = (this.#abort = new AbortController());
    const listen = (names, listener, target = globalThis) =>
      names.split(" ").forEach((name) => target.addEventListener(name, listener, { signal, passive: name === "scroll" }));
    addEventListener("pointerdown", ({ pointerType }) => (this.#isTouched = pointerType === "touch"), { signal, capture: true });
    addEventListener("keydown", () => (this.#isTouched = false), { signal, capture: true });
    listen("keydown", this.#pressed);
    listen("click", this.#invited);
    listen("focusin", this.#yield);
    listen("scroll resize", this.#scrolled);
    listen("online", () => this.#conversation?.probe());
    listen("pagehide", () => this.#leave());
    listen("selectionchange", () => this.#watch(signal), document);
    listen("storage", () => this.#memory?.isShared && this.#conversation?.sync());
    listen("change", this.#refit, WIDE);
    listen("change", this.#refit, PHONE);
    this._ready.then(() => this.#offerTools());
    if (this.settings.replacesSearch) load("roaming-search.js").then(({ takeOver }) => takeOver(this, signal), () => {});
  }
  disconnectedCallback() {
    this.stop();
    this.#abort?.abort(); // none before the element is moved to its place in the page
    this.#tools?.abort();
    leavePage();
  }
  attributeChangedCallback(name, before, now) {
    if (!this.#button) return;
    if (this.settings.mode === "off" || (name === "open" && now === null)) this.close();
    else if (name === "open") this.open();
    if (name === "mode") this.#offerTools();
    this._draw();
  }
  /** Create the button when the strings are loaded; the panel is created when it is first opened. */
  async #begin() {
    const { settings } = this;
    this.#memory = new Memory(this.getAttribute("persist") ?? "session", settings.page.base);
    const { open = this.hasAttribute("open"), parked } = this.#memory.state;
    const opens = (open && !PHONE.matches && settings.mode !== "off") || this.isInline;
    if (!opens || this.isInline) leavePage();
    await settings.loadWords();
    const root = this.attachShadow({ mode: "open" });
    adopt(root, STYLE);
    root.addEventListener("click", this.#visit);
    this.#buildButtons(root);
    this._draw();
    this.#uncover();
    if (parked) this.#park(true);
    const query = new URLSearchParams(location.search).get("ask");
    if (opens) this.open(false);
    this.#arrive();
    if (query) this.prefill(query);
    (globalThis.requestIdleCallback ?? setTimeout)(() => load("roaming-panel.js").catch(() => {}));
  }
  #buildButtons(root) {
    const { words } = this.settings;
    for (const button of headerButtons()) {
      button.ariaLabel = button.title = words.button;
      const key = button.querySelector("kbd");
      if (key && MODIFIER === "metaKey") key.textContent = key.textContent.replace("Ctrl ", "⌘");
    }
    const attrs = { class: "opener", part: "button", "aria-haspopup": "dialog", "aria-expanded": "false" };
    this.#button = el("button", { onclick: () => this._toggle(false), ...attrs });
    this.#parked = el(
      "div", { class: "parked", part: "back", hidden: true },
      el("button", { onclick: () => this.open() }),
      tool(words.close, namedIcon("x"), () => this.#park(false)),
    );
    root.append(this.#button, this.#parked);
  }
  /** Create the panel, which is loaded when the browser has nothing else to do. */
  async #build() {
    const { Conversation, Panel } = await load("roaming-panel.js");
    this.#panel = new Panel(this, this.#memory, {
      escape: this.#escape,
      typed: this.#typed,
      changed: () => this._draw(),
      leave: () => this._toggle(false),
      submit: (event) => {
        event.preventDefault();
        this.#conversation.isRunning ? this.stop() : this.#submit();
      },
      everywhere: () => {
        this.#memory.remember({ everywhere: this.settings.page.path });
        this._draw();
        this.#panel.input.focus();
      },
      isRunning: () => this.#conversation.isRunning,
    });
    // Typed keys must not trigger shortcuts of the site, such as "s" for its search. Ctrl and Meta pass.
    for (const kind of ["keydown", "keypress", "keyup"])
      this.#panel.element.addEventListener(kind, (event) => event.ctrlKey || event.metaKey || event.stopPropagation());
    this.#panel.input.value = this.#memory.state.draft ?? "";
    this.#conversation = new Conversation(this, this.#panel, this.#memory);
  }
  /** Collect what the reader types while the panel is loaded, instead of shortcuts of the page; return a function that ends it. */
  #collectKeys() {
    let typed = "";
    const collect = (event) => {
      if (event.key.length > 1 || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.(TYPED)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      typed += event.key;
    };
    addEventListener("keydown", collect, true);
    return () => (removeEventListener("keydown", collect, true), typed);
  }
  /** Show the button above an element that covers it, such as the sidebar of a theme. */
  #uncover() {
    const { left, top, width, height } = this.#button.getBoundingClientRect();
    const hit = width && document.elementFromPoint(left + width / 2, top + height / 2);
    if (hit && hit !== this) raise(this);
  }
  /** Highlight the passage to which a citation on the previous page led. */
  async #arrive() {
    try {
      if (sessionStorage.getItem("roaming:passage")) (await load("roaming-passage.js")).arrive(this);
    } catch {} // forbidden
  }
  /** Load the bar for selected text with the first selection. */
  #watch(signal) {
    if (getSelection().isCollapsed || this.#watched === signal || this.getAttribute("selection") === "off") return;
    this.#watched = signal;
    this._ready.then(() => load("roaming-selection.js")).then(({ watch }) => watch(this, signal), () => {});
  }
  /** Offer the finder to the agent of the browser where there is WebMCP; earlier drafts have it in `navigator`. */
  #offerTools() {
    this.#tools?.abort();
    const context = document.modelContext ?? navigator.modelContext;
    if (!context?.registerTool || !this.isConnected || this.settings.mode === "off") return;
    const { signal } = (this.#tools = new AbortController());
    load("roaming-webmcp.js").then(({ registerTools }) => registerTools(this, context, signal), () => {});
  }
  #leave() {
    if (this.#conversation?.isRunning) this.#conversation.keep();
    if (this.#panel) this.#memory.remember({ draft: this.#panel.input.value, place: this.#panel.place });
  }

  // The page

  #refit = () => {
    if (!this.#panel?.isOpen) return this.#button && this._draw();
    this.#panel.element.close();
    this.#panel.show(false);
    this._draw();
  };
  #pressed = (event) => {
    const key = (this.getAttribute("shortcut") ?? "i").toLowerCase();
    if (event.defaultPrevented) return;
    if (event.key === "Escape") return this.#panel?.isOpen && !event.target.closest?.(TYPED) && this.#escape(event);
    if (!isShortcut(event, key) || this.settings.mode === "off") return;
    event.preventDefault();
    this._toggle(false);
  };
  /** Open the panel from any element with `data-roaming-open`; its value, if any, becomes the question. */
  #invited = (event) => {
    const invitation = event.target.closest?.("[data-roaming-open]");
    if (!invitation || event.defaultPrevented) return;
    event.preventDefault();
    const question = invitation.dataset.roamingOpen || undefined;
    if (!question && invitation.ariaExpanded) return this._toggle(false);
    this.#memory.remember({ finding: false });
    this.prefill(question);
  };
  /** Close a panel that covers the focused element of the page; offer to ask in the search of Material. */
  #yield = ({ target }) => {
    const { mode, replacesSearch } = this.settings;
    if (target.matches?.("[data-md-component=search-query]") && this.#button && mode !== "off" && !replacesSearch)
      load("roaming-search.js").then(({ addRow }) => addRow(this, target), () => {});
    if (target === this || !this.#panel?.isOpen || !target.getBoundingClientRect) return;
    if (this.#panel.covers(target)) this.close();
  };
  /** Keep the panel below the page's header; hide the button of phones while the reader scrolls down. */
  #scrolled = () => {
    const by = scrollY - this.#scrollTop;
    if (by) this.#button?.classList.toggle("away", by > 0);
    this.#scrollTop = scrollY;
    this.#panel?.stayBelowHeader();
  };
  /** Show or remove the bar that leads back to the answer. */
  #park(parked) {
    this.#memory.remember({ parked });
    this._draw();
  }
  /** Follow a link of this site with an anchor outside the shadow root, so that themes can navigate instantly. */
  #visit = (event) => {
    const href = event.target.closest("a")?.href.replace(/#?:~:.*/, ""); // roaming-passage.js highlights passages
    if (!href || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const isInside = new URL(href).origin === location.origin;
    const goes = this._emit("navigate", { url: href });
    if (isInside || !goes) event.preventDefault();
    if (!isInside || !goes) return;
    const anchor = el("a", { href, hidden: true });
    this.append(anchor);
    if (PHONE.matches) {
      this.close();
      this.#park(true);
    } else if (this.isInline) this.#memory.remember({ open: true }); // beside the next page
    anchor.click();
    anchor.remove();
  };

  // The input

  #typed = (event) => {
    const { key, isComposing, keyCode, shiftKey } = event;
    const { last } = this.#conversation;
    if (isComposing || keyCode === 229) return; // a key for the input method
    if (key === "Enter" && event[MODIFIER]) this.ask(this.#panel.input.value);
    else if (key === "Enter" && !shiftKey) this.#submit();
    else if (key === "ArrowUp" && !this.#panel.input.value && last && !this.#finds) {
      this.#conversation.queue();
      this.prefill(last);
    } else return;
    event.preventDefault();
  };
  /** Stop or close on Esc, or on another request of the system to close the dialog. */
  #escape = (event) => {
    if ((event.key ?? "Escape") !== "Escape" || event.isComposing) return;
    event.preventDefault();
    this.#conversation.isRunning && !this.#finds && event.cancelable ? this.stop() : this.close(); // otherwise the system closes it anyway
  };
  #submit() {
    const { input } = this.#panel;
    if (!input.value.trim()) input.focus();
    else if (!this.#finds) this.ask(input.value);
  }
  /** Whether the input gets the focus when the panel is opened: not by a touch, as a keyboard would cover half of it. */
  get #types() {
    return !this.#isTouched || (this.settings.replacesSearch && this.#finds);
  }
  /** Whether typed words search sections. */
  get #finds() {
    return this.settings.onlyFinds || !!this.#memory.state.finding;
  }
  /** Whether questions are about the current page first. */
  get #isHere() {
    const { path } = this.settings.page;
    return path !== undefined && this.getAttribute("page-context") !== "off" && this.#memory.state.everywhere !== path;
  }
  /** Show the results for the query; with `asks`, a row before them asks it. Without one, show where to start. */
  async #find(asks, starts) {
    const { classList } = this.#panel.element;
    if (starts && !this.#view) classList.add("starting"); // the rows push the words above them up
    try {
      const { View } = this.#view ? {} : await load("roaming-find.js"); // at once, before Enter is pressed
      this.#view ??= new View(this, this.#panel.hits);
      await this.#view.list(this.#query, asks, starts);
    } catch {
      this.#panel.hits.textContent = this.settings.words.lost;
    }
    classList.remove("starting");
  }
}

customElements.get("roaming-ask") ?? customElements.define("roaming-ask", RoamingAsk);
// A page that only loads this file gets the element, too.
const complete = () => {
  if (document.querySelector('script[src*="roaming-ask"]') && !document.querySelector("roaming-ask"))
    document.body.prepend(el("roaming-ask"));
};
document.readyState === "loading" ? addEventListener("DOMContentLoaded", complete) : complete();
