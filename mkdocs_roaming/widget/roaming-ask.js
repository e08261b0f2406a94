// <roaming-ask>: sends a question to an answer endpoint, shows which sections were read, and links every source.
//
//   <script type="module" src="roaming/roaming-ask.js"></script>
//   <roaming-ask endpoint="https://ask.example/"></roaming-ask>      without an endpoint it searches sections
//
// The modules next to this file are loaded on demand: roaming-turn.js and roaming-markdown.js with the first question,
// roaming-find.js and roaming-finder.js where sections are searched without an endpoint.
// There are no inline styles, no inline scripts and no HTML from strings, so the strictest content security policy
// works. Text from answers and manifests is only inserted as text nodes.

const HERE = import.meta.url;

// ------------------------------------------------------------------------------------------------------------- Strings
// Singular and plural are separated by "|". Translations are in ask.<language>.json next to this file.

const ENGLISH = {
  title: "Ask these docs",
  button: "Ask",
  close: "Close",
  reset: "Start over",
  intro: "Answers come from this documentation, with their sources.",
  findIntro: "Type a few words: the sections that fit open right here.",
  placeholder: "Ask a question",
  findPlaceholder: "Find a section",
  send: "Send",
  stop: "Stop",
  next: "Next: {question}",
  width: "Width of the panel",
  log: "Conversation",
  down: "No answers at the moment. Here is what the outline finds.",
  lost: "The connection was lost. Please ask again.",
};
const TRANSLATED = ["de", "es", "fr", "ja", "zh"];

/** Replace names in braces by their values; `n` selects singular or plural. */
export const fill = (text, values) => {
  const forms = `${text}`.split("|");
  return forms.at(values.n === 1 ? 0 : -1).replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
};
const joined = (...questions) => questions.filter(Boolean).join("\n");

// -------------------------------------------------------------------------------------------------------------- Styles

const STYLE = `
:host {
  --_bg: var(--roaming-bg, var(--md-default-bg-color, Canvas));
  --_fg: var(--roaming-fg, var(--md-default-fg-color, CanvasText));
  --_muted: var(--roaming-muted, color-mix(in srgb, var(--_fg) 76%, var(--_bg)));
  --_line: var(--roaming-border, color-mix(in srgb, var(--_fg) 13%, var(--_bg)));
  --_edge: color-mix(in srgb, var(--_fg) 50%, var(--_bg));
  --_soft: color-mix(in srgb, var(--_fg) 6%, var(--_bg));
  --_code: var(--roaming-code-bg, var(--md-code-bg-color, color-mix(in srgb, var(--_fg) 5%, var(--_bg))));
  --_source: var(--roaming-accent, var(--md-typeset-a-color, #3451b2));
  --_accent: var(--_source);
  --_on-accent: #fff;
  --_tint: color-mix(in srgb, var(--_accent) 9%, var(--_bg));
  --_mark: color-mix(in srgb, var(--_accent) 18%, var(--_bg));
  --_raise: var(--_bg);
  --_warn: #8a5300;
  --_danger: var(--roaming-danger, #b3261e);
  --_mono: var(--roaming-mono, var(--md-code-font-family, ui-monospace, Consolas, monospace));
  --_shadow: 0 0 0 1px var(--_line), 0 2px 6px #00000014, 0 16px 40px #00000029;
  --_ease: cubic-bezier(.2, 0, 0, 1);
  --_radius: var(--roaming-radius, .5em);
  all: initial;
  color-scheme: inherit;
  direction: inherit;
  font: var(--roaming-font-size, 16px)/1.5 var(--roaming-font, var(--md-text-font-family, system-ui, sans-serif));
}
@supports (color: oklch(from red l c h)) and (color: light-dark(#000, #fff)) {
  :host {
    --_accent: light-dark(oklch(from var(--_source) min(l, .5) c h), oklch(from var(--_source) max(l, .74) c h));
    --_on-accent: light-dark(#fff, #14161c);
    --_raise: light-dark(var(--_bg), color-mix(in srgb, #fff 6%, var(--_bg)));
    --_warn: light-dark(#8a5300, #f0b65a);
    --_danger: var(--roaming-danger, light-dark(#b3261e, #ff9d94));
  }
}
:host([hidden]), [hidden], :empty:not(hr, textarea, th, td, [role]), dialog:modal .resize { display: none !important }
* { box-sizing: border-box; margin: 0; padding: 0; font: inherit; color: inherit; overflow-wrap: anywhere }
:focus-visible { outline: 2px solid var(--roaming-focus, var(--_accent)); outline-offset: 2px }
button { cursor: pointer; min-height: 2em; min-width: 2em; padding: 0 .7em; background: none;
  border: 1px solid var(--_line); border-radius: var(--_radius) }
button:hover { background: var(--_code) }
:disabled { opacity: .5; cursor: default }
a { color: var(--_accent); text-underline-offset: .15em }
ul, ol { padding-inline-start: 1.4em }
.icon { width: 18px; height: 18px; fill: none; stroke: currentColor; stroke-width: 1.6; stroke-linecap: round;
  stroke-linejoin: round; flex: none }
.icon.mirrored:dir(rtl) { scale: -1 1 }
.muted, summary { color: var(--_muted); font-size: .875em }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
.opener, dialog { position: fixed; z-index: var(--roaming-z, 1050) }
.opener { inset-block-end: var(--roaming-offset-block, 1.25em); inset-inline-end: var(--roaming-offset-inline, 1.25em);
  padding: .6em 1.2em; border-radius: 2em; box-shadow: 0 2px 8px #0004 }
.opener, form button { font-weight: 600; color: var(--_on-accent); background: var(--_accent);
  border-color: var(--_on-accent) }
.opener:hover, form button:hover { background: color-mix(in srgb, var(--_accent) 88%, var(--_on-accent)) }
dialog { inset-block: 0; inset-inline: auto 0; width: var(--roaming-width, 26em); min-width: 18em; max-width: 100%;
  height: var(--roaming-height, 100dvh); max-height: none; border: 0 solid var(--_line); border-inline-start-width: 1px;
  color: var(--_fg); background: var(--_bg); box-shadow: 0 0 24px #0003 }
dialog[open] { display: flex; flex-direction: column }
dialog:modal { width: 100%; height: 100dvh }
.resize { position: absolute; inset-block: 0; inset-inline-start: 0; width: 8px; cursor: ew-resize; touch-action: none }
.resize:is(:hover, :focus-visible) { background: var(--_accent); outline-offset: -2px }
.head, form { display: flex; gap: .4em; align-items: center; padding: .6em 1em; border: 0 solid var(--_line) }
.head { border-block-end-width: 1px }
.head button { border-color: transparent }
form { border-block-start-width: 1px; align-items: end }
h2 { flex: 1 }
h2, h3, h4, strong, th { font-weight: 700 }
.log { flex: 1; overflow: auto; padding: 1em; overscroll-behavior: contain }
.turn { display: grid; grid-template-columns: minmax(0, 1fr); gap: .7em; padding-block-end: 1.2em }
.turn + .turn { padding-block-start: 1.2em; border-block-start: 1px solid var(--_line) }
h3 { font-size: 1.1em; line-height: 1.3; white-space: pre-wrap }
summary { cursor: pointer; min-height: 2em }
.trail ul { list-style: none; border-inline-start: 2px solid var(--_line); padding-inline-start: .9em }
.trail > ul { font-size: .9em }
.trail a, ol > li > a { display: inline-block; min-height: 24px; vertical-align: top }
.answer > * + *, .answer :is(li, blockquote) > * + * { margin-block-start: .7em }
em { font-style: italic }
pre, code { font-family: var(--_mono); background: var(--_code) }
code { font-size: .875em; border-radius: .25em; padding: .1em .25em }
pre { overflow: auto; border: 1px solid var(--_line); border-radius: var(--_radius); padding: .6em 1em }
pre code { padding: 0; background: none; white-space: pre }
blockquote, .alert { border-inline-start: 3px solid var(--_line); padding-inline-start: .9em }
.alert { border-color: var(--_danger) }
hr { border: 0 solid var(--_line); border-block-start-width: 1px }
.wide { overflow: auto }
.wide * { overflow-wrap: normal }
table { border-collapse: collapse; font-size: .9em }
th, td { border: 1px solid var(--_line); padding: .3em .6em; text-align: start }
sup { font-size: .75em; line-height: 0 }
.cite { padding: .6em .5em; margin: 0 -.4em; font-weight: 600; text-decoration: none }
mark { background: none; text-decoration: underline dotted 2px var(--_danger); text-underline-offset: .2em }
.row { display: flex; flex-wrap: wrap; gap: .4em; font-size: .875em }
.suggest button { display: block; text-align: start; width: 100%; padding: .6em 1em; margin-block-start: .6em }
textarea { flex: 1; min-width: 0; resize: none; max-height: 10em; padding: .6em 1em; field-sizing: content;
  background: none; border: 1px solid var(--_muted); border-radius: var(--_radius) }
textarea::placeholder { color: var(--_muted); opacity: 1 }
form button { padding: .6em .9em }
.task { list-style: none; margin-inline-start: -1.2em }
[aria-busy=true] > .muted::before { content: "● " / ""; color: var(--_accent); animation: 1s alternate infinite busy }
@media (prefers-reduced-motion) { ::before { animation: none !important } }
@keyframes busy { to { opacity: .2 } }
@media (forced-colors: active) { :host { --_accent: ButtonFace; --_on-accent: ButtonText } }
@media print { :host { display: none } }
`;
let sheet; // created once, by the first element on a page

// ------------------------------------------------------------------------------------------------------------ Elements

// Icons: a 24 px grid, 1.6 px strokes. The second path, if there is one, is filled.
const ICONS = {
  ask: [
    "M12 3.5c5 0 9 3.4 9 7.9s-4 7.9-9 7.9c-1 0-2-.1-2.9-.4L4 20.5l1.3-3.8C3.9 15.3 3 13.5 3 11.4c0-4.5 4-7.9 9-7.9Z",
    "M12 6.5c.4 3.1 1.6 4.4 4.8 4.9-3.2.5-4.4 1.8-4.8 4.9-.4-3.1-1.6-4.4-4.8-4.9 3.2-.5 4.4-1.8 4.8-4.9Z",
  ],
  chat: ["M4 7a2 2 0 0 1 2-2h12a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-7l-5 3.5V17a2 2 0 0 1-2-2Z"],
  chev: ["m9 6 6 6-6 6"],
  down: ["M12 5v14m6-6-6 6-6-6"],
  find: ["M4.5 11a6.5 6.5 0 1 0 13 0 6.5 6.5 0 0 0-13 0M20 20l-4.3-4.3"],
  go: ["M5 12h14m-5-5 5 5-5 5"],
  info: ["M3.5 12a8.5 8.5 0 1 0 17 0 8.5 8.5 0 0 0-17 0M12 8v5m0 3v.01"],
  new: ["M11 5H6a2 2 0 0 0-2 2v11a2 2 0 0 0 2 2h11a2 2 0 0 0 2-2v-5M9 15l.7-3.2L17.5 4A1.8 1.8 0 0 1 20 6.5l-7.8 7.8Z"],
  next: ["M6 5v6a3 3 0 0 0 3 3h9m-4-4 4 4-4 4"],
  off: ["M4 4l16 16M8.5 6.6a6 6 0 0 1 9 4.4 4 4 0 0 1 2.6 6.5M16 19H8a5 5 0 0 1-1.6-9.7"],
  ok: ["m5 12.5 4.5 4.5L19 7.5"],
  page: ["M14 3.5H7.5A1.5 1.5 0 0 0 6 5v14a1.5 1.5 0 0 0 1.5 1.5h9A1.5 1.5 0 0 0 18 19V7.5Zm0 0v4h4M9.5 12.5h5m-5 3.5h5"],
  redo: ["M19 12a7 7 0 1 1-2.2-5.1L19 9m0-5v5h-5"],
  ret: ["M19 6v5a3 3 0 0 1-3 3H6m4-4-4 4 4 4"],
  stop: ["", "M9 7h6a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2H9a2 2 0 0 1-2-2V9a2 2 0 0 1 2-2Z"],
  up: ["M12 19V5m-6 6 6-6 6 6"],
  x: ["m6 6 12 12M18 6 6 18"],
};
const MIRRORED = ["chev", "go", "next", "ret"]; // in right-to-left pages
const svg = (tag, attrs, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const name in attrs) node.setAttribute(name, attrs[name]);
  node.append(...children);
  return node;
};

/** Create an icon of path data: one path that is drawn, and one that is filled. */
export function icon(drawn, filled) {
  const fill = filled ? [svg("path", { d: filled, fill: "currentColor", stroke: "none" })] : [];
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": true }, svg("path", { d: drawn }), ...fill);
}

// Direction overrides could disguise what a text says.
export const plain = (text) => String(text).replace(/[\u202a-\u202e\u2066-\u2069\0-\b]/g, "");

/** Create an element: names with `on…` are listeners, the others attributes unless they are empty. */
export function el(tag, attrs = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value) node.setAttribute(name, value === true ? "" : plain(value));
  }
  node.append(...children.filter(Boolean).map((child) => (child.nodeType ? child : plain(child))));
  return node;
}

// ------------------------------------------------------------------------------------------------------------- Element

const TURNS = 6; // number of turns that are stored and sent as conversation
const loadTurn = async () => (await import(new URL("roaming-turn.js", HERE))).Turn;
const MODIFIER = /^(Mac|iP)/.test(navigator.platform) ? "metaKey" : "ctrlKey";

/** The element. It dispatches bubbling events `roaming:…`; `request` and `fetch` may be overridden. */
export class RoamingAsk extends HTMLElement {
  static observedAttributes = ["open", "mode", "endpoint"];
  _words = ENGLISH;
  #Turn; // the class, once it is loaded
  #turns = [];
  #known = new Set(); // URLs of sections from the endpoint
  #ready;
  #button;
  #dialog;
  #log;
  #intro;
  #hits;
  #input;
  #send;
  #polite;
  #alert;
  #opener; // the element that gets the focus back
  #abort; // aborts the listeners on the page
  #restored; // resolves when the turns of the previous page are shown
  #running; // aborts the current answer
  #ended; // resolves when the current answer has ended
  #next; // the question that is sent after the current answer
  #waiting;
  #down = 0; // in mode auto, sections are searched until this time
  #found; // the question that the reader searches instead
  #view;
  #wide;

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
    this._emit("open");
  }
  /** Close the panel; a focus inside it returns to the previous element. */
  close() {
    if (!this.#dialog?.open) return;
    const inside = this.shadowRoot.activeElement;
    this.#dialog.close();
    this.removeAttribute("open");
    this.#button.ariaExpanded = "false";
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
    this.#keep();
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
    this.#wide ??= matchMedia("(min-width: 48.01em)");
    this.#resized(); // a dialog that was removed and inserted again is no longer modal
    this.#ready ??= this.#begin();
    const { signal } = (this.#abort = new AbortController());
    addEventListener("keydown", this.#shortcut, { signal });
    addEventListener("pagehide", () => this.#running && this.#keep(), { signal });
    this.#wide.addEventListener("change", this.#resized, { signal });
  }
  disconnectedCallback() {
    this.stop();
    this.#abort.abort();
  }
  attributeChangedCallback(name, before, now) {
    if (!this.#button) return;
    this.#button.hidden = this.mode === "off";
    if (this.mode === "off" || (name === "open" && now === null)) this.close();
    else if (name === "open") this.open();
    else this.#draw();
  }
  #resized = () => {
    if (!this.#dialog?.open) return;
    this.#dialog.close();
    this.#show();
  };
  #shortcut = (event) => {
    const key = this.getAttribute("shortcut") ?? "i";
    if (!event[MODIFIER] || event.altKey || event.shiftKey) return;
    // With a non-Latin layout the physical key counts.
    if (event.key.toLowerCase() !== key && (event.key <= "~" || event.code.slice(3).toLowerCase() !== key)) return;
    if (event.defaultPrevented || event.target.isContentEditable || this.mode === "off") return;
    event.preventDefault();
    this.#dialog?.open ? this.close() : this.open();
  };

  /** Create the button when the strings are loaded; the panel is created when it is first opened. */
  async #begin() {
    const load = async (address) => (await this.fetch(address)).json();
    const strings = this.getAttribute("strings"); // a URL, or the strings as JSON
    const language = this.#language;
    try {
      if (TRANSLATED.includes(language)) this._words = { ...ENGLISH, ...(await load(new URL(`ask.${language}.json`, HERE))) };
      if (strings) this._words = { ...this._words, ...(strings[0] === "{" ? JSON.parse(strings) : await load(strings)) };
    } catch {} // keep English
    const root = this.attachShadow({ mode: "open" });
    if (!sheet) (sheet = new CSSStyleSheet()).replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    const attrs = { class: "opener", part: "button", "aria-haspopup": "dialog", hidden: this.mode === "off" };
    root.append((this.#button = this._action(this._words.button, () => this.open(), attrs)));
    // Typed keys must not trigger shortcuts of the site, such as "s" for its search. Ctrl and Meta pass.
    for (const kind of ["keydown", "keypress", "keyup"])
      root.addEventListener(kind, (event) => event.ctrlKey || event.metaKey || event.stopPropagation());
    root.addEventListener("click", this.#follow);
    const query = new URLSearchParams(location.search).get("ask");
    if (this.hasAttribute("open") && this.#wide.matches) this.open(false);
    if (query) this.prefill(query);
  }
  #build() {
    if (this.#dialog) return;
    const words = this._words;
    const icon = (sign, part, act) => this._action(sign, act, { part, title: words[part], "aria-label": words[part] });
    this.#input = el("textarea", {
      part: "input", rows: 1, maxlength: 1000, enterkeyhint: "send", dir: "auto",
      onkeydown: (event) => this.#typed(event),
      oninput: () => {
        this.#found = undefined;
        this.#draw();
      },
    });
    this.#send = el("button", { part: "send" });
    const submit = (event) => {
      event.preventDefault();
      this.#running ? this.stop() : this.#submit();
    };
    this.#intro = el("div", { part: "suggestions", class: "suggest" });
    this.#hits = el("div");
    this.#log = el(
      "div", { class: "log", part: "log", tabindex: "0", role: "region", "aria-label": words.log }, this.#intro, this.#hits,
      (this.#waiting = el("p", { class: "muted" })),
    );
    this.#polite = el("div", { class: "sr", role: "status" });
    this.#alert = el("div", { class: "sr", role: "alert" });
    this.#dialog = el(
      "dialog",
      { part: "panel", "aria-label": words.title, onkeydown: this.#escape, oncancel: this.#escape },
      this.#edge(),
      el(
        "div", { class: "head", part: "header" }, el("h2", { part: "title" }, words.title),
        icon("↺", "reset", () => this.reset()), icon("✕", "close", () => this.close()),
      ),
      this.#log,
      el("form", { part: "form", onsubmit: submit }, this.#input, this.#send),
      this.#polite,
      this.#alert,
    );
    this.shadowRoot.append(this.#dialog);
    this.#log.ariaBusy = "true";
    this.#restored = this.#restore().finally(() => (this.#log.ariaBusy = "false"));
  }
  #show(focus = true) {
    this.#wide.matches ? (this.#dialog.open = true) : this.#dialog.showModal();
    this.#button.ariaExpanded = "true";
    this.#draw();
    if (focus) this.#input.focus();
  }
  /** Create the edge that changes the width of the panel by dragging or with arrow keys. */
  #edge() {
    const rtl = () => this.matches(":dir(rtl)");
    const size = (width) => {
      this.style.setProperty("--roaming-width", `${width}px`);
      edge.ariaValueNow = Math.round((100 * width) / innerWidth);
    };
    const edge = el("div", {
      class: "resize", role: "separator", tabindex: "0", "aria-orientation": "vertical", "aria-label": this._words.width,
      "aria-valuenow": "30",
      onpointerdown: ({ pointerId }) => edge.setPointerCapture(pointerId),
      onpointermove: ({ pointerId, clientX }) => {
        if (edge.hasPointerCapture(pointerId)) size(rtl() ? clientX : innerWidth - clientX);
      },
      onkeydown: ({ key }) => {
        const step = { ArrowLeft: 32, ArrowRight: -32 }[key];
        if (step) size(this.#dialog.offsetWidth + (rtl() ? -step : step));
      },
    });
    return edge;
  }
  /** Return one of the icons above. */
  _icon(name) {
    const drawn = icon(...ICONS[name]);
    drawn.classList.toggle("mirrored", MIRRORED.includes(name));
    return drawn;
  }
  _action(text, onclick, attrs = {}) {
    return el("button", { type: "button", onclick, ...attrs }, text);
  }

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
    if (this.#finds) this.#hits.querySelector("summary")?.focus();
    else this.ask(this.#input.value);
  }
  #queue(question) {
    this.#next = question;
    this.#waiting.textContent = question ? fill(this._words.next, { question: plain(question) }) : "";
    this._say(this.#waiting.textContent);
  }
  /** Follow a link of this site with an anchor outside the shadow root, so that themes can navigate instantly. */
  #follow = (event) => {
    const href = event.target.closest("a")?.href;
    if (!href || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const inside = new URL(href).origin === location.origin;
    const goes = this._emit("navigate", { url: href });
    if (inside || !goes) event.preventDefault();
    if (!inside || !goes) return;
    const anchor = el("a", { href, hidden: true });
    this.append(anchor);
    if (!this.#wide.matches) this.close();
    anchor.click();
    anchor.remove();
  };
  /** Search sections for a question that the endpoint did not answer. */
  _search(question) {
    this.#found = question;
    this.prefill(question);
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
    if (this.#found !== undefined || this.mode === "finder") return true;
    return this.mode === "auto" && (!this.#endpoint || Date.now() < this.#down);
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
    this.#hits.before(turn.article);
    this.#turns.push(turn);
    if (this.#turns.length > TURNS) this.#turns.shift().article.remove();
  }
  async #answer(question) {
    const { signal } = (this.#running = new AbortController());
    let turn, problem;
    try {
      await this.#restored;
      const Turn = (this.#Turn ??= await loadTurn()); // not a task later if it is loaded: the question is shown at once
      const turns = this.#turns.map((one) => one.signed).filter(Boolean);
      const page = this.getAttribute("page-context") === "off" ? undefined : this._page.path;
      const scope = JSON.parse(this.getAttribute("scope"));
      turn = new Turn(this, question);
      this.#add(turn);
      this.#draw();
      turn.article.scrollIntoView();
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
        this.#down = Date.now() + 60_000;
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

  // Storage

  get #store() {
    return { session: sessionStorage, local: localStorage }[this.getAttribute("persist") ?? "session"];
  }
  get #key() {
    return `roaming:${this._page.base}`;
  }
  #keep() {
    const turns = this.#turns.map(({ question, parts, code }) => ({ question, parts, code }));
    try {
      this.#store?.setItem(this.#key, JSON.stringify(turns));
    } catch {} // full or forbidden
  }
  async #restore() {
    try {
      const stored = JSON.parse(this.#store?.getItem(this.#key) ?? "[]");
      if (!stored.length) return;
      const Turn = (this.#Turn = await loadTurn());
      for (const { question, parts, code } of stored) {
        const turn = new Turn(this, question);
        for (const part of parts) turn.part(part);
        turn.finish(code && { code }, false);
        this.#add(turn);
      }
      this.#draw();
    } catch {} // forbidden, or written by another version
  }

  // Suggestions and search results

  #draw() {
    if (!this.#dialog) return;
    const words = this._words;
    const finds = this.#finds;
    const query = finds ? this.#found ?? this.#input.value : "";
    this.#input.placeholder = this.#input.ariaLabel = finds ? words.findPlaceholder : words.placeholder;
    this.#send.textContent = this.#running ? words.stop : words.send;
    this.#send.hidden = finds;
    this.#intro.hidden = this.#turns.length || query.trim();
    const suggest = (text) => this._action(text, () => (finds ? this.prefill(text) : this.ask(text)));
    const suggestions = JSON.parse(this._page.suggestions ?? "[]").slice(0, 4);
    this.#intro.replaceChildren(el("p", {}, finds ? words.findIntro : words.intro), ...suggestions.map(suggest));
    this.#find(query);
  }
  async #find(query) {
    if (!query && !this.#view) return;
    try {
      const { View } = await import(new URL("roaming-find.js", HERE));
      this.#view ??= new View(this, this.#hits);
      await this.#view.list(query, Date.now() < this.#down && this._words.down);
    } catch {
      this.#hits.textContent = this._words.lost;
    }
  }
}

customElements.get("roaming-ask") ?? customElements.define("roaming-ask", RoamingAsk);
// A page that only loads this file gets the element, too.
if (document.querySelector('script[src*="roaming-ask"]') && !document.querySelector("roaming-ask"))
  document.body.append(el("roaming-ask"));
