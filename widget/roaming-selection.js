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
const LONGEST_QUOTE = 300; // characters
const LONGEST_EXACT = 80; // characters of a text that is in the link as a whole
const SETTLED = 250; // ms without a change
const COPIED = 1600; // ms
const STYLE = `
.selected { position: fixed; inset: auto; max-width: calc(100% - 16px); margin: 0; padding: 3px; gap: 2px; border: 0; border-radius: 11px;
  color: var(--_fg); background: var(--_raise); box-shadow: var(--_shadow); animation: .12s fade }
.selected:popover-open { display: flex }
.selected button { border: 0; background: none; padding: 0 10px; flex: auto; justify-content: center }
.selected button:hover { background: var(--_soft) }
.selected .icon { color: var(--_accent) }
@media (max-width: 599px) { .selected { inset: auto 8px calc(8px + env(safe-area-inset-bottom)); width: auto } }
@media (forced-colors: active) { .selected { border: 1px solid } }
`;

/** Show the bar while text of the article is selected, until `signal` is aborted. */
export function watch(host, signal) {
  const { onlyFinds, words: own } = host.settings;
  const words = { ...ENGLISH, ...own };
  let range, found, settling, isTyped, back;
  const ask = () => {
    const quote = found.text.length > LONGEST_QUOTE ? `${found.text.slice(0, LONGEST_QUOTE)}…` : found.text;
    hide();
    onlyFinds ? host.search(quote) : host.prefill(fill(words.about, { text: quote }));
  };
  const copyLink = async () => {
    if (!(await copy(found.address))) return;
    second.replaceChildren(icon(TICK), words.copied);
    host._say(words.copied);
    setTimeout(hide, COPIED);
  };
  const first = el("button", { onclick: ask }, namedIcon(onlyFinds ? "find" : "ask"), onlyFinds ? words.findThis : words.askAbout);
  const second = el("button", { onclick: copyLink });
  const bar = el("div", { class: "selected", part: "selection", role: "group", popover: "manual", "aria-label": words.selection });
  bar.append(first, navigator.clipboard ? second : "");
  bar.addEventListener("pointerdown", (event) => event.preventDefault()); // the text stays selected
  adopt(host.shadowRoot, STYLE);
  host.shadowRoot.append(bar);

  const isInside = () => bar.contains(host.shadowRoot.activeElement);
  const isShown = () => bar.matches(":popover-open");
  const hide = () => {
    if (isInside()) back?.focus({ preventScroll: true });
    bar.togglePopover(false);
  };
  const settle = () => {
    clearTimeout(settling);
    if (isInside()) return;
    if (selectedRange()) settling = setTimeout(show, SETTLED);
    else hide();
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
    const most = innerWidth - bar.offsetWidth - 8;
    const above = top - bar.offsetHeight - 8;
    bar.style.left = `${Math.max(8, Math.min(left + (width - bar.offsetWidth) / 2, most))}px`;
    bar.style.visibility = bottom < 0 || top > innerHeight ? "hidden" : "";
    bar.style.top = `${above > 60 ? above : Math.min(bottom + 8, innerHeight - bar.offsetHeight - 8)}px`;
  };
  const pressed = (event) => {
    const { key, shiftKey } = event;
    if (shiftKey && key.startsWith("Arrow")) isTyped = true;
    if (!isShown()) return;
    if (key === "Escape") hide();
    else if (key === "Tab" && !shiftKey && isTyped && !isInside()) {
      back = document.activeElement;
      first.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const listen = (name, listener) => globalThis.addEventListener(name, listener, { signal, capture: true, passive: name === "scroll" });
  document.addEventListener("selectionchange", settle, { signal });
  listen("pointerdown", () => (isTyped = false));
  listen("scroll", place);
  listen("resize", place);
  listen("keydown", pressed);
  signal.addEventListener("abort", () => bar.remove());
  isTyped = true; // the first selection was made before
  settle();
}

/** Return the selected range if it is text of the article. */
function selectedRange() {
  const selection = getSelection();
  const range = selection.rangeCount && selection.getRangeAt(0);
  if (!range || !/[\p{L}\p{N}]{2}/u.test(selection) || document.activeElement?.matches("input, textarea, [contenteditable]")) return;
  const around = elementOf(range.commonAncestorContainer);
  return around.closest(ARTICLE) && !around.closest(SKIPPED) ? range : undefined;
}
const elementOf = (node) => (node.nodeType === 1 ? node : node.parentElement);
const tidy = (text) => text.replace(/\s+/g, " ").trim();

/** Return the selected words, whole, and the address of the passage. */
function describe(range) {
  const root = elementOf(range.commonAncestorContainer).closest(ARTICLE);
  const { text, start, end } = read(root, range);
  const segmenter = new Intl.Segmenter(document.documentElement.lang || "en", { granularity: "word" });
  const words = segmenter.segment(text);
  const from = words.containing(start).index;
  const last = words.containing(end - 1);
  const to = last.index + last.segment.length;
  const heading = [...root.querySelectorAll("h1, h2, h3, h4, h5, h6")].findLast((one) => range.comparePoint(one, 0) < 1);
  const id = heading?.id || heading?.closest("section[id]")?.id || "";
  const page = location.href.split("#")[0];
  return { text: tidy(text.slice(from, to)), address: `${page}#${encodeURIComponent(id)}:~:text=${fragment(text, from, to)}` };
}
/** Return the text of an element with a line for each block, and the place of a range in it. */
function read(root, range) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  let [text, start, end, block] = ["", -1, 0];
  while (walker.nextNode()) {
    const node = walker.currentNode;
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
  const value = isExact ? encode(part) : `${encode(start)},${encode(last(part))}`;
  if (count(start) < 2) return value;
  const before = last(text.slice(0, from));
  const after = count(before + start) > 1 && isExact && first(text.slice(to));
  return `${before && `${encode(before)}-,`}${value}${after ? `,-${encode(after)}` : ""}`;
}
