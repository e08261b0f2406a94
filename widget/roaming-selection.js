// The bar for selected text of the article: ask about it, or copy a link to it. It is loaded with the first selection.

import { adopt, el, fill, icon, namedIcon } from "./roaming-ask.js";
import { LINK, TICK, copy } from "./roaming-tools.js";

const ENGLISH = {
  askAbout: "Ask about this",
  about: "About “{text}”: ",
  findThis: "Find this",
  copyPassage: "Copy link to passage",
  selection: "Selected text",
};
const ARTICLE = "main, [role=main], article";
const BLOCK = "p, li, dt, dd, td, th, pre, h1, h2, h3, h4, h5, h6, blockquote, div, section";
const SKIPPED = "script, style, template, nav, button, roaming-ask, .headerlink, [hidden]";
const TYPED = "input, textarea, [contenteditable]";
const LONGEST_QUOTE = 300; // characters
const LONGEST_EXACT = 80; // characters of a text that is in the link as a whole
const STYLE = `
.selected { position: fixed; inset: auto; margin: 0; padding: 3px; border: 0; border-radius: 11px; color: var(--_fg);
  background: var(--_raise); box-shadow: var(--_shadow); animation: .12s fade }
.selected:popover-open { display: flex }
.selected button { flex: auto; justify-content: center; text-align: start; border: 0; padding: 0 10px; background: none }
.selected button:hover { background: var(--_soft) }
.selected .icon { color: var(--_accent) }
@media (max-width: 599px) { .selected { inset: auto 8px calc(8px + env(safe-area-inset-bottom)); width: auto } }
@media (forced-colors: active) { .selected { border: 1px solid } }
`;

/** Show the bar while text of the article is selected, until `signal` is aborted. */
export function watch(host, signal) {
  const words = { ...ENGLISH, ...host.settings.words };
  const { onlyFinds } = host.settings;
  let range, found, settling, back;
  const ask = () => {
    const { text } = found;
    const quote = text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE)}…` : text;
    hide();
    onlyFinds ? host.search(quote) : host.prefill(fill(words.about, { text: quote }));
  };
  const copyLink = async () => {
    if (!(await copy(found.address))) return;
    second.replaceChildren(icon(TICK), words.copied);
    setTimeout(hide, 1600);
  };
  const first = el("button", { onclick: ask }, namedIcon(onlyFinds ? "find" : "ask"), onlyFinds ? words.findThis : words.askAbout);
  const second = el("button", { onclick: copyLink, "aria-live": "polite" });
  const stay = (event) => event.preventDefault(); // the text stays selected
  const attrs = { class: "selected", part: "selection", role: "group", popover: "manual", "aria-label": words.selection };
  const bar = el("div", { ...attrs, onpointerdown: stay }, first, navigator.clipboard && second);
  adopt(host.shadowRoot, STYLE);
  host.shadowRoot.append(bar);

  const isInside = () => bar.contains(host.shadowRoot.activeElement);
  const isShown = () => bar.matches(":popover-open");
  const hide = () => {
    if (isInside()) back?.focus({ preventScroll: true });
    bar.togglePopover(false);
  };
  const show = () => {
    range = host.settings.mode !== "off" && selectedRange();
    if (!range) return hide();
    found = describe(range);
    second.replaceChildren(icon(LINK), words.copyPassage);
    bar.togglePopover(true);
    place();
  };
  /** Place the bar above the text, or below it where there is no room; on phones it is at the bottom. */
  const place = () => {
    if (!isShown()) return;
    bar.style.cssText = "";
    if (innerWidth < 600) return;
    const { left, top, bottom, width } = range.getBoundingClientRect();
    const { offsetWidth, offsetHeight, style } = bar;
    const above = top - offsetHeight - 8;
    style.left = `${Math.max(8, Math.min(left + (width - offsetWidth) / 2, innerWidth - offsetWidth - 8))}px`;
    style.top = `${above > 60 ? above : Math.min(bottom + 8, innerHeight - offsetHeight - 8)}px`;
    style.visibility = bottom < 0 || top > innerHeight ? "hidden" : "";
  };
  const listen = (name, listener) => addEventListener(name, listener, { signal, capture: true });
  const settle = () => {
    clearTimeout(settling);
    if (isInside()) return;
    if (selectedRange()) settling = setTimeout(show, 250);
    else hide();
  };
  listen("selectionchange", settle);
  listen("scroll", place);
  listen("resize", place);
  listen("keydown", (event) => {
    const { key, shiftKey } = event;
    if (!isShown()) return;
    if (key === "Escape") hide();
    else if (key === "Tab" && !shiftKey && !isInside()) {
      back = document.activeElement;
      first.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  signal.addEventListener("abort", () => bar.remove());
  settle();
}

/** Return the selected range if it is text of the article. */
function selectedRange() {
  const selection = getSelection();
  const range = selection.rangeCount && selection.getRangeAt(0);
  if (!range || !/[\p{L}\p{N}]{2}/u.test(selection) || document.activeElement?.matches(TYPED)) return;
  const around = elementOf(range.commonAncestorContainer);
  if (around.closest(ARTICLE) && !around.closest(SKIPPED)) return range;
}
const elementOf = (node) => (node.nodeType === 1 ? node : node.parentElement);
const tidy = (text) => text.replace(/\s+/g, " ").trim();

/** Return the selected words, whole, and the address of the passage. */
function describe(range) {
  const root = elementOf(range.commonAncestorContainer).closest(ARTICLE);
  const { text, start, end } = read(root, range);
  const words = new Intl.Segmenter(document.documentElement.lang || "en", { granularity: "word" }).segment(text);
  const from = words.containing(start).index;
  const { index, segment } = words.containing(end - 1);
  const to = index + segment.length;
  const heading = [...root.querySelectorAll("h1, h2, h3, h4, h5, h6")].findLast((one) => range.comparePoint(one, 0) < 1);
  const id = encodeURIComponent(heading?.id || heading?.closest("section[id]")?.id || "");
  return { text: tidy(text.slice(from, to)), address: `${location.href.split("#")[0]}#${id}:~:text=${fragment(text, from, to)}` };
}
/** Return the text of an element with a line for each block, and the place of a range in it. */
function read(root, range) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  let [text, start, end, block] = ["", -1, 0];
  for (let node; (node = walker.nextNode()); ) {
    const parent = node.parentElement;
    if (parent.closest(SKIPPED)) continue;
    if (block !== (block = parent.closest(BLOCK))) text += "\n";
    const first = node === range.startContainer ? range.startOffset : 0;
    const selected = node.data.slice(first, node === range.endContainer ? range.endOffset : undefined);
    if (range.intersectsNode(node) && selected.trim()) {
      if (start < 0) start = text.length + first + selected.search(/\S/);
      end = text.length + first + selected.trimEnd().length;
    }
    text += node.data.replace(/\s/g, " ");
  }
  return { text, start, end };
}
/** Return a text fragment: the text or its ends, and the words around it if it occurs more than once. */
function fragment(text, from, to) {
  const encode = (part) => encodeURIComponent(tidy(part)).replace(/-/g, "%2D");
  const count = (part) => tidy(text).toLowerCase().split(tidy(part).toLowerCase()).length - 1;
  const first = (part) => /^\s*(?:\S+ *){1,5}/.exec(part)?.[0].slice(0, LONGEST_EXACT) ?? "";
  const last = (part) => /(?: *\S+){1,5}\s*$/.exec(part)?.[0].slice(-LONGEST_EXACT) ?? "";
  const part = text.slice(from, to);
  const isExact = !part.includes("\n") && part.length <= LONGEST_EXACT;
  const start = isExact ? part : first(part);
  const value = encode(start) + (isExact ? "" : `,${encode(last(part))}`);
  if (count(start) < 2) return value;
  const before = last(text.slice(0, from));
  const after = count(before + start) > 1 && isExact && first(text.slice(to));
  return `${before && `${encode(before)}-,`}${value}${after ? `,-${encode(after)}` : ""}`;
}
