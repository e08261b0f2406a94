// <roaming-ask>: sends a question to an answer endpoint, shows which sections were read, and links every source.
//
//   <script type="module" src="roaming/roaming-ask.js"></script>
//   <roaming-ask endpoint="https://ask.example/"></roaming-ask>      without an endpoint it searches sections
//
// The modules next to this file are loaded on demand: roaming-turn.js and what it imports with the first question,
// roaming-find.js and roaming-finder.js where sections are searched without an endpoint.
// There are no inline styles, no inline scripts and no HTML from strings, so the strictest content security policy
// works. Text from answers and manifests is only inserted as text nodes.

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

/** Replace names in braces by their values; `n` selects singular or plural. */
export const fill = (text, values) => {
  const forms = `${text}`.split("|");
  return forms.at(values.n === 1 ? 0 : -1).replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
};
const joined = (...questions) => questions.filter(Boolean).join("\n");

// -------------------------------------------------------------------------------------------------------------- Styles

const STYLE = `
:host {
  --_bg: var(--roaming-bg, var(--md-default-bg-color, var(--bs-body-bg, Canvas)));
  --_fg: var(--roaming-fg, var(--md-default-fg-color, var(--bs-emphasis-color, CanvasText)));
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
  --_radius: var(--roaming-radius, 8px);
  --_width: var(--roaming-width, 416px);
  --_tip: color-mix(in srgb, var(--_fg) 100%, var(--_bg));
  all: initial;
  color-scheme: inherit;
  direction: inherit;
  font-family: var(--roaming-font, var(--md-text-font-family, inherit));
  font-size: var(--roaming-font-size, 15px);
  line-height: 1.6;
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
:host([hidden]), [hidden], :is(div, p, ul, span, h4):empty:not([role]), dialog:modal .resize { display: none !important }
* { box-sizing: border-box; margin: 0; padding: 0; font: inherit; color: inherit; overflow-wrap: anywhere }
:focus-visible { outline: 2px solid var(--roaming-focus, var(--_accent)); outline-offset: 2px }
button { cursor: pointer }
:disabled { opacity: .5; cursor: default }
a { color: var(--_accent); text-underline-offset: .2em; text-decoration-thickness: 1px }
ul, ol { padding-inline-start: 1.4em }
h2, h3, h4, strong, th { font-weight: 700 }
.icon { width: 18px; height: 18px; fill: none; stroke: currentColor; stroke-width: 1.6; stroke-linecap: round;
  stroke-linejoin: round; flex: none }
.icon.mirrored:dir(rtl) { scale: -1 1 }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
.muted, summary { color: var(--_muted); font-size: .8667em; line-height: 1.54 }
.small { color: var(--_muted); font-size: .8em; line-height: 1.334 }
.label { margin-block: 24px 8px; font-size: .8em; line-height: 1.334; font-weight: 700; color: var(--_muted) }

/* English texts on a right-to-left page keep their full stops at the end */
:is(p, li, h3, h4, strong, span, summary, button, a, td, th):dir(rtl):not(pre *) { unicode-bidi: plaintext; text-align: right }

/* Buttons: outlined, or an icon whose name appears above it */
button:where(:not(.tool)), .button { display: inline-flex; align-items: center; gap: 8px; min-height: 36px; padding: 0 14px;
  border: 1px solid var(--_edge); border-radius: var(--_radius); background: var(--_bg); color: var(--_fg);
  font-size: .9333em; font-weight: 700; text-decoration: none }
button:hover, .button:hover { background: var(--_soft) }
.tool { position: relative; display: grid; place-items: center; flex: none; width: 32px; height: 32px; border: 0;
  border-radius: var(--_radius); background: none; color: var(--_muted) }
.tool:hover { background: var(--_soft); color: var(--_fg) }
.tool[aria-pressed=true] { background: var(--_soft); color: var(--_accent) }
.tool[aria-label]::after { content: attr(aria-label) / ""; display: none; position: absolute; z-index: 2;
  inset-block-end: calc(100% + 6px); padding: 4px 8px; border-radius: 6px; background: var(--_tip); color: var(--_bg);
  font-size: .8em; line-height: 1.334; white-space: nowrap; pointer-events: none; animation: .12s .4s backwards fade }
.tool:is(:hover, :focus-visible)::after { display: block }
.tool:focus-visible::after { animation-delay: 0s }
.head .tool::after { inset-block: calc(100% + 6px) auto; inset-inline-end: 0 }

/* Rows in a frame: suggestions, sources, results */
.rows { list-style: none; padding: 0; border: 1px solid var(--_line); border-radius: 12px; overflow: hidden }
.rows > * + * { border-block-start: 1px solid var(--_line) }
.rows :focus-visible { outline-offset: -2px; border-radius: 11px }
.pick { display: flex; width: 100%; min-height: 48px; gap: 12px; align-items: center; padding: 12px 12px 12px 16px; border: 0;
  border-radius: 0; background: none; font-size: 1em; font-weight: 400; text-align: start }
.pick span { flex: 1 }
.pick .icon { color: var(--_muted); transition: translate .16s var(--_ease) }
.pick:hover .icon { color: var(--_accent); translate: 2px }
.pick:dir(rtl) { padding: 12px 16px 12px 12px }
.pick:dir(rtl):hover .icon { translate: -2px }

/* The button that opens the panel, and the bar that leads back to an answer on a phone */
.opener, .parked, dialog { position: fixed; z-index: var(--roaming-z, 3) }
.opener, .parked { inset-block-end: var(--roaming-offset-block, 24px); inset-inline-end: var(--roaming-offset-inline, 24px);
  border: 1px solid var(--_line); background: var(--_raise); box-shadow: 0 1px 2px #0000000d, 0 6px 16px #00000014 }
.opener { min-height: 44px; padding: 0 16px 0 12px; border-radius: 22px; color: var(--_fg); font-weight: 400;
  transition: box-shadow .16s, translate .16s var(--_ease) }
.opener:hover { background: var(--_raise); translate: 0 -1px; box-shadow: 0 2px 4px #0000000f, 0 10px 24px #0000001f }
:is(.opener, .parked button:first-child, h2, .hello) .icon { color: var(--_accent) }
.parked { inset-inline: 16px; inset-block-end: 16px; display: flex; align-items: center; padding: 3px; border-radius: 14px;
  color: var(--_fg) }
.parked button:first-child { flex: 1; gap: 12px; min-height: 44px; border: 0; background: none; font-weight: 400 }

/* The panel: docked below the header; on narrower screens it floats, on a phone it covers the screen */
dialog { inset-block: var(--roaming-top, var(--_top, 0px)) 0; inset-inline: auto 0; width: var(--_width);
  height: var(--roaming-height, auto); max-width: 100%; max-height: none; border: 0 solid var(--_line);
  border-inline-start-width: 1px; color: var(--_fg); background: var(--_bg) }
dialog[open] { display: flex; flex-direction: column }
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
h2 { flex: 1; display: flex; gap: 8px; align-items: center }
.log { flex: 1; min-height: 0; overflow: auto; container-type: size; padding: 8px 20px 24px; overscroll-behavior: contain;
  scrollbar-width: thin; scrollbar-color: var(--_line) transparent }
.log:focus-visible { outline-offset: -2px }
.flow { display: flex; flex-direction: column; min-height: 100cqh }
.flow > * { min-width: 0; animation: .2s var(--_ease) rising }
.restored > * { animation: none }
.latest { min-height: 100cqh; align-content: start }

/* Nothing asked yet: just above the input */
.intro { margin-block-start: auto }
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
.latest-button { position: absolute; inset: -44px 0 auto; margin-inline: auto; border-radius: 50%; background: var(--_raise);
  box-shadow: var(--_shadow); color: var(--_fg) }
.latest-button:hover { background: var(--_raise) }
.waiting { padding: 0 4px 8px }
form { position: relative; padding: 4px; border: 1px solid var(--_edge); border-radius: 12px; background: var(--_bg) }
form:focus-within { border-color: var(--_accent); box-shadow: 0 0 0 1px var(--_accent) }
form:not(:has(textarea:focus)):focus-within { border-color: var(--_edge); box-shadow: none }
textarea { display: block; width: 100%; min-height: 40px; max-height: 144px; padding: 8px 12px 4px; border: 0; outline: 0;
  resize: none; field-sizing: content; background: none }
textarea:focus-visible { outline: 0 }
textarea::placeholder { color: var(--_muted); opacity: 1 }
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
.legal { padding: 8px 4px 0 }

/* The finder: its field is on top, since nothing is written back */
.finder .foot { order: 1; padding-block: 4px 8px }
.finder .foot::before, .finder .head::after, .finder h2 .icon, .finder :is(.bar, .legal, .latest-button) { display: none }
.finder form { display: flex; align-items: center; padding-block: 1px; padding-inline-start: 12px }
.finder .log { order: 2 }
form > .icon { display: none; color: var(--_muted) }
.finder form > .icon { display: block }
.finder .intro { margin-block-start: 0 }
.finder article { display: none }

summary { cursor: pointer; min-height: 2em }
.alert { border-inline-start: 3px solid var(--_danger); padding-inline-start: 12px }
.row { display: flex; flex-wrap: wrap; gap: .4em; font-size: .875em }
@media (min-width: 1100px) and (max-width: 1219px) { :host { --_width: var(--roaming-width, 376px) } }
@media (max-width: 1099px) { dialog { box-shadow: 0 0 40px #00000026 } }
@media (max-width: 599px) {
  dialog { inset: 0; width: 100%; height: 100dvh; border: 0; padding-block-end: env(safe-area-inset-bottom) }
  .head { height: 56px; padding-inline: 16px 4px }
  .log, .foot { padding-inline: 16px }
  .tool, .send { width: 44px; height: 44px }
  .latest-button { inset-block-start: -52px }
  textarea { font-size: max(16px, 1em) }
  .chip { height: 36px }
  .chip .tool { width: 34px; height: 34px }
  .chip .tool::before { inset: -5px }
  button:where(:not(.tool)), .button { min-height: 44px }
  .opener { inset-block-end: var(--roaming-offset-block, 16px); inset-inline-end: var(--roaming-offset-inline, 16px);
    width: 48px; height: 48px; padding: 0; gap: 0; justify-content: center; border-radius: 24px; font-size: 0 }
  .opener .icon { width: 22px; height: 22px }
  .opener.away:not(:focus-visible) { translate: 0 80px; visibility: hidden; transition: .2s var(--_ease) }
}
@media (max-height: 420px) {
  .head { height: 44px }
  .chip, .legal { display: none }
  form { display: flex; align-items: end }
}
@media (prefers-reduced-motion) { *, ::before, ::after { animation: none !important; transition: none !important } }
@keyframes fade { from { opacity: 0 } }
@keyframes rising { from { opacity: 0; translate: 0 4px } }
@keyframes opening { from { opacity: 0; translate: 12px } }
@media (forced-colors: active) {
  .chip, .tool, .opener, .parked, .hello > span { border: 1px solid }
  .send { forced-color-adjust: none; background: ButtonFace; color: ButtonText; border: 1px solid ButtonText }
  :focus-visible, form:focus-within { outline: 2px solid Highlight }
}
@media print { :host { display: none } }
`;
let sheet; // created once, by the first element on a page

// The page beside a docked panel. Themes have sidebars of a fixed width, which leave little room between them.
const PAGE_STYLE = `
@media screen and (min-width: 1100px) {
  :root[data-roaming-docked] body { padding-inline-end: var(--roaming-inset) }
  :root[data-roaming-docked] body > :is(.md-header, .navbar) { margin-inline-end: calc(-1 * var(--roaming-inset)) }
  :root[data-roaming-docked] .wy-grid-for-nav { width: calc(100% - var(--roaming-inset)) }
}
@media screen and (min-width: 1100px) and (max-width: 1499px) {
  :root[data-roaming-docked] .md-sidebar { width: 190px }
}
`;
const HEADERS = "[data-md-component=header], .navbar.fixed-top, body > header";
const BLOCKS = ":is(main, [role=main], article) :is(h1, h2, h3, h4, p, li, pre, td):not(nav *)";
let pageSheet;

// The button that a build adds to the header of Material. It gets its size before the page is first drawn.
const HEADER_BUTTON = ".md-header [data-roaming-open][aria-expanded]";
const HEADER_STYLE = `
.md-header [data-roaming-open][aria-expanded] { z-index: 0; display: flex; flex: none; align-items: center; gap: 8px; height: 36px;
  margin-inline-start: 8px; padding: 0 8px 0 12px; border-radius: 4px; font: 700 14px/20px var(--md-text-font-family);
  box-shadow: inset 0 0 0 1px color-mix(in srgb, currentColor 36%, transparent); transition: background .12s }
.md-header [data-roaming-open]:dir(rtl) { padding: 0 12px 0 8px }
.md-header [data-roaming-open][aria-expanded]:is(:hover, [aria-expanded=true]) { opacity: 1;
  background: color-mix(in srgb, currentColor 12%, transparent) }
.md-header [data-roaming-open] kbd { display: inline-block; min-width: 38px; padding: 0 5px; border-radius: 4px; text-align: center;
  font: 12px/16px var(--md-text-font-family); box-shadow: inset 0 0 0 1px color-mix(in srgb, currentColor 36%, transparent); white-space: nowrap }
@media (max-width: 59.98em) {
  .md-header [data-roaming-open][aria-expanded] { width: 44px; height: 44px; justify-content: center; margin: 0; padding: 0;
    box-shadow: none }
  .md-header [data-roaming-open] svg { width: 22px; height: 22px }
  .md-header [data-roaming-open] :is(b, kbd) { display: none }
}
@media (forced-colors: active) { .md-header [data-roaming-open][aria-expanded] { border: 1px solid } }
`;
const headerButtons = () => document.querySelectorAll(HEADER_BUTTON);
function drawHeader() {
  const styles = new CSSStyleSheet(); // the header may not be parsed yet
  styles.replaceSync(HEADER_STYLE);
  document.adoptedStyleSheets.push(styles);
}

/** Return where the page's own header ends that stays in sight. */
function headerEnd() {
  const ends = [...document.querySelectorAll(HEADERS)].map((one) =>
    /sticky|fixed/.test(getComputedStyle(one).position) ? one.getBoundingClientRect().bottom : 0,
  );
  return Math.max(0, ...ends);
}
/** Move the page aside by the width of the panel. The first visible paragraph stays where it is. */
function moveAside(width) {
  const root = document.documentElement;
  const inset = `${width}px`;
  if (root.style.getPropertyValue("--roaming-inset") === inset || (!width && !pageSheet)) return;
  if (!pageSheet) {
    (pageSheet = new CSSStyleSheet()).replaceSync(PAGE_STYLE);
    document.adoptedStyleSheets.push(pageSheet);
  }
  const end = headerEnd();
  const top = (one) => one.getBoundingClientRect().top;
  const first = scrollY && [...document.querySelectorAll(BLOCKS)].find((one) => top(one) >= end);
  const before = first && top(first);
  root.toggleAttribute("data-roaming-docked", width > 0);
  root.style.setProperty("--roaming-inset", inset);
  if (first) scrollBy({ top: top(first) - before, behavior: "instant" });
}

// --------------------------------------------------------------------------------------------------------- Stored data

const PANEL = `roaming:${new URL("../", HERE)}:panel`;
/** Return a storage; nothing in a sandbox, which forbids it. */
function storage(name) {
  try {
    return { session: () => sessionStorage, local: () => localStorage }[name]?.();
  } catch {}
}
function recall(store, key) {
  try {
    return JSON.parse(store.getItem(key));
  } catch {} // no storage, or written by another version
}
// A page is moved aside before it is shown, if possible: this file is loaded early, the element is parsed last.
const previous = recall(storage("session"), PANEL) ?? recall(storage("local"), PANEL);
if (previous?.open && matchMedia("(min-width: 1100px)").matches) moveAside(previous.inset ?? 0);

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
/** Create an SVG element. */
export const svg = (tag, attrs, ...children) => {
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
  /** Return one of the icons above. */
  _icon(name) {
    const drawn = icon(...ICONS[name]);
    drawn.classList.toggle("mirrored", MIRRORED.includes(name));
    return drawn;
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
    if (!query && !this.#view) return;
    try {
      const { View } = await import(new URL("roaming-find.js", HERE));
      this.#view ??= new View(this, this.#hits);
      await this.#view.list(query);
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
