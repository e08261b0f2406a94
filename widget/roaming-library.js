// The sections of the site in the browser: its index, and their texts, which must fit the digests of the index.

import { Finder, inScope } from "./roaming-finder.js";

const VERSION = 3;
const RELOAD = { cache: "reload" };
const LEAST_SENTENCE = 0.75; // three words

/** The sections of the current page's site. `host` is the <roaming-ask> element. */
export class Library {
  finder; // of the loaded index
  #address; // of the index
  #opening;
  constructor(host) {
    this.host = host;
  }
  /** Whether the site has too many sections to be searched here. */
  get isLarge() {
    return !this.finder.search;
  }
  /** Load the index of the site, once. */
  open(options) {
    const address = new URL("finder.json", this.host.settings.page.manifest).href;
    if (this.#address !== address) {
      this.#address = address;
      const reload = () => this.#open(address, RELOAD); // a cache may have another version
      this.#opening = this.#open(address, options).catch(reload);
      this.#opening.catch(() => (this.#address = undefined)); // the next query tries again
    }
    return this.#opening;
  }
  async #open(address, options) {
    const source = await this.#load(address, options);
    if (source.version !== VERSION) throw new Error(`version ${source.version} of ${address}`);
    const scope = JSON.parse(this.host.getAttribute("scope")) ?? {};
    const load = (name) => this.#load(new URL(`finder/${name}.json`, address));
    this.finder = new Finder(source, (one) => inScope(one, scope), load);
  }
  async #load(address, options, kind = "json") {
    const response = await this.host.fetch(address, options);
    if (!response.ok) throw new Error(`${response.status} of ${address}`);
    return response[kind]();
  }
  /** Load what finds sections by meaning, once, if the site has it and a query is a sentence. Return whether it is new. */
  async understand(query) {
    const { finder } = this;
    const files = finder.search?.meaning;
    if (!files || finder.meaning || finder.sentence((await finder.asked(query)).wanted) < LEAST_SENTENCE) return false;
    const load = (name) => this.#load(new URL(`finder/${name}.bin`, this.#address), {}, "arrayBuffer");
    finder.understanding ??= Promise.all([import("./roaming-meaning.js"), load(files.table), load(files.vectors)]);
    finder.understanding.catch(() => (finder.understanding = undefined)); // the next query tries again
    const [{ Meaning }, table, vectors] = await finder.understanding;
    finder.meaning = new Meaning(table, vectors, files.weight);
    return true;
  }
  /** Return the sections that match a query, best first. */
  async find(query) {
    await this.open();
    try {
      return await this.finder.find(query);
    } catch {
      this.#address = undefined; // a new build has other files
      await this.open(RELOAD);
      return this.finder.find(query);
    }
  }
  /** Return the URL of a section. */
  address({ page, anchor }) {
    const url = new URL(page.url ?? encoded(page.path), this.host.settings.page.base);
    if (anchor && anchor !== page.sections[0].anchor) url.hash = anchor;
    return url.href;
  }
  /** Return the URL of a page's Markdown. */
  markdown({ markdown }) {
    return new URL(encoded(markdown), this.host.settings.page.base).href;
  }
  /** Return the number of bytes of a section with its subsections. */
  size(section) {
    return (sectionAfter(section)?.start ?? section.page.end) - section.start;
  }
  /** Load the Markdown below a section's heading. */
  async text(section, { subsections = true } = {}) {
    const { page, start } = section;
    const after = subsections ? sectionAfter(section) : page.sections.find((other) => other.start > start);
    const text = new TextDecoder().decode((await this.#page(page)).slice(start, after?.start)).replace(/^#.*\n/, "");
    return this.finder.source.site.url ? text : withAbsoluteLinks(text, this.markdown(page));
  }
  /** Return a page's Markdown if its digest matches the manifest. */
  async #page(page) {
    for (const fresh of ["", `?v=${page.digest.slice(-8)}`]) {
      const response = await this.host.fetch(this.markdown(page) + fresh);
      const bytes = response.ok && (await response.arrayBuffer());
      if (bytes && (await fits(bytes, page))) return bytes;
    }
    throw new Error(`${page.markdown} does not match the index`);
  }
}

/** Return the first section after a section and its subsections, if there is one on the page. */
const sectionAfter = ({ page, start, level }) =>
  page.sections.find((other) => other.start > start && other.level <= level);
/** Encode a path of the manifest as a relative URL that stays below the site. */
const encoded = (path) => "./" + path.split("/").map(encodeURIComponent).join("/");
/** Return Markdown with absolute addresses for relative ones, outside of code. */
const withAbsoluteLinks = (text, base) =>
  text
    .split(/(```[^]*?```|`[^`\n]+`)/)
    .map((part, at) => (at % 2 ? part : part.replace(/(\]\()(?![a-z][a-z0-9+.-]*:|[#/])([^()\s]+)/gi, (all, open, to) => (URL.canParse(to, base) ? open + new URL(to, base).href : all))))
    .join("");
/** Return whether a page's Markdown has the right digest; without a secure context only its length is compared. */
export async function fits(bytes, page) {
  return globalThis.crypto?.subtle ? `sha256:${await sha256(bytes)}`.startsWith(page.digest) : bytes.byteLength === page.bytes;
}
async function sha256(bytes) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
