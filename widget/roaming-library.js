// The sections of the site in the browser: its index, and their texts, which must fit the digests of the index.

import { Finder, MOST, addStopWords, inScope } from "./roaming-finder.js";

/** The sections of the current page's site. `host` is the <roaming-ask> element. */
export class Library {
  finder; // of the loaded index or manifest
  #address; // of the manifest
  #fileless; // whether the site has no section files
  constructor(host) {
    this.host = host;
  }
  /** Whether the site has too many sections to be searched here. */
  get isLarge() {
    return this.finder.count > MOST;
  }
  /** Load the index of the site, or its manifest, which is indexed in slices that do not block typing. */
  async open() {
    const { page, words } = this.host.settings;
    if (words.stopWords) addStopWords(words.language, words.stopWords);
    if (this.#address !== page.manifest.href) {
      const written = page.index && this.#load(new URL(page.index, document.baseURI), 2).catch(() => {});
      const source = (await written) || (await this.#load(page.manifest.href, 1));
      const scope = JSON.parse(this.host.getAttribute("scope")) ?? {};
      this.finder = new Finder(source, (one) => inScope(one, scope));
      this.#address = page.manifest.href;
      this.#fileless = false;
    }
    if (!this.isLarge) while (!this.finder.index()) await new Promise((next) => setTimeout(next));
  }
  async #load(address, version) {
    const source = await (await this.host.fetch(address)).json();
    if (source.version > version) throw new Error(`version ${source.version} of ${address}`);
    return source;
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
    return (sectionAfter(section)?.start ?? section.page.sections.at(-1).end) - section.start;
  }
  /** Load the Markdown below a section's heading: from its own file if that contains all of it, else from its page. */
  async text(section, { subsections = true } = {}) {
    const { page, start } = section;
    const after = subsections ? sectionAfter(section) : page.sections.find((other) => other.start > start);
    const bytes = (await this.#file(section, after)) ?? (await this.#page(page)).slice(start, after?.start);
    return new TextDecoder().decode(bytes).replace(/^#.*\n/, "");
  }
  /** Return the text from the section's file, if there is one and all digests match the manifest. */
  async #file({ id, page, start }, after) {
    if (this.#fileless || !globalThis.crypto?.subtle) return;
    const response = await this.host.fetch(new URL(`roaming/sections/${id}.md`, this.host.settings.page.base));
    this.#fileless = response.status === 404; // then the site has no section files at all
    if (!response.ok) return;
    const file = new Uint8Array(await response.arrayBuffer());
    const text = file.slice(file.findIndex((byte, at) => byte === 10 && file[at + 1] === 10) + 2); // after the breadcrumb
    const end = after?.start ?? page.sections.at(-1).end;
    for (const part of page.sections.filter((one) => one.start >= start && one.end <= end))
      if (!(await sha256(text.slice(part.start - start, part.end - start))).startsWith(part.digest)) return;
    return text.slice(0, end - start);
  }
  /** Return a page's Markdown if its digest matches the manifest. */
  async #page(page) {
    for (const fresh of ["", `?v=${page.digest.slice(-8)}`]) {
      const response = await this.host.fetch(this.markdown(page) + fresh);
      const bytes = response.ok && (await response.arrayBuffer());
      if (bytes && (await fits(bytes, page))) return bytes;
    }
    throw new Error(`${page.markdown} does not match the manifest`);
  }
}

/** Return the first section after a section and its subsections, if there is one on the page. */
const sectionAfter = ({ page, start, level }) =>
  page.sections.find((other) => other.start > start && other.level <= level);
/** Encode a path of the manifest as a relative URL that stays below the site. */
const encoded = (path) => "./" + path.split("/").map(encodeURIComponent).join("/");
/** Return whether a page's Markdown has the right digest; without a secure context only its length is compared. */
async function fits(bytes, page) {
  return globalThis.crypto?.subtle ? `sha256:${await sha256(bytes)}`.startsWith(page.digest) : bytes.byteLength === page.bytes;
}
async function sha256(bytes) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
