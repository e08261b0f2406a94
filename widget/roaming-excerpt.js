// The passage of a section that matches a query: whole blocks of its text, with a mark for what is left out, as
// mkdocs_roaming/library/passages.py chooses them. What restricts or reverses a statement comes after it.

import { el } from "./roaming-ask.js";
import { findMatches } from "./roaming-finder.js";

const ROOM = 700; // characters that the passage of the best result grows to; the next ones have half of it
const LONG = 1000; // characters of a list or table of which only the rows that match are shown; longer code is left out

/** Remove what a passage for a query leaves out of a rendered section. `rank` is the place of the section, from 0. */
export function cut(body, asked, rank = 0) {
  const blocks = [...body.children].map((element) => describe(element, asked));
  const [start, end] = choose(blocks, rank ? ROOM / 2 : ROOM);
  const left = [...blocks.slice(0, start), ...blocks.slice(end)].map(({ element }) => element);
  const chosen = blocks.slice(start, end).filter(({ length }) => length > LONG);
  for (const { element } of chosen) left.push(...(element.matches(".code") ? [element] : otherRows(element, asked)));
  for (const element of left.filter((one) => !left.includes(one.previousElementSibling))) {
    const name = { LI: "li", TR: "tr" }[element.tagName];
    element.before(el(name ?? "p", { class: "muted" }, name === "tr" ? el("td", {}, "…") : "…"));
  }
  for (const element of left) element.remove();
}

function describe(element, asked) {
  const text = element.innerText.trim(); // with white space between cells
  const words = new Set(findMatches(text, asked).map(([start, end]) => text.slice(start, end).toLowerCase()));
  const isText = element.matches("p, blockquote");
  return { element, words, length: text.length, isText, introduces: element.matches("h4") || /[:：]$/.test(text) };
}

/** Return start and end of the blocks around the one that has the rarest words, for a passage of a size. */
function choose(blocks, room) {
  const counts = new Map();
  for (const word of blocks.flatMap(({ words }) => [...words])) counts.set(word, (counts.get(word) ?? 0) + 1);
  const scores = blocks.map(({ words }) => [...words].reduce((sum, word) => sum + 1 / counts.get(word), 0));
  const best = Math.max(0, scores.indexOf(Math.max(...scores)));
  const sizeOf = (from, to) => blocks.slice(from, to).reduce((sum, { length }) => sum + Math.min(length, LONG), 0);
  let [start, end] = [best, best + 1];
  const isIntroduced = () => blocks[start - 1].introduces || (blocks[start - 1].isText && !blocks[start].isText);
  while (start && isIntroduced()) start--;
  while (end < blocks.length) {
    const fits = sizeOf(start, end + 1) <= room || blocks[end - 1].introduces;
    const mayNegate = end === best + 1 && blocks[end].isText;
    if (!fits && !mayNegate && sizeOf(end, blocks.length) > room / 2) break;
    end++;
  }
  while (start && sizeOf(start - 1, end) <= room) start--;
  return [start, end];
}

/** Return the rows of a long list or table without words of the query, but not the header. */
function otherRows(element, asked) {
  const table = element.querySelector("table");
  const rows = [...(table ? table.rows : element.children)];
  const matches = rows.map((row) => findMatches(row.innerText, asked).length);
  return rows.filter((_, at) => (at || !table) && !matches[at] && matches.some(Boolean));
}
