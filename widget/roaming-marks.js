// Marks the statements of an answer that no opened section supports. A mark opens a note in the text.

import { adopt, el, fill, namedIcon } from "./roaming-ask.js";

const ENGLISH = {
  unsupported: "The sections that were read do not confirm this. Check it before you rely on it.",
  closest: "Closest: “{passage}”",
  whatWasRead: "See what was read",
  statements: "{n} detail not confirmed by the sources|{n} details not confirmed by the sources",
};
const STYLE = `
.answer mark { color: inherit; background: none; text-decoration: underline dotted 2px var(--_warn); text-underline-offset: 4px;
  border-radius: 2px; cursor: help }
.answer mark[aria-expanded=true] { background: var(--_mark) }
.note { scroll-margin-block: 56px; display: grid; grid-template-columns: 16px minmax(0, 1fr); gap: 4px 12px; padding: 10px 12px; font-size: .867em;
  line-height: 1.54; color: var(--_muted); border: 1px solid var(--_line); border-radius: 8px; text-indent: 0 }
.note > .icon { width: 16px; height: 16px; margin-block-start: 2px; color: var(--_warn) }
.note > p { grid-column: 2; margin: 0; unicode-bidi: plaintext }
.note > button { grid-column: 2; justify-self: start; min-height: 32px; padding: 0; border: 0; background: none;
  font-size: 1em; font-weight: 400;
  color: var(--_accent); text-decoration: underline; text-underline-offset: 3px; text-decoration-thickness: 1px }
@media (forced-colors: active) { .answer mark { color: CanvasText } }
`;
let notes = 0; // each has an id

/** Mark unsupported words; return their count as an element. The offsets of marks are those of the answer's Markdown. */
export function mark(turn, source, marks) {
  const { host, answer } = turn;
  adopt(host.shadowRoot, STYLE);
  const words = { ...ENGLISH, ...host.settings.words };
  const walker = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
  let at = 0;
  // The rendered text is the source without its markup, so each UTF-16 code unit is searched from the position of the
  // previous one.
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentNode.closest(".cite, mark, .toolbar, .label")) continue;
    const places = node.data.split("").map((character) => {
      const found = source.indexOf(character, at);
      if (found >= 0 && found < at + 300) return (at = found + 1) - 1;
    });
    const marked = marks.find(({ start, end }) => places.some((place) => place >= start && place < end));
    if (!marked) continue;
    const inside = (place) => place >= marked.start && place < marked.end;
    const text = node.splitText(places.findIndex(inside));
    text.splitText(places.filter(inside).length);
    at = places[places.findLastIndex(inside)] + 1;
    const underlined = statement(turn, words, marked, text.data);
    text.replaceWith(underlined);
    walker.currentNode = underlined.firstChild;
  }
  return el("span", { class: "flag" }, namedIcon("info"), fill(words.statements, { n: marks.length }));
}

/** Create marked words that open their note below the block in which they are. */
function statement(turn, words, { passage }, text) {
  const { host, trail } = turn;
  let note;
  const toggle = () => {
    if (note?.isConnected) note.remove();
    else {
      note = el(
        "div", { class: "note", id: `note-${++notes}` }, namedIcon("info"), el("p", {}, words.unsupported),
        passage && el("p", {}, fill(words.closest, { passage })),
        el("button", { onclick: () => trail.show() }, words.whatWasRead),
      );
      const block = underlined.closest("li, .code, .wide, p, blockquote, h4") ?? underlined;
      block.matches("li") ? block.append(note) : block.after(note);
      note.scrollIntoView({ block: "nearest" });
      host._say(words.unsupported);
    }
    underlined.ariaExpanded = `${note.isConnected}`;
    if (note.isConnected) underlined.setAttribute("aria-controls", note.id);
  };
  const onkeydown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    toggle();
  };
  const attrs = { role: "button", tabindex: "0", "aria-expanded": "false", onclick: toggle, onkeydown };
  const underlined = el("mark", attrs, text);
  return underlined;
}
