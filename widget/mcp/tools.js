// The tools read_outline, expand_sections, search_sections and grep, as library/navigator.py of the Python package has them.
// Every call depends on the site and its arguments alone.

import { beginnings, words } from "../roaming-finder.js";
import { outline } from "./outline.js";
import { groupBy, pack, singleLine, snippet, split, splitLines, truncate, unpack } from "./text.js";

const MOST_CHARS = 24_000; // of a result
const MOST_IDS = 8, MOST_HITS = 10, MOST_NEAREST = 3, MOST_NAMED = 12;
const FRAME = 64 * (Math.max(MOST_IDS, MOST_HITS) + 1);
const CAP = MOST_CHARS - FRAME - 2036;
const SHARE = Math.max(Math.trunc(CAP * 0.48), 1200); // of a result for one section
const OUTLINE = 8000; // tokens
const WHOLE = 150; // tokens of a section that a search opens
const LABEL = 260;
const MOST_EXTRACTED = 20_000; // words whose terms stay in memory
const SOURCE_CODE = /^> \[!NOTE\]\n> \*\*Source code(?![\p{L}\p{N}_])[^\n]*\n(?:>[^\n]*\n?)*\n?/gmu;
const NAMES = { outline: "read_outline", expand: "expand_sections", expand_section: "expand_sections", search: "search_sections" };
const sum = (items, key) => items.reduce((total, item) => total + key(item), 0);

/** An error with what is right, for the model. */
export class ToolError extends Error {}

/** Call a tool; return its text between markers that no author of the site can know, and whether it is an error. */
export async function callTool(site, name, given, marker) {
  const tools = new Tools(site);
  const called = pack(name).trim().toLowerCase().split(".").at(-1).slice(0, 40);
  const tool = NAMES[called] ?? called;
  try {
    if (!["read_outline", "expand_sections", "search_sections", "grep"].includes(tool))
      throw new ToolError(`There is no tool '${pack(name).slice(0, 60)}'; there are read_outline, expand_sections, search_sections.`);
    const { blocks, label, isError = false } = await tools[tool](JSON.parse(pack(JSON.stringify(given ?? {}))));
    const text = label + blocks.map((block) => `<docs ${marker}>\n${block}</docs ${marker}>\n`).join("");
    return { text: unpack(text), isError };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return { text: `${unpack(error.message)}\n`, isError: true };
  }
}

class Tools {
  #whole = new Set(); // sections whose whole text is open
  #chars = new Map();
  #parts = new Map(); // the sections that an opened part contains
  #firsts = new Map(); // what was open before the first part of a section
  constructor(site) {
    this.site = site;
  }

  // Outline

  async read_outline(given) {
    const [id] = parseIds(first(given, "id", "ids", "section_id"));
    const label = this.site.label();
    const { source } = await this.site.finder();
    const budget = Math.min(OUTLINE, Math.trunc((CAP - label.length) / 4));
    const bare = id?.replace(/\+$/, "").trim();
    const branch = id && (this.find(bare)?.id ?? bare.toLowerCase()) + (id.endsWith("+") ? "+" : "");
    const text = branch ? outline(this.site, source, budget, branch) : (this.site.outline ??= outline(this.site, source, budget));
    if (text) return { blocks: [text], label };
    const unknown = await this.unknown(bare);
    const nearest = unknown.nearest.map((one) => `\n[${one.id}] ${one.title}`).join("");
    throw new ToolError(`The outline has no ${unknown.id}.${nearest && ` Nearest:${nearest}`}`);
  }

  // Ids

  find(id) {
    const { site } = this;
    const found = site.get(id) ?? site.get(id.toLowerCase());
    const inner = () => /(?<![0-9A-Za-z])[0-9a-fA-F]{8}(?![0-9A-Za-z])/.exec(id)?.[0].toLowerCase();
    return found ?? (id.length < 2000 ? site.resolve(id) ?? site.get(inner()) : undefined);
  }
  async unknown(id) {
    const { site } = this;
    const bare = id.replace(/\+$/, "").trim().toLowerCase();
    const group = site.groups.get(bare);
    const list = (sections) => sections.slice(0, MOST_NEAREST).filter(Boolean).map(listed);
    if (group) {
      const walk = (entries) => entries.flatMap((one) => [...(one.page !== undefined && one.id ? [one.id] : []), ...walk(one.children ?? [])]);
      const nearest = list(walk(group).slice(0, MOST_NEAREST).map((one) => site.get(one)));
      return { id: bare, nearest, why: `a group of pages: read_outline(${bare}) shows it` };
    }
    const isId = /^(?:[a-z0-9._-]{1,100}:)?[0-9a-f]{4,12}$/.test(bare);
    const near = isId ? closeMatches(bare, [...site.all.keys()]).map((one) => site.get(one)) : await this.ranked(id);
    return { id: truncate(split(id).join(" "), 60), nearest: list(near) };
  }

  // Expand

  async expand_sections(given) {
    const wanted = parseIds(first(given, "ids", "id", "section_ids", "section_id")).slice(0, 2 * MOST_IDS);
    const part = parseInteger(given.part, 1, 1, 1e6);
    if (!wanted.length) throw new ToolError("expand_sections needs `ids`: a list of ids as the outline shows them.");
    let result = { sections: [], missing: [], known: [], skipped: [] };
    const skipped = [];
    const short = (ids) => ids.map((id) => truncate(id, 120));
    for (const [at, id] of wanted.slice(0, MOST_IDS).entries()) {
      const opened = await this.expandOne(id, part);
      const combined = { skipped: short([...skipped, ...wanted.slice(at + 1, MOST_IDS)]) };
      for (const key of ["sections", "missing", "known"]) combined[key] = [...result[key], ...opened[key]];
      if (this.label(combined).length + renderOpened(combined).length <= MOST_CHARS - FRAME) result = combined;
      else {
        skipped.push(id);
        this.drop(opened.sections.flatMap(({ shown }) => shown.map((one) => one.id)));
      }
    }
    result.skipped = short([...skipped, ...wanted.slice(MOST_IDS)]);
    const { sections, missing, known } = result;
    const blocks = sections.map(render);
    const notes = { ...result, sections: [] };
    if (!sections.length || [missing, known, result.skipped].some((list) => list.length)) blocks.push(renderOpened(notes));
    return { blocks, label: this.label(result), isError: !sections.length };
  }
  label({ sections }) {
    return this.site.label(sections.flatMap(({ shown }) => shown.map(({ id }) => this.site.get(id))));
  }
  async expandOne(id, part) {
    const result = { sections: [], missing: [], known: [], skipped: [] };
    const section = this.find(id.replace(/\+$/, ""));
    if (!section) return { ...result, missing: [await this.unknown(id)] };
    await this.site.load([section.page]);
    const isOpen = (one) => this.#whole.has(one.id) || one.start === one.end;
    if (this.#parts.has(`${section.id} ${part}`) || (part === 1 && [section, ...this.site.below(section)].every(isOpen)))
      return { ...result, known: [listed(section)] };
    const room = CAP - renderOpened(result).length - 64 - (this.site.label() ? LABEL : 0);
    const text = this.site.text(section);
    if (text === undefined) return { ...result, missing: [{ id: section.id, nearest: [], why: "This cannot be read at the moment" }] };
    if (part === 1 || !this.#firsts.has(section.id)) this.#firsts.set(section.id, new Set(this.#whole));
    const expansion = this.expand(section, part, Math.min(room - 8, SHARE), this.#firsts.get(section.id));
    for (const shown of expansion.shown) {
      this.#chars.set(shown.id, (this.#chars.get(shown.id) ?? 0) + shown.text.length);
      if (this.#chars.get(shown.id) >= this.site.text(this.site.get(shown.id)).length) this.#whole.add(shown.id);
    }
    this.#parts.set(`${section.id} ${expansion.part}`, new Set(expansion.shown.map((one) => one.id)));
    return { ...result, sections: [expansion] };
  }
  drop(ids) {
    for (const id of ids) {
      this.#chars.delete(id);
      this.#whole.delete(id);
      for (const [key, shown] of this.#parts) if (key.startsWith(`${id} `) || shown.has(id)) this.#parts.delete(key);
    }
  }
  frame(section, parts) {
    const { site } = this;
    const trail = site.breadcrumb(section).map(short);
    const isLong = () => sum(trail, ({ length }) => length + 3) > 400;
    const isCut = trail.length > 1 && isLong();
    while (trail.length > 2 && isLong()) trail.splice(1, 1);
    if (isCut) trail.splice(1, 0, "…");
    const url = split(site.url(section)).join("%20");
    const [before, after] = site.neighbours(section).map((one) => one && listed(one));
    return { id: section.id, trail, url: url.length <= 500 ? url : "", shown: [], listed: [], known: [], part: parts, parts, before, after };
  }
  /** Open a section with the subsections that fit and are not open, small ones first. */
  expand(section, part, cap, opened) {
    const frame = this.frame(section, 999);
    const room = Math.max(Math.max(cap - render(frame).length - 110, 400) - 120, 400);
    const texts = new Map();
    const own = (one) => {
      if (!texts.has(one)) texts.set(one, opened.has(one.id) ? ["", ""] : splitCode(this.site.text(one)));
      return texts.get(one);
    };
    const listSize = (one) => sum(one.children, (child) => renderListed(listed(child)).length);
    const cost = (one) => [own(one)[0].length + listSize(one) - (opened.has(one.id) ? 0 : renderListed(listed(one)).length), one];
    const [chosen, closed, pending] = [[section], [], section.children.map(cost)];
    let left = room - own(section)[0].length - listSize(section);
    while (pending.length) {
      pending.sort(([size, one], [otherSize, other]) => size - otherSize || one.position - other.position);
      const [size, one] = pending.shift();
      if (size > left) {
        closed.push(one);
        continue;
      }
      chosen.push(one);
      left -= size;
      pending.push(...one.children.map(cost));
    }
    for (const list of [chosen, closed]) list.sort((one, other) => one.position - other.position);
    const shown = [0, 1].flatMap((kind) => chosen.map((one) => ({ id: one.id, text: own(one)[kind] }))).filter(({ text }) => text);
    const parts = splitParts(shown, closed.map(listed), room);
    const number = Math.min(Math.max(part, 1), parts.length);
    const expansion = { ...frame, ...parts[number - 1], part: number, parts: parts.length };
    if (number === 1) expansion.known = chosen.filter((one) => opened.has(one.id) && one.start < one.end).map(listed);
    let space = cap - render(expansion).length;
    const titles = expansion.listed.map(({ title }) => title);
    for (const entry of expansion.listed) {
      const { parent } = this.site.get(entry.id);
      if (parent && titles.filter((title) => title === entry.title).length > 1) entry.title = `${short(parent.title)} › ${entry.title}`;
      for (const child of this.site.get(entry.id).children.slice(0, MOST_NAMED)) {
        const name = `[${child.id}] ${short(child.title)}`;
        if (name.length + 2 > space) break;
        space -= name.length + 2;
        entry.named.push(name);
      }
    }
    return expansion;
  }

  // Search

  /** Return the sections for a query, best first; that of an address comes first. */
  async ranked(query) {
    const finder = await this.site.finder();
    const found = (await finder.find(`${query.slice(0, 2000)} `)).map(({ id }) => this.site.get(id)).filter(Boolean);
    const address = query.trim();
    const target = address.length > 2000 ? undefined : this.site.get(address) ?? (/[/#]|\.md$/.test(address) ? this.site.resolve(address) : undefined);
    return target ? [target, ...found.filter((one) => one !== target)] : found;
  }
  async search_sections(given) {
    const query = first(given, "query", "q");
    if (typeof query !== "string") throw new ToolError("search_sections needs `query`, a text.");
    const limit = parseInteger(given.limit, 5, 1, MOST_HITS);
    const finder = await this.site.finder();
    if (!finder.search) throw new ToolError(`This site has ${finder.count} sections, too many to search them here. Use grep or read_outline.`);
    const hits = (await this.ranked(query)).slice(0, limit);
    await this.site.load(hits.map(({ page }) => page));
    let cap = CAP >> 1; // the other half is for the lines
    const opened = [];
    for (const section of hits) {
      if (section.tokens > WHOLE) continue;
      const text = this.site.text(section);
      const expansion = { ...this.frame(section, 1), shown: text ? [{ id: section.id, text }] : [], before: undefined, after: undefined };
      cap -= render(expansion).length + 8;
      if (text && cap >= 0) opened.push(expansion);
    }
    const { wanted } = await finder.asked(`${query} `);
    const missing = wanted.filter((word) => !word.stop && !finder.has(word));
    const unknown = [...new Set(missing.map(({ text }) => truncate(text, 40)))].slice(0, 8);
    const isOpened = ({ id }) => opened.some((one) => one.id === id);
    for (const expansion of opened) {
      const closed = this.site.below(this.site.get(expansion.id)).filter((one) => !isOpened(one));
      if (closed.length) expansion.inside = `${closed.length}): ${closed.slice(0, 5).map((one) => `[${one.id}] ${short(one.title)}`).join(", ")}${closed.length > 5 ? ", …" : ""}`;
    }
    const label = this.label({ sections: opened });
    let room = CAP - label.length - [...opened.map(render), renderHits([], opened, unknown)].join("\n---\n\n").length;
    const lines = [];
    const terms = new Set(wanted.flatMap(({ runs }) => runs.flat()));
    const find = (term) => [term, ...(finder.search.stems ? beginnings(term) : [])].find((one) => terms.has(one));
    const match = (text) => termsOf(text, finder.language).map(find).filter(Boolean);
    const read = (section) => snippet(this.site.text(section) ?? section.opening ?? "", match);
    for (const section of hits.filter((one) => !isOpened(one))) {
      const trail = this.site.breadcrumb(section).slice(-6).map((title) => truncate(singleLine(title), 80));
      const line = { key: truncate(singleLine(section.title), 120).toLowerCase(), place: `[${section.id}] ${trail.join(" › ")}`, snippet: read(section) };
      room -= renderHits([line], [], []).length + 1;
      if (room < 0) break;
      lines.push(line);
    }
    const notes = lines.length || opened.length ? renderLines(lines, opened) : renderHits([], [], []);
    return { blocks: [...opened.map(render), ...(opened.length || notes ? [notes + renderUnknown(unknown)] : [])], label };
  }

  // Grep

  async grep(given) {
    const pattern = first(given, "pattern", "query");
    if (typeof pattern !== "string") throw new ToolError("grep needs `pattern`, a text.");
    if (!pattern.trim()) throw new ToolError("the pattern is empty; give a string that the documentation contains.");
    if (pattern.length > 500) throw new ToolError(`the pattern has ${pattern.length} characters, at most 500 are searched for.`);
    const flags = pattern === pattern.toLowerCase() ? "iu" : "u";
    const expression = new RegExp(pattern.replace(/^[\r\n]+|[\r\n]+$/g, "").replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), flags);
    const { site } = this;
    const pages = [...site.pages.values()];
    await site.load(pages);
    let unread = 0;
    const found = pages.flatMap((page) => {
      const whole = site.markdown(page);
      if (whole === undefined) unread += page.sections.length;
      if (whole === undefined || !expression.test(whole)) return [];
      return page.sections.flatMap((section) => {
        const lines = splitLines(site.text(section)).flatMap((line, at) => {
          const start = line.search(expression);
          return start < 0 ? [] : [`  ${at + 1}: ${cutLine(line, start)}\n`];
        });
        if (!lines.length) return [];
        const more = lines.length > 3 ? `  ${lines.length - 3} more in this section\n` : "";
        return [{ section, count: lines.length, lines: lines.slice(0, 3).join("") + more }];
      });
    });
    if (unread === site.all.size) throw new ToolError("This cannot be read at the moment");
    const inTitle = ({ section }) => (expression.test(section.title) ? 0 : 1);
    found.sort((one, other) => inTitle(one) - inTitle(other));
    const shown = found.slice(0, 20).map((one) => `[${one.section.id}] ${site.breadcrumb(one.section).join(" › ")}\n${one.lines}`);
    const label = found.length ? site.label(found.slice(0, 20).map(({ section }) => section)) : "";
    const left = unread ? `${unread} sections could not be read.\n` : "";
    const make = () => {
      const more = shown.length < found.length ? `; sections 1 to ${shown.length} are shown, a longer pattern finds fewer` : "";
      return `${shown.join("")}Lines: ${sum(found, ({ count }) => count)}, sections: ${found.length}${more}.\n${left}`;
    };
    while (shown.length && label.length + make().length > CAP) shown.pop();
    return { blocks: [found.length ? make() : `No line matches.\n${left}`], label };
  }
}

// Results as text

const short = (title) => truncate(singleLine(title), 120);
const listed = ({ id, title, tokens, last, position }) => ({ id, title: short(title), tokens, inside: last - position, named: [] });
const renderListed = ({ id, title, tokens, inside, named }) =>
  `- [${id}] ${title} (~${tokens} tokens${inside ? `, +${inside} inside` : ""})${named.length ? `: ${[...named, ...(inside > named.length ? ["…"] : [])].join(", ")}` : ""}\n`;
const name = ({ id, title }) => `[${id}] ${title}`;

function render({ id, trail, url, shown, listed, inside, known, part, parts, before, after }) {
  const text = shown.map((one) => one.text).join("");
  const more = (part < parts ? `\nGoes on in part ${part + 1}.\n` : "") + (inside ? `\nInside, not opened (${inside}\n` : "");
  const rest = listed.length ? `\nNot opened here:\n\n${listed.map(renderListed).join("")}` : "";
  const open = known.length ? `\nOpen already: ${known.map(name).join(", ")}\n` : "";
  const near = [before && `Before: ${name(before)}`, after && `After: ${name(after)}`].filter(Boolean).join(" · ");
  const head = `${trail.join(" › ")}\n[${id}] ${url}${parts > 1 ? ` (part ${part} of ${parts})` : ""}\n\n`;
  return head + text + (text.endsWith("\n") ? "" : "\n") + more + rest + open + (near && `\n${near}\n`);
}
function renderOpened({ sections, missing, known, skipped }) {
  const notes = missing.map(({ id, nearest, why = "no section has this id" }) => {
    return `${id}: ${why}${nearest.length ? `; nearest: ${nearest.map(name).join(", ")}.` : "."}\n`;
  });
  notes.push(...known.map((one) => `${name(one)}: is open above already.\n`));
  if (skipped.length) notes.push(`No room for ${skipped.join(", ")}: ask again in another call.\n`);
  const blocks = [...sections.map(render), ...(notes.length ? [notes.join("")] : [])];
  return blocks.join("\n---\n\n") || "Nothing to open: give ids from the outline.\n";
}
function renderLines(lines, opened) {
  const groups = [...groupBy(lines, ({ key }) => key).values()].map(([one, ...others]) => {
    const also = others.map(({ place }) => `  also ${place}\n`).join("");
    return one.place + (one.snippet && ` — ${one.snippet}`) + "\n" + also;
  });
  return groups.length && opened.length ? `Also found, not opened:\n\n${groups.join("")}` : groups.join("");
}
const renderUnknown = (words) => (words.length ? `Words that the documentation does not contain: ${words.join(", ")}\n` : "");
const renderHits = (lines, opened, unknown) =>
  renderLines(lines, opened) + (lines.length ? "" : "Nothing found. Try other words, or read_outline.\n") + renderUnknown(unknown);

const extracted = new Map();
/** Return the terms of a word of a text; the same words occur in many texts. */
function termsOf(text, language) {
  const key = `${language} ${text}`;
  if (extracted.size > MOST_EXTRACTED) extracted.clear();
  if (!extracted.has(key)) extracted.set(key, words(text, language).flatMap((word) => word.terms));
  return extracted.get(key);
}
/** Return a text without its listings of source code, and these. */
function splitCode(text = "") {
  const listings = text.includes("Source code") ? text.match(SOURCE_CODE) : undefined;
  return listings ? [text.replace(SOURCE_CODE, ""), listings.join("")] : [text, ""];
}
function splitParts(shown, listed, room) {
  const parts = [{ shown: [], listed: [] }];
  const next = () => {
    parts.push({ shown: [], listed: [] });
    left = room;
  };
  let left = room;
  for (let { id, text } of shown) {
    while (text.length > left) {
      const cut = findCut(text, left);
      parts.at(-1).shown.push({ id, text: text.slice(0, cut) });
      text = text.slice(cut);
      next();
    }
    if (text) parts.at(-1).shown.push({ id, text });
    left -= text.length;
  }
  for (const entry of listed) {
    const size = renderListed(entry).length;
    if (size > left) next();
    parts.at(-1).listed.push(entry);
    left -= size;
  }
  const full = parts.filter((part) => part.shown.length || part.listed.length);
  return full.length ? full : parts.slice(0, 1);
}
/** Return the fence that is open after a line. */
function followFence(line, fence) {
  if (fence) return new RegExp(`^ {0,3}${fence}${fence[0]}*[ \\t]*\\n?$`).test(line) ? "" : fence;
  return /^ {0,3}(`{3,}(?=[^`\n]*\n?$)|~{3,})/.exec(line)?.[1] ?? "";
}
function findCut(text, limit) {
  let [at, fence, best] = [0, "", 0];
  for (const line of text.slice(0, limit).split(/(?<=\n)/)) {
    fence = followFence(line, fence);
    at += line.length;
    if (!fence && !line.trim() && at >= limit >> 1) best = at;
  }
  if (best) return best;
  for (const end of ["\n\n", "\n", " "]) {
    const at = limit < end.length ? -1 : text.lastIndexOf(end, limit - end.length);
    if (at >= limit >> 1) return at + end.length;
  }
  return limit;
}
function cutLine(line, start) {
  if (line.length <= 300) return line;
  const begin = Math.max(0, Math.min(start - 75, line.length - 300));
  return `${begin ? "…" : ""}${line.slice(begin, begin + 300)}${begin + 300 < line.length ? "…" : ""}`;
}

// Arguments, which come from models

const first = (given, ...names) => {
  const isEmpty = (value) => value === undefined || value === null || value === "" || (typeof value === "object" && !Object.keys(value).length);
  return given[names.find((name) => !isEmpty(given[name]))];
};
function parseInteger(value, fallback, least, most) {
  if (typeof value === "string") value = /^\s*[+-]?[0-9]{1,9}\s*$/.test(value) ? Number(value) : fallback;
  if (typeof value !== "number" || !(Math.abs(value) < 1e9 || Number.isInteger(value))) return fallback;
  return Math.min(Math.max(Math.trunc(value), least), most);
}
const parseIds = (value) => [...new Set(iterateIds(value, 0))].slice(0, 64);
function iterateIds(value, depth) {
  if (typeof value === "string")
    return value.slice(0, 2000).split(/[,;\n]/).flatMap((part) => {
      const text = part.replace(/^[ \t\r\n"'`[\](){}<>]+|[ \t\r\n"'`[\](){}<>]+$/g, "");
      return /^(?:(?:[\p{L}\p{N}_.-]+:)?[0-9a-fA-F]{8}(?:\+?\s+|\+?$))+$/u.test(text) ? split(text) : text ? [text] : [];
    });
  if (Number.isSafeInteger(value)) {
    const sign = value < 0 && value > -1e8 ? "-" : "";
    return [sign + `${Math.abs(value)}`.padStart(8 - sign.length, "0")];
  }
  if (!value || typeof value !== "object" || depth > 2) return [];
  const inner = Array.isArray(value) ? value.slice(0, 64) : ["id", "section_id", "ids"].filter((key) => key in value).map((key) => value[key]);
  return inner.flatMap((item) => iterateIds(item, depth + 1));
}

/** Return the ids most similar to a wrong one, as Python's difflib finds them. */
function closeMatches(word, ids) {
  const least = 0.6;
  const blocks = (a, b) => {
    let [size, at, from] = [0, 0, 0];
    for (let i = 0; i < a.length; i++)
      for (let j = 0; j < b.length; j++) {
        let k = 0;
        while (a[i + k] !== undefined && a[i + k] === b[j + k]) k++;
        if (k > size) [size, at, from] = [k, i, j];
      }
    return size && size + blocks(a.slice(0, at), b.slice(0, from)) + blocks(a.slice(at + size), b.slice(from + size));
  };
  const shares = (id) => 2 * [...id].filter((one) => word.includes(one)).length >= least * (id.length + word.length); // at most
  const rate = (id) => (2 * blocks(id, word)) / (id.length + word.length);
  const rated = ids.filter(shares).map((id) => [rate(id), id]).filter(([score]) => score >= least);
  rated.sort(([score, id], [otherScore, other]) => otherScore - score || (id < other ? 1 : -1));
  return rated.slice(0, MOST_NEAREST).map(([, id]) => id);
}
