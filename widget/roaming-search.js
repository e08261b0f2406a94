// The search of the theme: the panel replaces it, or Material gets a first row "Ask: …", also without results.

import { MODIFIER, SEARCH, SEND_KEY, adopt, el, fill, isShortcut, namedIcon } from "./roaming-ask.js";

const STYLE = `
.roaming-search-row:not([hidden]) { display: flex; align-items: center; gap: 12px; padding: 12px 16px;
  color: var(--md-default-fg-color); font-size: 14px; line-height: 20px;
  background: color-mix(in srgb, var(--md-typeset-a-color) 9%, var(--md-default-bg-color)) }
.roaming-search-row:is(:hover, :focus-visible):not([hidden]) {
  background: color-mix(in srgb, var(--md-typeset-a-color) 18%, var(--md-default-bg-color)) }
.roaming-search-row:focus-visible { outline: 2px solid var(--md-typeset-a-color); outline-offset: -2px }
.roaming-search-row span { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.roaming-search-row svg { flex: none; width: 18px; fill: none; stroke: currentColor; stroke-width: 1.6;
  stroke-linecap: round; stroke-linejoin: round; color: var(--md-typeset-a-color) }
.roaming-search-row kbd { border: 1px solid color-mix(in srgb, currentColor 36%, transparent); border-radius: 4px;
  padding: 0 5px; font: 12px/16px var(--md-text-font-family, sans-serif); white-space: nowrap }
@media (hover: none), (max-width: 599px) { .roaming-search-row kbd { display: none } }
`;
const EVENTS = "keydown focusin focusout click input compositionend submit show.bs.modal".split(" ");

/** Let the panel replace the search of the theme, which gets none of its events. */
export function takeOver(host, signal) {
  let isTab; // a focus that Tab moves opens nothing
  const take = (event) => {
    const { type, key, target, relatedTarget } = event;
    const isKey = type === "keydown";
    if (isKey) isTab = key === "Tab";
    const one = type === "focusout" ? relatedTarget : target;
    const place = type === "show.bs.modal" ? "#mkdocs_search_modal" : SEARCH;
    const isOurs = isKey ? isShortcut(event, "k") : one?.closest?.(place);
    if (!isOurs || host.settings.mode === "off") return;
    event.stopImmediatePropagation();
    if (type === "focusout" || event.isComposing || (type === "focusin" && (isTab || host._isClosing))) return;
    event.preventDefault();
    if (isKey) return host._toggle(true);
    relatedTarget?.focus?.({ preventScroll: true }); // it gets the focus back
    const words = (/^(input|comp)/.test(type) && target.value) || undefined;
    host.search(words).then(() => words && (target.value = "")); // until then more may be typed
  };
  for (const type of EVENTS) addEventListener(type, take, { capture: true, signal });
}

/** Add the row to the search that contains an input. */
export function addRow(host, input) {
  const results = input.closest("[data-md-component=search]")?.querySelector("[data-md-component=search-result]");
  if (!results || results.querySelector(".roaming-search-row")) return;
  adopt(document, STYLE);
  // On Enter, Material opens the link with the highest score, which it expects in the first element of each link.
  const icon = namedIcon(host.settings.onlyFinds ? "find" : "ask");
  icon.dataset.mdScore = "-1";
  const text = el("span");
  const row = el("a", { class: "roaming-search-row" }, icon, text, el("kbd", {}, SEND_KEY));
  const draw = () => {
    const { words, onlyFinds } = host.settings;
    const query = input.value.trim();
    row.hidden = !query;
    row.href = `?ask=${encodeURIComponent(query)}`;
    text.textContent = fill(onlyFinds ? words.findRow : words.askRow, { query });
  };
  const ask = (event) => {
    if (!input.value.trim()) return;
    event.preventDefault();
    event.stopPropagation(); // otherwise instant navigation loads the page again
    const query = input.value.trim();
    const toggle = document.getElementById("__search");
    if (toggle?.checked) toggle.click();
    input.blur();
    host.ask(query);
  };
  row.addEventListener("click", (event) => event.metaKey || event.ctrlKey || event.shiftKey || ask(event));
  input.addEventListener("keydown", (event) => event.key === "Enter" && event[MODIFIER] && ask(event));
  input.addEventListener("input", draw);
  input.form?.addEventListener("reset", () => setTimeout(draw));
  results.prepend(row);
  draw();
}
