// Renders the Markdown of answers and sections: paragraphs, headings, lists, fences, tables, quotes, emphasis, links and
// [^id]. No HTML and no images, so a hostile answer can only show text. Limits protect the page from endless input.

import { el, fill, plain } from "./roaming-ask.js";

const ENGLISH = {
  table: "Table",
  code: "Code",
  rows: "{n} more row|{n} more rows",
};

const LONGEST = 60_000;
const LONGEST_BLOCK = 8_000;
const MOST_CELLS = 1_000;
const DEEPEST = 6;
const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +|$)/;
const QUOTE = /^ {0,3}> ?/;
const HEADING = /^ {0,3}#{1,6}( |$)/;
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const DELIMITER = /^[ |]*:?-+:?(?: *\| *:?-+:?)*[ |]*$/;
const begins = (line) => [FENCE, ITEM, QUOTE, HEADING, RULE].some((pattern) => pattern.test(line));

/** Split lines into top-level blocks with their kind and first line. */
function cut(lines) {
  const blocks = [];
  let at = 0;
  const upTo = (ends) => {
    while (++at < lines.length && !ends(lines[at]));
  };
  while (at < lines.length) {
    const from = at;
    const line = lines[at];
    const fence = FENCE.exec(line);
    const first = ITEM.exec(line);
    let kind = "p";
    if (!line.trim()) {
      at++;
      continue;
    }
    if (fence) {
      kind = "fence";
      const end = new RegExp(`^ {0,3}${fence[1]}+ *$`);
      upTo((next) => end.test(next));
      at++;
    } else if (HEADING.test(line) || RULE.test(line)) {
      kind = HEADING.test(line) ? "heading" : "rule";
      at++;
    } else if (QUOTE.test(line)) {
      kind = "quote";
      upTo((next) => !next.trim() || (!QUOTE.test(next) && begins(next)));
    } else if (first) {
      kind = "list";
      upTo((next) => {
        const blank = !next.trim();
        if (blank) next = lines[at + 1] ?? "";
        const item = ITEM.exec(next);
        if (item && !item[1]) return item[2] > "0" !== first[2] > "0"; // a bullet or a number
        return !next.trim() || (!/^ {2}/.test(next) && (blank || begins(next)));
      });
    } else if (line.includes("|") && DELIMITER.test(lines[at + 1] ?? "")) {
      kind = "table";
      upTo((next) => !next.includes("|"));
    } else upTo((next) => !next.trim() || begins(next));
    blocks.push({ kind, from, lines: lines.slice(from, at) });
  }
  return blocks;
}

/** Render Markdown that is still growing. Finished blocks are not rendered again, so a selection survives. */
export class Markdown {
  #text = "";
  #done = 0; // lines
  #last; // text and element of the block that may still grow
  #tail;
  /** `link(address)` returns the URL of an allowed link; `cite(id)` returns the element of a citation. */
  constructor(into, options) {
    Object.assign(this, { into, link() {}, cite() {} }, options);
    this.words = { ...ENGLISH, ...options?.words };
  }
  push(more) {
    this.#text = (this.#text + more).slice(0, LONGEST);
    const shown = this.#text.replace(/\n[ \d*+.)_-]*$/, ""); // "*" may become "**", and "2" may become "2."
    const blocks = cut(shown.split(/\r\n?|\n/).slice(this.#done));
    blocks.forEach((block, at) => {
      const text = block.lines.join("\n").trimEnd();
      if (!at && text === this.#last) return;
      if (!at) this.#tail?.remove();
      this.#last = text;
      this.into.append((this.#tail = this.#block(block, 0)));
    });
    this.#done += blocks.at(-1)?.from ?? 0;
  }
  #block({ kind, lines }, depth) {
    const text = lines.join("\n").trim();
    if (depth > DEEPEST) return el("p", {}, text);
    if (kind === "fence") {
      const closed = lines.length > 1 && /^ *(```+|~~~+) *$/.test(lines.at(-1));
      const code = el("code", {}, lines.slice(1, closed ? -1 : undefined).join("\n"));
      return this.#wide("pre", { part: "code", dir: "ltr" }, this.words.code, code);
    }
    if (kind === "heading") return this.#inline(el("h4", { dir: "auto" }), text.replace(/^#+ *| +#+$/g, ""));
    if (kind === "rule") return el("hr");
    if (kind === "quote") {
      const inner = lines.map((line) => line.replace(QUOTE, ""));
      inner[0] = inner[0].replace(/^\[!(\w)(\w+)\]/, (all, first, rest) => `**${first}${rest.toLowerCase()}** `);
      return this.#nested(el("blockquote"), inner, depth);
    }
    if (kind === "list") return this.#list(lines, depth);
    if (kind === "table") return this.#table(lines);
    return this.#inline(el("p", { dir: "auto" }), text);
  }
  /** Create an element that can be scrolled horizontally, also with the keyboard. */
  #wide(tag, attrs, label, ...children) {
    return el(tag, { ...attrs, tabindex: "0", role: "group", "aria-label": label }, ...children);
  }
  /** Render nested blocks; with `bare`, a first paragraph is rendered without its own element, as in list items. */
  #nested(into, lines, depth, bare = false) {
    cut(lines).forEach((block, at) => {
      if (bare && !at && block.kind === "p") this.#inline(into, block.lines.join("\n"));
      else into.append(this.#block(block, depth + 1));
    });
    return into;
  }
  #list(lines, depth) {
    const [, margin, sign] = ITEM.exec(lines[0]);
    const items = [];
    for (const line of lines) {
      const item = ITEM.exec(line);
      if (item?.[1].length <= margin.length + 1)
        items.push([line.slice(item[0].length).replace(/^\[([ xX])\] /, (all, done) => (done === " " ? "☐ " : "☑ "))]);
      else items.at(-1).push(line.replace(/^ {1,4}/, ""));
    }
    const start = parseInt(sign) > 1 && parseInt(sign);
    const elements = items.map((item) => {
      const task = /^[☐☑]/.test(item[0]) && "task";
      return this.#nested(el("li", { dir: "auto", class: task }), item, depth, true);
    });
    return el(/\d/.test(sign) ? "ol" : "ul", { start }, ...elements);
  }
  #table(lines) {
    const [head, , ...rows] = lines.map((line) =>
      line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replace("\\|", "|")),
    );
    const width = Math.min(head.length, MOST_CELLS);
    const shown = Math.floor(MOST_CELLS / width);
    const cell = (tag, text = "") => this.#inline(el(text ? tag : "td"), text); // an empty cell is not a heading
    const row = (tag, cells) => el("tr", {}, ...head.slice(0, width).map((_, at) => cell(tag, cells[at])));
    const n = rows.length - shown;
    return this.#wide(
      "div",
      { class: "wide" },
      this.words.table,
      el("table", {}, row("th", head), ...rows.slice(0, shown).map((cells) => row("td", cells))),
      n > 0 && el("p", { class: "muted" }, fill(this.words.rows, { n })),
    );
  }
  #inline(into, text, depth = 0) {
    const put = (more) => into.append(plain(more).replace(/ *\n/g, " "));
    let at = 0;
    const found = text.length < LONGEST_BLOCK && depth < DEEPEST ? text.matchAll(INLINE) : [];
    for (const { 0: all, index, groups } of found) {
      const { escaped, entity, code, id, image, label, address, bare, strong, em, under, del } = groups;
      put(id ? text.slice(at, index).trimEnd() : text.slice(at, index));
      at = index + all.length;
      const anchor = (to, shown, deeper) => {
        const href = this.link(to);
        return this.#inline(el(href ? "a" : "span", { href }), shown, deeper);
      };
      if (entity) put(ENTITIES[entity]);
      else if (code) into.append(el("code", { dir: "ltr" }, code.replace(/\n/g, " ").replace(/^ (.+) $/, "$1")));
      else if (id) into.append(this.cite(id) ?? "");
      else if (label) into.append(anchor(address, label, depth + 1));
      else if (bare) into.append(anchor(bare, bare, DEEPEST));
      else if (strong ?? em ?? under ?? del) {
        const tag = strong ? "strong" : del ? "del" : "em";
        into.append(this.#inline(el(tag), strong ?? em ?? under ?? del, depth + 1));
      }
      else put(escaped ?? image);
    }
    put(text.slice(at));
    return into;
  }
}
const ENTITIES = { lt: "<", gt: ">", amp: "&", quot: '"', "#39": "'" };
const LABEL = "(?:[^\\[\\]\\\\\\n]|\\\\.|\\[[^\\[\\]\\n]*\\])";
const target = (name) => `\\(<?(${name}[^\\s<>()]*(?:\\([^\\s<>()]*\\)[^\\s<>()]*)*)>?(?: +"[^"]*")?\\)`;
const INLINE = new RegExp(
  [
    "\\\\(?<escaped>[!-/:-@\\[-`{-~])",
    "&(?<entity>lt|gt|amp|quot|#39);",
    "(?<ticks>`+)(?<code>[^`]|[^`][^]*?[^`])\\k<ticks>(?!`)",
    "\\[\\^(?<id>[0-9a-f]{8})\\]",
    `!\\[(?<image>${LABEL}*)\\]${target("")}`,
    `\\[(?<label>${LABEL}+)\\]${target("?<address>")}`,
    "<?(?<bare>https?://[^\\s<>()\\]`*]*[^\\s<>()\\]`*.,;:!?'\"])>?",
    "\\*\\*(?=\\S)(?<strong>[^]*?[^\\s*])\\*\\*",
    "\\*(?=[^\\s*])(?<em>[^*]*[^\\s*])\\*",
    "(?<![\\p{L}\\p{N}_])_(?=[^\\s_])(?<under>[^_]*[^\\s_])_(?![\\p{L}\\p{N}_])", // but not in `__init__`
    "~~(?=\\S)(?<del>[^~]*\\S)~~",
  ].join("|"),
  "gu",
);
