// <roaming-ask>: sends a question to an answer endpoint, shows which sections were read, and links every source.
//
//   <script type="module" src="roaming/roaming-ask.js"></script>
//   <roaming-ask endpoint="https://ask.example/"></roaming-ask>      without an endpoint it searches sections
//
// The modules next to this file are loaded on demand: roaming-turn.js and what it imports with the first question,
// roaming-find.js and roaming-finder.js where sections are searched without an endpoint.
// There are no inline styles, no inline scripts and no HTML from strings, so the strictest content security policy
// works. Text from answers and manifests is only inserted as text nodes.
//
// A build joins this file with the three that it imports, so a page loads one file.

import { el, fill, namedIcon, plain } from "./roaming-elements.js";
import { PANEL, drawHeader, headerButtons, headerEnd, moveAside, recall, storage } from "./roaming-page.js";
import { STYLE } from "./roaming-style.js";
export { el, fill, icon, plain, svg } from "./roaming-elements.js";

const HERE = import.meta.url;

// ------------------------------------------------------------------------------------------------------------- Strings
// Singular and plural are separated by "|". Translations are in ask.<language>.json next to this file.

const ENGLISH = {
  title: "Ask these docs",
  button: "Ask the docs",
  findTitle: "Find in these docs",
  findButton: "Find in the docs",
  close: "Close",
  reset: "Start over",
  hello: "What would you like to do?",
  intro: "Answers come from these docs. Every statement links to its section.",
  findIntro: "Type a few words: the sections that fit open right here.",
  suggested: "Suggested questions",
  placeholder: "Ask a question",
  followUp: "Ask a follow-up",
  findPlaceholder: "Find a section",
  send: "Send",
  stop: "Stop",
  next: "Next: {question}",
  width: "Width of the panel",
  log: "Conversation",
  latest: "Jump to latest",
  here: "About this page",
  everywhere: "Ask about all pages",
  back: "Back to the answer",
  legal: "Written by a model from these docs. Check the sources.",
  down: "No answer: the service can’t be reached",
  kept: "Your question is kept below. The panel comes back by itself when the connection does.",
  retry: "Try again",
  online: "You can ask again.",
  lost: "The connection was lost. Please ask again.",
};
const TRANSLATED = ["de", "es", "fr", "ja", "zh"];

const joined = (...questions) => questions.filter(Boolean).join("\n");

// ------------------------------------------------------------------------------------------------------------- Element

let sheet; // created once, by the first element on a page
const TURNS = 6; // number of turns that are sent as conversation
const OUTAGE = 60_000; // after this time, questions are sent again to an endpoint that could not be reached
const NARROWEST = 320;
const WIDEST = 640;
const TYPED = "input, textarea, select, [contenteditable]"; // elements that use the Escape key themselves
const MODIFIER = /^(Mac|iP)/.test(navigator.platform) ? "metaKey" : "ctrlKey";
const loadTurn = async () => (await import(new URL("roaming-turn.js", HERE))).Turn;

/** The element. It dispatches bubbling events `roaming:…`; `request` and `fetch` may be overridden. */
export class RoamingAsk extends HTMLElement {
  static observedAttributes = ["open", "mode", "endpoint"];
  _words = ENGLISH;
  #Turn; // the class, once it is loaded
  #turns = [];
  #known = new Set(); // URLs of sections from the endpoint
  #ready;
  #button;
  #parked; // the bar that leads back to the answer on a phone
  #dialog;
  #title;
  #reset;
  #log;
  #flow;
  #intro;
  #notice;
  #hits;
  #input;
  #send;
  #chip;
  #jump;
  #waiting;
  #polite;
  #alert;
  #opener; // the element that gets the focus back
  #abort; // aborts the listeners on the page
  #restored; // resolves when the turns of the previous page are shown
  #running; // aborts the current answer
  #ended; // resolves when the current answer has ended
  #next; // the question that is sent after the current answer
  #follows; // whether the end of the growing answer stays in sight
  #down; // the timer of an outage
  #found; // the question that the reader searches instead
  #view;
  #query; // of the view
  #wide; // the panel is docked beside the page
  #phone; // the panel covers the screen
  #scrolled = 0; // the page's last scroll position
  #state = {}; // what the next page needs: open, width, draft, place, everywhere, parked

  // Public API

  /** Open the panel; without `focus` the focus does not move. */
  open(focus = true) {
    if (!this.#button) this.#ready?.then(() => this.open());
    if (!this.#button || this.mode === "off" || this.#dialog?.open) return;
    this.#build();
    this.#opener = document.activeElement;
    while (this.#opener?.shadowRoot?.activeElement) this.#opener = this.#opener.shadowRoot.activeElement;
    this.#show(focus);
    this.toggleAttribute("open", true);
    this.#remember({ open: true, parked: false });
    this._emit("open");
  }
  /** Close the panel; a focus inside it returns to the previous element. */
  close() {
    if (!this.#dialog?.open) return;
    const inside = this.shadowRoot.activeElement;
    this.#dialog.close();
    this.removeAttribute("open");
    this.#remember({ open: false });
    this.#draw();
    this.#dock();
    const back = this.#opener?.isConnected && this.#opener !== document.body ? this.#opener : this.#button;
    if (inside) back.focus({ preventScroll: true });
    this._emit("close");
  }
  /** Put a question into the input. */
  async prefill(question) {
    await this.#ready;
    this.open();
    if (!this.#dialog) return;
    this.#input.value = question;
    this.#input.focus();
    this.#draw();
  }
  /** Send a question after the current answer has ended; without an endpoint, search sections. */
  async ask(question) {
    await this.#ready;
    question = String(question).trim().slice(0, 1000);
    this.open();
    if (!question || !this.#dialog || this.#send.disabled) return;
    if (this.#finds) return this.prefill(question);
    this.#recover();
    if (this.#input.value.trim() === question) this.#input.value = ""; // otherwise the reader is typing the next one
    if (this.#running?.signal.aborted) await this.#ended;
    if (this.#running) return this.#queue(joined(this.#next, question));
    await (this.#ended = this.#answer(question));
  }
  /** Stop the current answer. */
  stop() {
    this.#running?.abort();
  }
  /** Delete all turns. */
  reset() {
    this.stop();
    this.#queue();
    for (const turn of this.#turns.splice(0)) turn.article.remove();
    this.#found = undefined;
    this.#recover();
    this.#keep();
    this.#remember({ everywhere: undefined });
    if (this.#dialog) this.prefill("");
  }
  /** Send a question to the endpoint. */
  request(body, signal) {
    return this._post("v1/ask", body, signal);
  }
  fetch(...what) {
    return globalThis.fetch(...what);
  }
  get mode() {
    return this.getAttribute("mode") || "auto";
  }
  _emit(name, detail = {}) {
    return this.dispatchEvent(new CustomEvent(`roaming:${name}`, { detail, bubbles: true, composed: true, cancelable: true }));
  }

  // Lifecycle

  connectedCallback() {
    this.#wide ??= matchMedia("(min-width: 1100px)");
    this.#phone ??= matchMedia("(max-width: 599.98px)");
    this.#resized(); // a dialog that was removed and inserted again is no longer modal
    this.#ready ??= this.#begin();
    const { signal } = (this.#abort = new AbortController());
    const listen = (names, listener, target = globalThis) =>
      names.split(" ").forEach((name) => target.addEventListener(name, listener, { signal, passive: name === "scroll" }));
    listen("keydown", this.#pressed);
    listen("click", this.#invited);
    listen("focusin", this.#yield);
    listen("scroll resize", this.#moved);
    listen("online", () => this.#recover(true));
    listen("pagehide", () => this.#leave());
    listen("change", this.#resized, this.#wide);
    listen("change", this.#resized, this.#phone);
  }
  disconnectedCallback() {
    this.stop();
    this.#abort.abort();
    moveAside(0);
  }
  attributeChangedCallback(name, before, now) {
    if (!this.#button) return;
    if (this.mode === "off" || (name === "open" && now === null)) this.close();
    else if (name === "open") this.open();
    this.#draw();
  }
  #resized = () => {
    if (!this.#dialog?.open) return this.#button && this.#draw();
    this.#dialog.close();
    this.#show(false);
  };
  #pressed = (event) => {
    const key = this.getAttribute("shortcut") ?? "i";
    const open = this.#dialog?.open;
    if (event.defaultPrevented) return;
    if (event.key === "Escape") return open && !event.target.closest?.(TYPED) && this.#escape(event);
    if (!event[MODIFIER] || event.altKey || event.shiftKey) return;
    // With a non-Latin layout the physical key counts.
    if (event.key.toLowerCase() !== key && (event.key <= "~" || event.code.slice(3).toLowerCase() !== key)) return;
    if (event.target.isContentEditable || this.mode === "off") return;
    event.preventDefault();
    open ? this.close() : this.open();
  };
  /** Open the panel from any element with `data-roaming-open`; its value, if any, becomes the question. */
  #invited = (event) => {
    const question = event.target.closest?.("[data-roaming-open]")?.dataset.roamingOpen;
    if (question === undefined || event.defaultPrevented) return;
    event.preventDefault();
    if (question) this.prefill(question);
    else this.#dialog?.open && event.target.closest("[aria-expanded]") ? this.close() : this.open();
  };
  /** Close a panel that covers the focused element of the page; offer to ask in the search of Material. */
  #yield = ({ target }) => {
    if (target.matches?.("[data-md-component=search-query]") && this.#button && this.mode !== "off")
      import(new URL("roaming-search.js", HERE)).then(({ addRow }) => addRow(this, target, () => !this.#only), () => {});
    if (target === this || !this.#dialog?.open || !target.getBoundingClientRect) return;
    const { left, right, top, bottom } = target.getBoundingClientRect();
    const panel = this.#dialog.getBoundingClientRect();
    if (left >= panel.left && right <= panel.right && top >= panel.top && bottom <= panel.bottom) this.close();
  };
  /** Keep the panel below the page's header; hide the button of phones while the reader scrolls down. */
  #moved = () => {
    const by = scrollY - this.#scrolled;
    if (by) this.#button?.classList.toggle("away", by > 0);
    this.#scrolled = scrollY;
    if (this.#dialog) this.style.setProperty("--_top", `${headerEnd()}px`);
  };
  #leave() {
    if (this.#running) this.#keep();
    this.#remember({ draft: this.#input?.value ?? this.#state.draft, place: this.#log?.scrollTop ?? this.#state.place });
  }

  /** Create the button when the strings are loaded; the panel is created when it is first opened. */
  async #begin() {
    const load = async (address) => (await this.fetch(address)).json();
    const strings = this.getAttribute("strings"); // a URL, or the strings as JSON
    const language = this.#language;
    this.#state = recall(this.#store, PANEL) ?? {};
    if (this.#state.width) this.style.setProperty("--roaming-width", `${this.#state.width}px`);
    if (!this.#state.open || !this.#wide.matches || this.mode === "off") moveAside(0);
    try {
      if (TRANSLATED.includes(language)) this._words = { ...ENGLISH, ...(await load(new URL(`ask.${language}.json`, HERE))) };
      if (strings) this._words = { ...this._words, ...(strings[0] === "{" ? JSON.parse(strings) : await load(strings)) };
    } catch {} // keep English
    const root = this.attachShadow({ mode: "open" });
    if (!sheet) (sheet = new CSSStyleSheet()).replaceSync(STYLE);
    for (const button of headerButtons()) {
      button.ariaLabel = button.title = this._words.button;
      const key = button.querySelector("kbd");
      if (key && MODIFIER === "metaKey") key.textContent = key.textContent.replace("Ctrl ", "⌘");
    }
    root.adoptedStyleSheets = [sheet];
    const words = this._words;
    const attrs = { class: "opener", part: "button", "aria-haspopup": "dialog", "aria-expanded": "false" };
    this.#button = el("button", { type: "button", onclick: () => this.open(), ...attrs }, this._icon("ask"), el("span"));
    this.#parked = el(
      "div", { class: "parked", part: "back", hidden: true },
      el("button", { type: "button", onclick: () => this.open() }, this._icon("ask"), words.back),
      this._tool("x", words.close, () => this.#park(false)),
    );
    root.append(this.#button, this.#parked);
    // Typed keys must not trigger shortcuts of the site, such as "s" for its search. Ctrl and Meta pass.
    for (const kind of ["keydown", "keypress", "keyup"])
      root.addEventListener(kind, (event) => event.ctrlKey || event.metaKey || event.stopPropagation());
    root.addEventListener("click", this.#visit);
    const query = new URLSearchParams(location.search).get("ask");
    const { open = this.hasAttribute("open"), parked } = this.#state;
    this.#draw();
    if (parked) this.#park(true);
    if (open && !this.#phone.matches) this.open(false);
    this.#arrive();
    if (query) this.prefill(query);
  }
  /** Highlight the passage to which a citation on the previous page led. */
  async #arrive() {
    try {
      if (sessionStorage.getItem("roaming:passage")) (await import(new URL("roaming-passage.js", HERE))).arrive(this);
    } catch {} // forbidden
  }
  #build() {
    if (this.#dialog) return;
    const words = this._words;
    this.#input = el("textarea", {
      part: "input", rows: 1, maxlength: 1000, enterkeyhint: "send", dir: "auto",
      onkeydown: (event) => this.#typed(event),
      oninput: () => {
        this.#found = undefined;
        this.#draw();
      },
    });
    this.#input.value = this.#state.draft ?? "";
    const everywhere = () => {
      this.#remember({ everywhere: this._page.path });
      this.#draw();
      this.#input.focus();
    };
    this.#chip = el(
      "span", { class: "chip", part: "chip" }, this._icon("page"), words.here, this._tool("x", words.everywhere, everywhere),
    );
    this.#send = el("button", { part: "send", class: "tool send" });
    const submit = (event) => {
      event.preventDefault();
      this.#running ? this.stop() : this.#submit();
    };
    this.#intro = el("div", { part: "suggestions", class: "intro" });
    this.#notice = el("div");
    this.#hits = el("div");
    this.#flow = el("div", { class: "flow" }, this.#intro, this.#notice, this.#hits);
    const log = { class: "log", part: "log", tabindex: "0", role: "region", "aria-label": words.log, "aria-busy": "true" };
    this.#log = el("div", { ...log, onscroll: this.#reached, onwheel: this.#released, ontouchmove: this.#released }, this.#flow);
    new ResizeObserver(this.#reached).observe(this.#flow);
    this.#jump = this._tool("down", words.latest, this.#follow, { class: "tool latest-button", hidden: true });
    this.#waiting = el("p", { class: "small waiting" });
    this.#polite = el("div", { class: "sr", role: "status" });
    this.#alert = el("div", { class: "sr", role: "alert" });
    this.#title = el("span");
    this.#reset = this._tool("new", words.reset, () => this.reset(), { part: "reset" });
    this.#dialog = el(
      "dialog",
      { part: "panel", onkeydown: this.#escape, oncancel: this.#escape },
      this.#edge(),
      el(
        "div", { class: "head", part: "header" }, el("h2", { part: "title" }, this._icon("ask"), this.#title), this.#reset,
        this._tool("x", words.close, () => this.close(), { part: "close" }),
      ),
      this.#log,
      el(
        "div", { class: "foot" }, this.#jump, this.#waiting,
        el(
          "form", { part: "form", onsubmit: submit }, this._icon("find"), this.#input,
          el("div", { class: "bar" }, this.#chip, this.#send),
        ),
        el("p", { class: "small legal" }, words.legal),
      ),
      this.#polite,
      this.#alert,
    );
    this.shadowRoot.append(this.#dialog);
    this.#restored = this.#restore().finally(() => (this.#log.ariaBusy = "false"));
  }
  #show(focus = true) {
    this.#dialog.classList.toggle("opening", focus);
    this.#moved();
    this.#phone.matches ? this.#dialog.showModal() : (this.#dialog.open = true);
    this.#dock();
    this.#draw();
    if (focus) this.#input.focus();
  }
  /** Move the page aside if the panel is docked. */
  #dock() {
    const inset = this.#wide.matches && this.#dialog.open ? this.#dialog.offsetWidth : 0;
    moveAside(inset);
    if (inset) this.#remember({ inset });
  }
  /** Show or remove the bar that leads back to the answer. */
  #park(parked) {
    this.#remember({ parked });
    this.#draw();
  }
  /** Create the edge that changes the width of the panel by dragging or with arrow keys. */
  #edge() {
    const rtl = () => this.matches(":dir(rtl)");
    const size = (wanted) => {
      const width = Math.round(Math.min(WIDEST, Math.max(NARROWEST, wanted)));
      this.style.setProperty("--roaming-width", `${width}px`);
      edge.ariaValueNow = width;
      this.#remember({ width });
      this.#dock();
    };
    const edge = el("div", {
      class: "resize", role: "separator", tabindex: "0", "aria-orientation": "vertical", "aria-label": this._words.width,
      "aria-valuemin": NARROWEST, "aria-valuemax": WIDEST, "aria-valuenow": this.#state.width || 416,
      onpointerdown: ({ pointerId }) => edge.setPointerCapture(pointerId),
      onpointermove: ({ pointerId, clientX }) => {
        if (edge.hasPointerCapture(pointerId)) size(rtl() ? clientX : document.documentElement.clientWidth - clientX);
      },
      onkeydown: ({ key }) => {
        const step = { ArrowLeft: 32, ArrowRight: -32 }[key];
        if (step) size(this.#dialog.offsetWidth + (rtl() ? -step : step));
      },
    });
    return edge;
  }
  /** Create an icon by its name. */
  _icon(name) {
    return namedIcon(name);
  }
  _action(text, onclick, attrs = {}) {
    return el("button", { type: "button", onclick, ...attrs }, text);
  }
  /** Create a button that shows an icon, and its name as a tooltip. */
  _tool(name, label, onclick, attrs = {}) {
    return el("button", { type: "button", class: "tool", "aria-label": label, onclick, ...attrs }, this._icon(name));
  }

  // Scrolling

  /** Run a change above the text that is being read, and keep the text where it is: `anchor` must not move. */
  _hold(anchor, change) {
    const before = anchor.getBoundingClientRect().top;
    change();
    this.#log.scrollTop += anchor.getBoundingClientRect().top - before;
  }
  #reached = () => {
    const { scrollHeight, scrollTop, clientHeight } = this.#log;
    if (this.#follows) this.#log.scrollTop = scrollHeight;
    this.#jump.hidden = this.#follows || scrollHeight - scrollTop - clientHeight < 48;
  };
  /** Jump to the end, and stay there while the answer grows. */
  #follow = () => {
    this.#follows = !!this.#running;
    this.#log.scrollTop = this.#log.scrollHeight;
    this.#reached();
    this.#log.focus();
  };
  #released = () => {
    this.#follows = false;
  };

  // Keys and clicks

  #typed(event) {
    const { key, isComposing, keyCode, shiftKey } = event;
    const last = this.#next || this.#turns.at(-1)?.question;
    if (isComposing || keyCode === 229) return; // a key for the input method
    if (key === "Enter" && !shiftKey) this.#submit();
    else if (key === "ArrowUp" && !this.#input.value && last) {
      this.#queue();
      this.prefill(last);
    } else return;
    event.preventDefault();
  }
  /** Stop or close on Esc, or on another request of the system to close the dialog. */
  #escape = (event) => {
    if ((event.key ?? "Escape") !== "Escape" || event.isComposing) return;
    event.preventDefault();
    this.#running && event.cancelable ? this.stop() : this.close(); // otherwise the system closes it anyway
  };
  #submit() {
    if (!this.#input.value.trim()) this.#input.focus();
    else if (this.#finds) this.#hits.querySelector(".hit a")?.focus();
    else this.ask(this.#input.value);
  }
  #queue(question) {
    this.#next = question;
    this.#waiting.textContent = question ? fill(this._words.next, { question: plain(question) }) : "";
    this._say(this.#waiting.textContent);
  }
  /** Follow a link of this site with an anchor outside the shadow root, so that themes can navigate instantly. */
  #visit = (event) => {
    const href = event.target.closest("a")?.href.replace(/#?:~:.*/, ""); // roaming-passage.js highlights passages
    if (!href || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const inside = new URL(href).origin === location.origin;
    const goes = this._emit("navigate", { url: href });
    if (inside || !goes) event.preventDefault();
    if (!inside || !goes) return;
    const anchor = el("a", { href, hidden: true });
    this.append(anchor);
    if (this.#phone.matches) {
      this.close();
      this.#park(true);
    }
    anchor.click();
    anchor.remove();
  };
  /** Search sections for a question that the endpoint did not answer. */
  _search(question) {
    this.#found = question;
    this.prefill(question).then(() => this.#hits.scrollIntoView({ block: "nearest" }));
  }
  /** Allow links to a section of the endpoint. */
  _allow(url) {
    this.#known.add(url);
  }
  /** Refuse questions, or accept them again. */
  _wait(waiting) {
    this.#send.disabled = waiting;
  }
  _say(text, urgent) {
    (urgent ? this.#alert : this.#polite).textContent = text;
  }

  // Configuration

  get #endpoint() {
    const url = this.getAttribute("endpoint");
    return url && new URL(url.replace(/\/?$/, "/"), document.baseURI);
  }
  get #finds() {
    return this.#found !== undefined || this.#only;
  }
  /** Whether there is only the finder. */
  get #only() {
    return this.mode === "finder" || (this.mode === "auto" && !this.#endpoint);
  }
  /** Whether questions are about the current page first. */
  get #here() {
    return this.getAttribute("page-context") !== "off" && this.#state.everywhere !== this._page.path;
  }
  get #language() {
    return (this.closest("[lang]")?.lang || "en").toLowerCase().split("-")[0];
  }
  /** The data that the build wrote on the current page. */
  get _page() {
    const data = document.querySelector("template[data-roaming-page]")?.dataset ?? {};
    const address = this.getAttribute("manifest") || data.manifest || new URL("manifest.json", HERE);
    const manifest = new URL(address, document.baseURI);
    return { path: location.pathname, ...data, manifest, base: new URL("../", manifest) };
  }
  /** Return the URL of a link if it is allowed: of this site, of a section, or in `allow-links`. */
  _link = (address) => {
    const { base, site } = this._page;
    if (!URL.canParse(address, base)) return;
    let url = new URL(address, base);
    if (site && url.href.startsWith(site)) url = new URL(url.href.slice(site.length), base); // a preview of the site
    const allowed = [location.origin, ...(this.getAttribute("allow-links") ?? "").split(" ").filter(Boolean)];
    const fits = this.#known.has(address) || allowed.some((one) => `${url.href}/`.startsWith(one.replace(/\/?$/, "/")));
    if (fits && /^https?:$/.test(url.protocol) && !url.username) return url.href;
  };
  _anchor({ url }, text) {
    const href = url && this._link(url);
    return el(href ? "a" : "span", { href }, text);
  }
  _post(path, body, signal) {
    const headers = { "content-type": "application/json", accept: "text/event-stream" };
    const url = new URL(path, this.#endpoint);
    return this.fetch(url, { method: "POST", redirect: "error", headers, body: JSON.stringify(body), signal });
  }

  // Turns

  #add(turn) {
    this.#turns.at(-1)?.article.classList.remove("latest");
    turn.article.classList.add("latest");
    this.#notice.before(turn.article);
    this.#turns.push(turn);
  }
  /** Remove turns that ended before there was an answer: their question is asked again. */
  #clear() {
    for (const { empty, article } of this.#turns) if (empty) article.remove();
    this.#turns = this.#turns.filter(({ empty }) => !empty);
  }
  async #answer(question) {
    const { signal } = (this.#running = new AbortController());
    let turn, problem;
    try {
      await this.#restored;
      const Turn = (this.#Turn ??= await loadTurn()); // not a task later if it is loaded: the question is shown at once
      const turns = this.#turns.map((one) => one.signed).filter(Boolean).slice(-TURNS);
      const page = this.#here ? this._page.path : undefined;
      const scope = JSON.parse(this.getAttribute("scope"));
      turn = new Turn(this, question);
      this.#add(turn);
      this.#clear();
      this.#draw();
      this.#follows = false;
      this.#log.scrollTop = turn.article.offsetTop - this.#log.firstChild.offsetTop;
      this._emit("ask", { question });
      problem = await turn.run({ question, page, lang: this.#language, turns, scope }, signal);
    } catch {
      problem = { code: "lost" }; // a module could not be loaded
    }
    this.stop(); // ignore the rest of the stream
    this.#running = undefined;
    if (turn && !this.#turns.includes(turn)) return this.#draw(); // the reader has started over
    const next = this.#next;
    const input = joined(question, next);
    if (next) this.#queue();
    if (!turn || (problem?.code === "down" && this.mode === "auto")) {
      if (turn) {
        this.#turns.pop().article.remove();
        this.#down = setTimeout(() => this.#recover(true), OUTAGE);
      }
      this._say(turn ? this._words.down : this._words.lost, true);
      return this.prefill(joined(input, this.#input.value));
    }
    let failed;
    try {
      failed = turn.finish(problem);
    } catch {
      turn.status = undefined; // the response was invalid
      failed = turn.finish({ code: "lost" });
    }
    if (failed) {
      this.#input.value ||= input;
      if (this.shadowRoot.activeElement) this.#input.focus();
    }
    this.#keep();
    this.#draw();
    if (next && !failed) this.ask(next);
  }

  /** End an outage: questions are sent again. */
  #recover(announced) {
    if (!this.#down) return;
    this.#down = clearTimeout(this.#down);
    this.#draw();
    if (announced) this._say(this._words.online);
  }

  // Storage

  get #store() {
    return storage(this.getAttribute("persist") ?? "session");
  }
  get #key() {
    return `roaming:${this._page.base}`;
  }
  #save(value, key) {
    try {
      this.#store?.setItem(key, JSON.stringify(value));
      return true;
    } catch {} // full or forbidden
  }
  /** Store what the panel looks like for the next page. */
  #remember(state) {
    this.#save(Object.assign(this.#state, state), PANEL);
  }
  #keep() {
    const turns = this.#turns.map(({ question, parts, code }) => ({ question, parts, code }));
    this.#save(turns, this.#key) || this.#save(turns.slice(-TURNS), this.#key);
  }
  async #restore() {
    try {
      const stored = recall(this.#store, this.#key);
      if (!stored?.length) return;
      this.#flow.classList.add("restored");
      const Turn = (this.#Turn = await loadTurn());
      for (const { question, parts, code } of stored) {
        const turn = new Turn(this, question);
        for (const part of parts) turn.part(part);
        turn.finish(code && { code }, false);
        this.#add(turn);
      }
      this.#draw();
      this.#log.scrollTop = this.#state.place ?? this.#log.scrollHeight;
    } catch {} // written by another version
  }

  // Suggestions and search results

  #draw() {
    const words = this._words;
    const { open = false } = this.#dialog ?? {};
    const parked = this.#state.parked && this.#phone.matches;
    this.#button.lastChild.textContent = this.#only ? words.findButton : words.button;
    this.#button.hidden = open || parked || this.mode === "off";
    for (const one of [this.#button, ...headerButtons()]) one.ariaExpanded = open;
    this.#parked.hidden = !parked || open;
    if (!this.#dialog) return;
    const finds = this.#finds;
    const typed = this.#input.value;
    const query = finds || this.#down ? this.#found ?? typed : "";
    this.#dialog.classList.toggle("finder", this.#only);
    this.#title.textContent = this.#dialog.ariaLabel = this.#only ? words.findTitle : words.title;
    this.#reset.hidden = this.#only || !(this.#turns.length || this.#down);
    this.#input.placeholder = this.#input.ariaLabel = finds ? words.findPlaceholder : this.#turns.length ? words.followUp : words.placeholder;
    this.#chip.hidden = !this.#here;
    this.#drawSend(typed);
    this.#drawIntro(query);
    this.#drawNotice();
    this.#find(query);
  }
  #drawSend(typed) {
    const name = this.#running ? "stop" : "send";
    this.#send.classList.toggle("idle", !this.#running && !typed.trim());
    if (this.#send.ariaLabel === this._words[name]) return;
    this.#send.ariaLabel = this._words[name];
    this.#send.replaceChildren(this._icon(this.#running ? "stop" : "up"));
  }
  /** Show what can be asked, if nothing was asked or typed yet. */
  #drawIntro(query) {
    const words = this._words;
    const only = this.#only;
    this.#intro.hidden = this.#turns.length || query.trim() || this.#down;
    const suggestions = JSON.parse(this._page.suggestions ?? "[]").slice(0, 4);
    const key = JSON.stringify([only, suggestions]);
    if (this.#intro.dataset.key === key) return; // a new element would lose the focus
    this.#intro.dataset.key = key;
    const suggest = (text) => {
      const pick = () => (this.#only ? this.prefill(text) : this.ask(text));
      return el("li", {}, el("button", { type: "button", class: "pick", onclick: pick }, el("span", {}, text), this._icon("go")));
    };
    const hello = [el("span", {}, this._icon("ask")), el("h3", {}, words.hello)];
    this.#intro.replaceChildren(
      el("div", { class: "hello" }, ...(only ? [] : hello), el("p", {}, only ? words.findIntro : words.intro)),
      ...(suggestions.length ? [el("h4", { class: "label" }, words.suggested)] : []),
      el("ul", { class: "rows" }, ...suggestions.map(suggest)),
    );
  }
  #drawNotice() {
    const words = this._words;
    const down = this.#down && !this.#only;
    if (!down === !this.#notice.firstChild) return;
    const again = () => this.ask(this.#input.value);
    const text = [el("strong", {}, words.down), el("p", {}, words.kept)];
    const button = el("button", { type: "button", onclick: again }, this._icon("redo"), words.retry);
    this.#notice.replaceChildren(
      ...(down ? [el("div", { class: "notice", part: "error" }, this._icon("off"), el("div", {}, ...text, button))] : []),
    );
  }
  async #find(query) {
    this.#query = query;
    if (!query && !this.#view) return;
    try {
      const { View } = await import(new URL("roaming-find.js", HERE));
      this.#view ??= new View(this, this.#hits);
      if (query === this.#query) await this.#view.list(query); // otherwise a newer query has arrived
    } catch {
      this.#hits.textContent = this._words.lost;
    }
  }
}

drawHeader();
customElements.get("roaming-ask") ?? customElements.define("roaming-ask", RoamingAsk);
// A page that only loads this file gets the element, too.
const complete = () => {
  if (document.querySelector('script[src*="roaming-ask"]') && !document.querySelector("roaming-ask"))
    document.body.append(el("roaming-ask"));
};
document.readyState === "loading" ? addEventListener("DOMContentLoaded", complete) : complete();
