// A published site: its manifest, the Markdown of its pages, and the index of the finder. What was read is kept between
// requests, and renewed when the site publishes another manifest.

import { Finder } from "../roaming-finder.js";
import { fits } from "../roaming-library.js";
import { groupBy, pack, singleLine } from "./text.js";

const RECHECK = 60_000; // ms
const MOST_MARKDOWN = 24 * 2 ** 20; // bytes that stay in memory
const MOST_SINGLE = 12; // pages; more are read from llms-full.txt
const MOST_FETCHED = 40; // pages of a request; the free plan of Cloudflare allows 50 subrequests
const MOST_SITES = 3;
const MANIFEST = "roaming/manifest.json";

/** An error that a client may know. */
export class Unreadable extends Error {
  constructor(message = "This cannot be read at the moment") {
    super(message);
  }
}

const sites = new Map(); // by the URL of their folder

/** Return the site in a folder; `fetchFile` returns the response to a request for one of its files. */
export async function openSite(base, fetchFile, fresh) {
  const known = fresh ? undefined : sites.get(base);
  if (known && Date.now() - known.checked < RECHECK) return known;
  const read = async (path, headers) => fetchFile(new Request(new URL(path, base), { headers }));
  const response = await read(MANIFEST, known?.etag ? { "If-None-Match": known.etag } : {});
  if (response.status !== 304) {
    if (!response.ok) throw new Unreadable();
    const text = await response.text();
    if (!known || !text.includes(known.manifest.digest)) {
      sites.delete(base);
      for (const [first] of sites) if (sites.size >= MOST_SITES) sites.delete(first);
      sites.set(base, new Site(parse(text), response.headers.get("ETag"), read));
    }
  }
  const site = sites.get(base);
  site.read = read; // that of an earlier request may have ended with it
  site.checked = Date.now();
  return site;
}

function parse(text) {
  try {
    const manifest = JSON.parse(pack(text));
    if (manifest.version === 1 && manifest.pages && manifest.site) return manifest;
  } catch {} // such as the page of the site for missing files
  throw new Unreadable();
}

class Site {
  pages = new Map(); // by path
  all = new Map(); // sections by id
  #aliases = new Map();
  #trails = new Map(); // titles above a page in the nav
  groups = new Map();
  #named = new Map(); // pages by source and by Markdown file
  #data = new Map(); // Markdown by page: its bytes, or undefined if it cannot be read
  #size = 0;
  #finding;
  constructor(manifest, etag, read) {
    Object.assign(this, { manifest, etag, read });
    const set = (map, key, value) => key && !map.has(key) && map.set(key, value);
    this.trusted = !manifest.crawled_from && manifest.pages.every(({ origin = "html" }) => origin === "html");
    const host = manifest.crawled_from || /^\w+:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(manifest.site.url)?.[1] || "";
    this.host = this.trusted ? "" : host.replace(/[^\w.:[\]-]|_/g, "?").slice(0, 120);
    this.name = this.host ? this.host.replace(/.*\?.*/, "") : manifest.site.name; // the name of a third-party site may be an instruction
    for (const [rank, page] of manifest.pages.entries()) {
      page.rank = rank;
      if (!this.pages.has(page.path)) this.pages.set(page.path, page);
      set(this.#named, page.source, page);
      set(this.#named, `md ${page.markdown}`, page);
      const open = [];
      for (const [position, section] of page.sections.entries()) {
        while (open.length > 1 && open.at(-1).level >= section.level) open.pop();
        const parent = open.at(-1);
        Object.assign(section, { page, position, parent, children: [], last: position });
        parent?.children.push(section);
        open.push(section);
        for (const { position: at } of open) page.sections[at].last = position;
        set(this.all, section.id, section);
        for (const alias of section.aliases ?? []) set(this.#aliases, alias, section.id);
      }
    }
    const visit = (entries, trail) => {
      for (const { page, id, title, children = [] } of entries) {
        if (page === undefined) set(this.groups, id, children);
        else if (!this.#trails.has(page)) this.#trails.set(page, trail);
        visit(children, [...trail, singleLine(title)]);
      }
    };
    visit(manifest.nav ?? [], []);
  }

  // Sections

  get(id) {
    return this.all.get(id) ?? this.all.get(this.#aliases.get(id));
  }
  below({ page, position, last }) {
    return page.sections.slice(position + 1, last + 1);
  }
  /** Return the section that an id, a path with an anchor, the path of a Markdown file or a URL names. */
  resolve(address) {
    const found = this.get(address);
    if (found) return found;
    let [, path, anchor = ""] = /^([^#]*)#?([^]*)/.exec(address);
    if (path.includes("://")) {
      const { url } = this.manifest.site;
      if (!path.startsWith(url) && `${path}/` !== url) return undefined;
      path = decode(path.slice(url.length).replace(/\?[^]*/, "")).normalize("NFC").replace(/^\/+/, "").replace(/(^|\/)index\.html?$/, "$1");
    }
    const bare = path.replace(/^\/+/, "");
    const plain = decode(path).replace(/^\/+/, "");
    const named = (form) => this.pages.get(form);
    const page = this.#named.get(bare) ?? named(plain) ?? named(`${plain}/`) ?? named(plain.replace(/\/+$/, "")) ?? this.#named.get(`md ${path}`);
    if (!page || !anchor) return page?.sections[0];
    anchor = decode(anchor);
    const slug = (title) => title.trim().toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, "").replaceAll(" ", "-");
    const own = (section) => (this.manifest.anchors === false ? slug(section.title) : section.anchor);
    return page.sections.find((one) => own(one) === anchor) ?? page.sections.find(({ anchors }) => anchors?.includes(anchor));
  }
  /** Return the titles from the top of the nav to a section. */
  breadcrumb(section) {
    const above = [];
    for (let one = section.parent; one; one = one.parent) above.unshift(one);
    const same = section.parent?.children.filter(({ title }) => title === section.title) ?? [];
    if (same.length > 1) {
      const counts = groupBy(section.parent.children, ({ title }) => title);
      const context = section.parent.children.findLast((one) => one.position < section.position && counts.get(one.title).length < 2);
      if (context) above.push(context);
    }
    const titles = [...above, section].map(({ position, title, page }) => singleLine(position ? title : page.title));
    const trail = [...(this.#trails.get(section.page.path) ?? []), ...titles];
    return trail.filter((title, at) => title.toLowerCase() !== trail[at + 1]?.toLowerCase());
  }
  neighbours({ page, parent, position }) {
    const among = parent?.children ?? [page.rank - 1, page.rank, page.rank + 1].map((rank) => this.manifest.pages[rank]?.sections[0]);
    const at = parent ? among.findIndex((one) => one.position === position) : 1;
    return [among[at - 1], among[at + 1]];
  }
  url({ page, position, anchor }) {
    const path = encodeURIComponent(page.path).replace(/%(?:2[46BCF]|3[ABD]|40)/g, decodeURIComponent);
    const url = page.url ?? this.manifest.site.url + path;
    return position && anchor ? `${url}#${anchor}` : url;
  }
  /** Return the line above results with these sections of a site that somebody else wrote; empty for an own site. */
  label(sections = []) {
    const kinds = new Set(sections.flatMap(({ flags = [] }) => flags));
    const flags = ["instruction", "hidden", "invisible", "exfiltration"].filter((kind) => kinds.has(kind)).join(", ");
    return this.host && `untrusted content from ${this.host}${flags && `, flagged by the crawl: ${flags}`}\n`;
  }

  // Texts

  /** Load the Markdown of pages for `text`: from their files, or of many at once from llms-full.txt. */
  async load(pages) {
    let missing = [...new Set(pages)].filter((page) => !this.#data.has(page));
    const bytes = missing.reduce((total, page) => total + page.bytes, 0);
    if (this.#size + bytes > MOST_MARKDOWN) {
      this.#data.clear();
      this.#size = 0;
    }
    if (missing.length > MOST_SINGLE && bytes <= MOST_MARKDOWN && missing.every(({ full }) => full >= 0)) {
      const response = await this.read("llms-full.txt");
      const data = new Uint8Array(response.ok ? await response.arrayBuffer() : 0);
      await Promise.all(missing.map((page) => this.#put(page, data.slice(page.full, page.full + page.bytes))));
      missing = missing.filter((page) => !this.#data.has(page));
    }
    await Promise.all(missing.slice(0, MOST_FETCHED).map((page) => this.#fetch(page)));
  }
  async #fetch(page) {
    const path = page.markdown.split("/").map(encodeURIComponent).join("/");
    for (const fresh of ["", `?v=${page.digest.slice(-8)}`]) { // a cache may have another version
      const response = await this.read(`./${path}${fresh}`);
      if (response.ok && (await this.#put(page, new Uint8Array(await response.arrayBuffer())))) return;
    }
  }
  /** Keep the Markdown of a page if its digest matches the manifest; return whether it does. */
  async #put(page, data) {
    const isSame = await fits(data, page);
    if (isSame && !this.#data.has(page)) this.#size += data.length;
    if (isSame) this.#data.set(page, data);
    return isSame;
  }
  /** Return the Markdown of a page that was loaded, or of a slice of it; undefined if it cannot be read. */
  markdown(page, start = 0, end = page.bytes) {
    const data = this.#data.get(page);
    return data && pack(new TextDecoder("utf-8", { ignoreBOM: true }).decode(data.subarray(start, end)));
  }
  /** Return a section's own text. */
  text({ page, start, end }) {
    return this.markdown(page, start, end);
  }

  // Search

  /** Return the finder of the site. */
  finder() {
    const json = async (path, reason) => {
      const response = await this.read(path);
      if (!response.ok) throw new Unreadable(response.status === 404 ? reason : undefined);
      return response.json();
    };
    const open = async () => {
      const source = await json("roaming/finder.json", "The site publishes no index to search; its build needs the option mcp");
      if (source.digest && source.digest !== this.manifest.digest) throw new Unreadable();
      return new Finder(source, () => true, (name) => json(`roaming/finder/${name}.json`));
    };
    this.#finding ??= open();
    this.#finding.catch(() => (this.#finding = undefined)); // the next request tries again
    return this.#finding;
  }
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
