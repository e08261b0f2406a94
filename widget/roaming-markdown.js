// Renders the Markdown of answers and sections: paragraphs, headings, lists, fences, tables, quotes, emphasis, links,
// formulas and [^id]. No HTML and no images, so a hostile answer can only show text. Limits protect the page from endless input.

import { adopt, el, fill, icon, plain, tool } from "./roaming-ask.js";
import { copyTool } from "./roaming-tools.js";

const ENGLISH = {
  table: "Table",
  code: "Code",
  copyCode: "Copy code",
  wrap: "Wrap lines",
  rows: "{n} more row|{n} more rows",
};

const STYLE = `
.answer > * + * { margin-block-start: 16px }
.answer :is(li, blockquote) > * + * { margin-block-start: 8px }
.answer > :is(p, ul, ol) + :is(p, ul, ol) { margin-block-start: 12px }
.answer li + li { margin-block-start: 6px }
.answer :is(ul, ol) { padding: 0 }
.answer li { margin-inline-start: 1.5em } /* at the start of its own direction, which may not be that of the page */
.answer li::marker { color: var(--_muted) }
.answer h4 { font-size: 1em; margin-block-start: 24px }
.answer h4 + * { margin-block-start: 8px }
.answer > h4:first-child { margin-block-start: 0 }
.answer .task { list-style: none; margin-inline-start: .2em }
.answer em { font-style: italic }
.answer code, .snippet code { font-family: var(--_mono); font-size: .867em; padding: 1px 4px; border-radius: 4px;
  color: var(--md-code-fg-color, inherit); background: var(--_code) }
.answer blockquote { padding-inline-start: 12px; border: 0 solid var(--_line); border-inline-start-width: 3px }
.answer hr { border: 0 solid var(--_line); border-block-start-width: 1px }
.code { border: 1px solid var(--_line); border-radius: 8px; background: var(--_code) }
.toolbar { display: flex; align-items: center; justify-content: end; min-height: 36px; padding-inline: 16px 2px; color: var(--_muted);
  font-size: .8em }
.language { flex: 1 }
.toolbar .icon { width: 16px; height: 16px }
.toolbar .tool::after { inset-inline-end: 0 }
.answer pre { overflow-x: auto; padding: 0 16px 14px; border: 0; border-radius: 0 0 8px 8px; background: none;
  scrollbar-width: thin }
.answer .more { mask-image: linear-gradient(to left, transparent, #000 40px) }
.answer .more:dir(rtl) { mask-image: linear-gradient(to right, transparent, #000 40px) }
.answer pre code { display: block; width: max-content; min-width: 100%; padding: 0; background: none; white-space: pre;
  line-height: 1.54; tab-size: 4; text-align: left }
.wrapped pre code { width: auto; white-space: pre-wrap; overflow-wrap: anywhere; padding-inline-start: 2ch;
  text-indent: -2ch }
.wide { overflow-x: auto; scrollbar-width: thin }
.wide * { overflow-wrap: normal }
.wide table { border-collapse: collapse; width: 100%; font-size: .867em; line-height: 1.54 }
.wide :is(th, td) { border: 0 solid var(--_line); border-block-end-width: 1px; padding: 8px 12px 8px 0; text-align: start;
  vertical-align: top }
.wide table:has(tr:first-child > :nth-child(3)) { width: max-content; min-width: 100% }
.wide :is(th, td):is(:nth-child(n + 3), :has(~ :nth-child(3))) { min-width: 72px; max-width: 240px }
.wide :is(th, td):dir(rtl) { padding: 8px 0 8px 12px }
.wide :is(th, td):last-child { padding-inline-end: 0 }
.wide tr:first-child > * { padding-block: 6px; font-size: .92em; font-weight: 700; color: var(--_muted);
  border-color: color-mix(in srgb, var(--_fg) 28%, var(--_bg)) }
.math:not(.typeset) { font-family: var(--_mono); font-size: .867em }
.math.block { display: block; overflow-x: auto; overflow-y: hidden; margin-block: 8px; scrollbar-width: thin }
@media (max-width: 599px) { .toolbar { min-height: 44px } }
@media (forced-colors: active) { .answer .more { mask-image: none } }
`;
const WRAP = "M4 6h16M4 12h12.5a3 3 0 0 1 0 6H12m2.5-2.5L12 18l2.5 2.5M4 18h4";
const LABELS = {
  py: "Python", python: "Python", pycon: "Python", js: "JavaScript", javascript: "JavaScript", jsx: "JSX", ts: "TypeScript",
  typescript: "TypeScript", tsx: "TSX", json: "JSON", yaml: "YAML", yml: "YAML", toml: "TOML", ini: "INI", sh: "Shell",
  bash: "Shell", shell: "Shell", console: "Shell", zsh: "Shell", html: "HTML", xml: "XML", css: "CSS", scss: "SCSS",
  sql: "SQL", rust: "Rust", rs: "Rust", go: "Go", diff: "Diff", md: "Markdown", markdown: "Markdown", c: "C", cpp: "C++",
  java: "Java", kotlin: "Kotlin", ruby: "Ruby", php: "PHP", dockerfile: "Dockerfile", http: "HTTP", jinja: "Jinja", mermaid: "Mermaid",
};
const LONGEST = 60_000;
const LONGEST_BLOCK = 8_000;
const MOST_CELLS = 1_000;
const DEEPEST = 6;
const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +|$)/;
const QUOTE = /^ {0,3}> ?/;
const HEADING = /^ {0,3}#{1,6}( |$)/;
const MATH = /^ {0,3}(\$\$|\\\[)/;
const MATH_END = /(\$\$|\\\])[ .,;]*$/;
const TEX = /\\[a-z]|[_^={}]/i; // in a formula, but not in a text whose brackets are escaped
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/;
const DELIMITER = /^[ |]*:?-+:?(?: *\| *:?-+:?)*[ |]*$/;
const CITATIONS = /^\s*(?:\[\^[0-9a-f]{8}\]\s*)+[.,;:]?\s*$/;
const CITED = "((?:\\s*\\[\\^[0-9a-f]{8}\\])+)";
const SEPARATED = /(\[\^[0-9a-f]{8}\])\s*[,;]\s*(?=\[\^[0-9a-f]{8}\])/g;
// A sentence ends before its number, as a clause does not: "It waits.[1]", but "It waits[1], then stops". In Chinese and
// Japanese all punctuation follows the number.
const STOP = new RegExp(`(?<=[^\\s.,;:!?…])${CITED}[ \\t]*([.!?…]+)(?=\\s|$)`, "g");
const SECOND_STOP = new RegExp(`(?<=[.,;:!?…])${CITED}[ \\t]*[.,;:!?…]+(?=\\s|$)`, "g");
const SPACED = /(\[\^[0-9a-f]{8}\])[ \t]+(?=[,)、。，．：；！？](?:\s|$|[^\x00-\x7f]))/g;
const FRENCH = /(\[\^[0-9a-f]{8}\])[ \t]+(?=[:;!?](?:\s|$))/g;
const CUT_CITATION = /\s*\[(?:\^[0-9a-f]{0,8})?$/;
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
    } else if (MATH.test(line) && !MATH_END.test(line.trim().slice(2))) {
      upTo((next) => !next.trim() || MATH_END.test(next)); // its lines may begin with signs that begin a list
      at++;
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
  #root;
  /** Resolves when all code blocks have their colours, and formulas are typeset. */
  coloured = Promise.resolve();
  // `link(address)` returns the URL of an allowed link, `cite(id)` the element of a citation; `say(text)` announces a text,
  // and `root` is the shadow root.
  constructor(into, options) {
    Object.assign(this, { into, link() {}, cite() {} }, options);
    this.words = { ...ENGLISH, ...options?.words };
    this.#root = options?.root;
    adopt(this.#root, STYLE);
  }
  push(more) {
    this.#text = (this.#text + more).slice(0, LONGEST);
    // "*" may become "**", and "2" may become "2."; a citation is shown when it is complete.
    const shown = this.#text.replace(/\n[ \d*+.)_-]*$/, "").replace(CUT_CITATION, "");
    const blocks = cut(shown.split(/\r\n?|\n/).slice(this.#done));
    blocks.forEach((block, at) => {
      const text = block.lines.join("\n").trimEnd();
      if (!at && text === this.#last) return;
      const growing = at ? undefined : this.#tail;
      this.#last = text;
      if (block.kind === "fence" && growing?.matches(".code")) return this.#fill(growing, block.lines);
      growing?.remove();
      this.#tail = this.#add(this.into, block, 0);
    });
    this.#done += blocks.at(-1)?.from ?? 0;
  }
  /** Append a block. Citations without words join the block before them, so that they never stand alone. */
  #add(into, block, depth) {
    const before = block.kind === "p" && CITATIONS.test(block.lines.join(" ")) && into.lastElementChild;
    const rendered = before ? el("span", { class: "cites" }) : this.#block(block, depth);
    if (before) {
      this.#inline(rendered, block.lines.join(" ").replace(/[.,;:]\s*$/, ""));
      lastLine(before).append(rendered);
    } else into.append(rendered);
    return rendered;
  }
  #block({ kind, lines }, depth) {
    const text = lines.join("\n").trim();
    if (depth > DEEPEST) return this.#inline(el("p", { dir: "auto" }), text);
    if (kind === "fence") return this.#fence(lines);
    if (kind === "heading") return this.#inline(el("h4", { dir: "auto" }), text.replace(/^#+ *| +#+$/g, ""));
    if (kind === "rule") return el("hr");
    if (kind === "quote") {
      const inner = lines.map((line) => line.replace(QUOTE, ""));
      inner[0] = inner[0].replace(/^\[!(\w)(\w+)\]/, (all, first, rest) => `**${first}${rest.toLowerCase()}** `);
      return this.#nested(el("blockquote", { dir: direction(text) }), inner, depth);
    }
    if (kind === "list") return this.#list(lines, depth);
    if (kind === "table") return this.#table(lines);
    return this.#inline(el("p", { dir: "auto" }), text);
  }
  /** Create a code block with its language, and buttons that wrap and copy it. */
  #fence(lines) {
    const { words, say } = this;
    const [, , info] = FENCE.exec(lines[0]);
    const language = /^[{.\s]*([\w+#-]{1,20})/.exec(info)?.[1].toLowerCase() ?? "";
    const code = el("code");
    const wrap = tool(words.wrap, icon(WRAP), () => {
      wrap.ariaPressed = `${figure.classList.toggle("wrapped")}`;
      fade(pre);
    }, { "aria-pressed": "false" });
    const copy = copyTool(words.copyCode, () => code.textContent, { words, say });
    const pre = this.#wide("pre", { part: "code", dir: "ltr" }, words.code, code);
    const label = el("span", { class: "language" }, Object.hasOwn(LABELS, language) ? LABELS[language] : language);
    const figure = el("div", { class: "code", dir: "ltr", "data-language": language }, el("div", { class: "toolbar" }, label, wrap, copy), pre);
    this.#fill(figure, lines);
    return figure;
  }
  /** Set the lines of a code block, which may grow, and colour them. */
  #fill(figure, lines) {
    const closed = lines.length > 1 && /^ *(```+|~~~+) *$/.test(lines.at(-1));
    const code = figure.querySelector("code");
    const text = plain(lines.slice(1, closed ? -1 : undefined).join("\n"));
    if (code.textContent !== text) code.textContent = text;
    fade(code.parentNode);
    const { language } = figure.dataset;
    if (!language) return;
    if (colour) colour(code, language, this.#root);
    else this.coloured = loadColours().then(() => colour?.(code, language, this.#root));
  }
  /** Create an element that can be scrolled horizontally, also with the keyboard. */
  #wide(tag, attrs, label, ...children) {
    const wide = el(tag, { ...attrs, tabindex: "0", role: "group", "aria-label": label }, ...children);
    wide.addEventListener("scroll", () => fade(wide), { passive: true });
    resizes.observe(wide);
    return wide;
  }
  /** Render nested blocks; with `bare`, a first paragraph is rendered without its own element, as in list items. */
  #nested(into, lines, depth, bare = false) {
    cut(lines).forEach((block, at) => {
      if (bare && !at && block.kind === "p") this.#inline(into, block.lines.join("\n"));
      else this.#add(into, block, depth + 1);
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
      else items.at(-1).push(line);
    }
    const start = parseInt(sign) > 1 && parseInt(sign);
    const elements = items.map((item) => {
      const task = /^[☐☑]/.test(item[0]) && "task";
      return this.#nested(el("li", { dir: "auto", class: task }), outdent(item), depth, true);
    });
    return el(/\d/.test(sign) ? "ol" : "ul", { start }, ...elements);
  }
  /** Create a formula: its source, until the renderer of the page has typeset it. */
  #math(source, tex, isBlock) {
    const math = el("span", { class: isBlock ? "math block" : "math", dir: "ltr" }, source);
    if (canTypeset() && this.#root) {
      const module = import(new URL("roaming-math.js", import.meta.url));
      const drawn = module.then(({ typeset }) => typeset(math, tex, isBlock, this.#root)).catch(() => {});
      this.coloured = Promise.all([this.coloured, drawn]);
    }
    return math;
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
      { class: "wide", dir: direction(lines.join(" ")) },
      this.words.table,
      el("table", {}, row("th", head), ...rows.slice(0, shown).map((cells) => row("td", cells))),
      n > 0 && el("p", { class: "muted" }, fill(this.words.rows, { n })),
    );
  }
  #inline(into, text, depth = 0) {
    text = tidy(text);
    const put = (more) => into.append(plain(more).replace(/ *\n/g, " "));
    let at = 0;
    const found = text.length < LONGEST_BLOCK && depth < DEEPEST ? text.matchAll(INLINE) : [];
    for (const { 0: all, index, groups } of found) {
      const { escaped, entity, code, id, image, label, address, bare, strong, em, under, del } = groups;
      const { inParens, inBrackets, inDollars, inDollar } = groups;
      const block = inBrackets ?? inDollars;
      const tex = block ?? inParens ?? inDollar;
      const isMath = tex && (canTypeset() || (inDollar === undefined && TEX.test(tex)));
      put(id ? text.slice(at, index).trimEnd() : text.slice(at, index));
      at = index + all.length;
      const anchor = (to, shown, deeper) => {
        const href = this.link(to);
        return this.#inline(el(href ? "a" : "span", { href }), shown, deeper);
      };
      if (isMath) into.append(this.#math(all, tex, block !== undefined));
      else if (tex) {
        put(all.slice(0, all.indexOf(tex)).replace("\\", ""));
        this.#inline(into, tex, depth + 1);
        put(all.slice(all.indexOf(tex) + tex.length).replace("\\", ""));
      }
      else if (entity) put(ENTITIES[entity]);
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

/** Move punctuation to its place before or after the numbers of citations. */
function tidy(text) {
  if (!text.includes("[^")) return text;
  const joined = text.replace(SEPARATED, "$1").replace(STOP, "$2$1").replace(SECOND_STOP, "$1");
  return joined.replace(SPACED, "$1").replace(FRENCH, "$1\u00a0");
}

/** Return the element of a block whose last line citations join: the label of code, otherwise its last text. */
function lastLine(block) {
  if (block.matches(".code")) return block.querySelector(".language");
  const inside = [...block.querySelectorAll(":scope li, :scope p, :scope td, .code")].at(-1);
  return inside?.matches(".code") ? lastLine(inside) : inside ?? block;
}

/** Whether the page has loaded something that typesets formulas. */
const canTypeset = () => !!(window.katex?.render ?? window.MathJax?.startup?.promise);

let colour; // the function of the highlighter, once it is loaded
let loading;
const loadColours = () =>
  (loading ??= import(new URL("roaming-highlight.js", import.meta.url)).then((module) => ({ colour } = module)).catch(() => {}));

/** Remove the indentation of the lines of a list item: two to four spaces, depending on who wrote it. */
function outdent([first, ...lines]) {
  const indents = lines.filter((line) => /^ +\S/.test(line)).map((line) => line.search(/\S/));
  const indent = new RegExp(`^ {1,${Math.min(4, ...indents)}}`);
  return [first, ...lines.map((line) => line.replace(indent, ""))];
}

/** Return the direction of a block that contains others: that of its first letter. */
const direction = (text) => (/^[^\p{L}]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u.test(text) ? "rtl" : "ltr");

/** Code and tables fade at their end side while there is more to see. */
const fade = (wide) => wide.classList.toggle("more", wide.scrollWidth - wide.clientWidth - Math.abs(wide.scrollLeft) > 1);
const resizes = new ResizeObserver((entries) => entries.forEach(({ target }) => fade(target)));
const ENTITIES = { lt: "<", gt: ">", amp: "&", quot: '"', "#39": "'" };
const LABEL = "(?:[^\\[\\]\\\\\\n]|\\\\.|\\[[^\\[\\]\\n]*\\])";
const target = (name) => `\\(<?(${name}[^\\s<>()]*(?:\\([^\\s<>()]*\\)[^\\s<>()]*)*)>?(?: +"[^"]*")?\\)`;
const INLINE = new RegExp(
  [
    "\\\\\\((?<inParens>[^]{1,4000}?)\\\\\\)",
    "\\\\\\[(?<inBrackets>[^]{1,4000}?)\\\\\\]",
    "\\$\\$(?<inDollars>[^$]{1,4000}?)\\$\\$",
    "(?<![$\\p{L}\\p{N}])\\$(?<inDollar>[^\\s$](?:[^$\\n]{0,400}[^\\s$])?)\\$(?![$\\p{L}\\p{N}])",
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
