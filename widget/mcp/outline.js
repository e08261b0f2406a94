// The outline of a site within a budget of tokens, as manifest/outline.py of the Python package renders it.

import { fold } from "../roaming-finder.js";
import { shorten, singleLine, tokens, truncate } from "./text.js";

const LEGEND =
  "[id] Title — opening · titles inside +12: 12 sections inside are not listed; read_outline(id) lists them, " +
  "expand_sections opens text. “[id+] 30 more: Title …”: read_outline(id+).\n";
const LIMITS = [[80, 120], [60, 120], [40, 120], [0, 120], [0, 90], [0, 60], [0, 40], [0, 0]]; // of sentence and titles inside
const BARE = LIMITS.length - 1;
const MOST_LISTED = 40; // subsections in a list; longer ones come last, and so do single subsections
const BARE_TITLE = /^(?:\p{L}+|§+)?[^\p{L}\p{N}_]*\p{Nd}[\p{L}\p{N}_.]*[^\p{L}\p{N}_]*$/u; // says nothing but a number: `Rule 12`
const FEWEST_ARCHIVES = 3; // fewer are not worth a marker
const ARCHIVE = 2;
const sum = (items, key) => items.reduce((total, item) => total + key(item), 0);
const indent = (depth) => "  ".repeat(Math.min(depth, 12));

/** Return the outline of a site, or of one branch of it; undefined if there is no such branch. */
export function outline(site, { kinds = "", generic = [] }, budget, branch) {
  let [head, lines] = [undefined, topLines(site, kinds)];
  if (branch) {
    const id = branch.replace(/\+$/, "");
    const wanted = site.get(id)?.id ?? id;
    const lists = [lines, ...walk(lines).map((line) => line.children)];
    const list = lists.find((list) => list.some(({ ids }) => ids.includes(wanted)));
    if (!list) return undefined;
    const rank = list.findIndex(({ ids }) => ids.includes(wanted));
    if (branch.endsWith("+")) lines = list.slice(rank);
    else [head, lines] = [list[rank], list[rank].children];
  }
  return LEGEND + new Outline(head, lines, budget - tokens(LEGEND), new Set(generic)).render();
}
const walk = (lines) => lines.flatMap((line) => [line, ...walk(line.children)]);

function topLines({ manifest: { pages, nav = [] }, pages: byPath }, kinds) {
  const kindOf = new Map(pages.map(({ path }, at) => [path, Number(kinds[at] ?? 0)]));
  const left = new Map(byPath);
  const entryKind = ({ page, title, children = [] }) => {
    const found = [...(kindOf.has(page) ? [kindOf.get(page)] : []), ...children.map(entryKind)];
    const kind = found.length ? Math.min(...found) : 0;
    return page === undefined && title === "More" ? Math.max(kind, 1) : kind;
  };
  const sorted = (entries) => entries.toSorted((one, other) => entryKind(one) - entryKind(other));
  const make = (entry) => {
    const { id, page, title, children = [] } = entry;
    let line;
    if (page !== undefined) {
      if (!left.has(page)) return [];
      left.delete(page);
      line = sectionLine(byPath.get(page).sections[0]);
    } else if (id) line = new Line([id], title);
    else return []; // an external link
    line.pages = sorted(children).flatMap(make);
    if (page === undefined && line.pages.length && isIndex({ ...entry, children: sorted(children) })) {
      const [index, ...others] = line.pages;
      line = Object.assign(index, { ids: [...index.ids, id], title: line.title, pages: others });
    }
    line.pageCount = sum(line.pages, (one) => one.total);
    line.isArchive = entryKind(entry) === ARCHIVE;
    return [line];
  };
  const lines = sorted(nav).flatMap(make);
  return [...lines, ...sorted([...left].map(([page, { id, title }]) => ({ id, page, title }))).flatMap(make)];
}
/** Return whether the first entry of a group is its index page. */
function isIndex({ title, children: [first, ...others] }) {
  if (first.page === undefined || first.children?.length) return false;
  const folder = first.page.replace(/index\.html$/, "");
  const inFolder = ({ page = folder, children = [] }) => page.startsWith(folder) && children.every(inFolder);
  return (folder.endsWith("/") && others.every(inFolder)) || fold(first.title) === fold(title);
}
function sectionLine(section) {
  let { title, opening } = section;
  if (!section.position) opening = section.page.description || opening;
  else if (opening && BARE_TITLE.test(title)) [title, opening] = [`${title} — ${shorten(singleLine(opening), 40)}`, ""];
  const line = new Line([section.id], title, opening ?? "");
  line.sections = section.children.map(sectionLine);
  line.tokens = sum(section.children, ({ tokens }) => tokens) + sum(line.sections, ({ tokens }) => tokens);
  line.sectionCount = section.last - section.position;
  return line;
}

class Line {
  sections = [];
  pages = [];
  tokens = 0;
  sectionCount = 0;
  pageCount = 0;
  pagesOpen = 0;
  limits = BARE;
  constructor(ids, title, opening) {
    title = truncate(singleLine(title), 100);
    this.title = title.length <= 40 || tokens(title) <= 40 ? title : truncate(title, 40);
    this.ids = ids;
    this.opening = singleLine(opening ?? "");
    this.isGroup = opening === undefined;
  }
  get children() {
    return [...this.sections, ...this.pages];
  }
  get total() {
    return this.sectionCount + this.pageCount + !this.isGroup;
  }
  get closed() {
    return (this.sectionsOpen ? 0 : this.sectionCount) + (this.pagesOpen ? 0 : this.pageCount);
  }
  get guides() {
    const archives = this.pages.filter(({ isArchive }) => isArchive).length;
    return this.pages.length - (archives >= FEWEST_ARCHIVES ? archives : 0);
  }
}

class Outline {
  shown = []; // lines without texts so far, each with its depth
  constructor(head, lines, left, generic) {
    Object.assign(this, { head, lines, left, generic, depth: head ? 1 : 0 });
  }
  render() {
    const { head } = this;
    if (head) {
      Object.assign(head, { sectionsOpen: true, pagesOpen: head.pages.length });
      this.left -= this.cost(head, 0);
    }
    this.showList();
    for (const [line, depth] of this.shown) if (!line.isArchive) this.openPages(line, depth, line.guides); // grows
    const shown = this.shown.splice(0);
    const heads = head ? [[head, 0]] : [];
    this.chooseLimits([...heads, ...shown]);
    this.openSections(shown.filter(([line]) => !line.isArchive || line.sections.length < FEWEST_ARCHIVES));
    for (const [line, depth] of shown) this.openPages(line, depth, line.pages.length);
    const placed = [...heads, ...shown, ...this.shown];
    this.chooseLimits(placed);
    for (const [line, depth] of placed) {
      const wider = Math.max(line.limits - 1, 0);
      const cost = this.cost(line, depth, wider) - this.cost(line, depth);
      if (cost > this.left) continue;
      this.left -= cost;
      line.limits = wider;
    }
    return (head ? this.line(head, 0) : "") + this.list(this.lines, this.count, this.depth);
  }
  showList() {
    let last = 0;
    for (const [rank, line] of this.lines.entries()) {
      const [cost, next] = [this.cost(line, this.depth), tokens(marker(this.lines, rank + 1, this.depth))];
      if (rank && cost + next > this.left) break;
      this.left -= cost;
      this.shown.push([line, this.depth]);
      last = next;
    }
    this.count = this.shown.length;
    this.left -= last;
  }
  openPages(line, depth, count) {
    const opened = line.pagesOpen;
    if (count <= opened) return;
    const pages = line.pages.slice(opened, count);
    const measure = () => this.cost(line, depth) + tokens(marker(line.pages, line.pagesOpen, depth + 1));
    const before = measure();
    line.pagesOpen = count;
    const cost = measure() - before + sum(pages, (page) => this.cost(page, depth + 1));
    if (cost > this.left) return void (line.pagesOpen = opened);
    this.left -= cost;
    for (const page of pages) this.shown.push([page, depth + 1]);
  }
  /** Choose the widest limits that fit for the texts of all lines. */
  chooseLimits(lines) {
    const bare = lines.map(([line, depth]) => this.cost(line, depth));
    for (let limits = 0; limits <= BARE; limits++) {
      let { left } = this;
      const fits = lines.every(([line, depth], at) => (left -= this.cost(line, depth, Math.min(limits, line.limits)) - bare[at]) >= 0);
      if (!fits) continue;
      this.left = left;
      for (const [line] of lines) line.limits = Math.min(limits, line.limits);
      return;
    }
  }
  /** Show subsections, first those with the most text for their number of lines. What does not fit is skipped. */
  openSections(lines) {
    const queue = [];
    const push = (line, depth) => {
      const { length } = line.sections;
      const value = length > 1 && length <= MOST_LISTED ? line.tokens / Math.sqrt(length) : 0;
      if (length) queue.push({ line, depth, value });
    };
    for (const [line, depth] of lines) push(line, depth);
    while (queue.length) {
      const best = queue.reduce((best, { value }, at) => (value > queue[best].value ? at : best), 0);
      const [{ line, depth }] = queue.splice(best, 1);
      const before = this.cost(line, depth);
      line.sectionsOpen = true;
      const cost = this.cost(line, depth) - before + sum(line.sections, (one) => this.cost(one, depth + 1));
      line.sectionsOpen = cost <= this.left;
      if (!line.sectionsOpen) continue;
      this.left -= cost;
      for (const section of line.sections) {
        this.shown.push([section, depth + 1]);
        push(section, depth + 1);
      }
    }
  }
  cost(line, depth, limits) {
    return tokens(this.line(line, depth, limits));
  }
  list(lines, count, depth) {
    const texts = lines.slice(0, count).map((line) => {
      const sections = line.sectionsOpen ? this.list(line.sections, line.sections.length, depth + 1) : "";
      return this.line(line, depth) + sections + this.list(line.pages, line.pagesOpen, depth + 1);
    });
    return texts.join("") + marker(lines, count, depth);
  }
  line(line, depth, limits = line.limits) {
    const [most, mostTitles] = LIMITS[limits];
    const sentence = most && shorten(line.opening, most);
    const titles = mostTitles && this.titles(line, mostTitles);
    const closed = line.closed ? ` +${line.closed}` : "";
    return `${indent(depth)}[${line.ids[0]}] ${line.title}${sentence ? ` — ${sentence}` : ""}${titles ? ` · ${titles}` : ""}${closed}\n`;
  }
  /** Return the titles of what is closed below a line, those that say nothing left out, by level. */
  titles(line, most) {
    const below = [...(line.pagesOpen ? [] : line.pages), ...(line.sectionsOpen ? [] : line.sections)];
    const seen = new Set([(line.key ??= fold(line.title))]);
    let joined = "";
    for (const child of below) {
      below.push(...child.children);
      child.key ??= fold(child.title);
      if (seen.has(child.key) || this.generic.has(child.key)) continue;
      seen.add(child.key);
      const title = truncate(child.title, 40);
      if (joined.length + title.length + (joined && 2) > most) break;
      joined += joined ? `, ${title}` : title;
    }
    return joined;
  }
}

/** Return the line for what follows the shown lines of a list; empty if nothing does, or if none is shown. */
function marker(lines, count, depth) {
  if (!count || count >= lines.length) return "";
  const rest = lines.length - count;
  return `${indent(depth)}[${lines[count].ids[0]}+] ${rest} more: ${truncate(lines[count].title, 24)}${rest > 1 ? " …" : ""}\n`;
}
