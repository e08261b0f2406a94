// The finder of <roaming-ask>: lists the sections that match the typed words, and opens them in place. It is loaded if
// there is no endpoint, or if the endpoint fails.

import { el, fill } from "./roaming-ask.js";
import { Finder, MOST, addStopWords, inScope } from "./roaming-finder.js";
import { Markdown } from "./roaming-markdown.js";
import { copier } from "./roaming-turn.js";

const ENGLISH = {
  results: "{n} section found|{n} sections found",
  none: "Nothing found. Try other words.",
  many: "This site has {n} sections: too many to search without an endpoint.",
  unread: "This cannot be read at the moment.",
  loading: "Loading…",
  page: "Open the page",
  prompt: "Copy a prompt for your own AI",
  promptText:
    "Answer this question from the documentation of {site}: {question}\n\nIts pages are listed at {llms}. Read these " +
    "sections first, and cite the ones you use by their address:\n\n{sections}\n",
};
const MOST_SHOWN = 8;
const STYLE = `
.found > * + * { margin-block-start: .5em }
.hit { border: 1px solid var(--_line); border-radius: var(--_radius) }
.hit > summary { padding: .6em .8em; color: inherit; font-size: 1em; line-height: 1.35; list-style: none }
.hit > summary > * { display: block }
.hit > summary:hover { background: var(--_code) }
.hit > summary > h3 { font-size: 1em }
.hit > summary > h3::before { content: "▸ "; color: var(--_muted) }
.hit[open] > summary > h3::before { content: "▾ " }
.hit[open] > summary > h3 + * { display: none }
.hit > .answer { padding: .6em .8em; border-block-start: 1px solid var(--_line) }
`;

/** Shows search results in `into`. `host` is the <roaming-ask> element. */
export class View {
  #library; // the loaded manifest and its finder
  #latest;
  #counting;
  constructor(host, into) {
    Object.assign(this, { host, into });
    into.className = "found";
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    host.shadowRoot.adoptedStyleSheets.push(sheet);
  }
  get words() {
    return { ...ENGLISH, ...this.host._words };
  }
  /** Show the results for a query, unless a newer query has arrived in between. */
  async list(question, notice) {
    const { words } = this;
    const latest = (this.#latest = {});
    if (words.stopWords) addStopWords(words.language, words.stopWords);
    clearTimeout(this.#counting);
    if (!question.trim()) return this.into.replaceChildren();
    const note = (text) => el("p", { class: "muted" }, text);
    let library;
    try {
      if (!this.#library) this.into.replaceChildren(note(words.loading));
      library = await this.#load();
    } catch {
      if (latest === this.#latest) this.into.replaceChildren(note(words.unread));
      return;
    }
    if (latest !== this.#latest) return;
    const count = library.finder.sections.length;
    if (count > MOST) return this.into.replaceChildren(note(fill(words.many, { n: count })));
    const found = library.finder.find(question);
    const message = found.length ? fill(words.results, { n: found.length }) : words.none;
    this.into.replaceChildren(
      ...(notice ? [el("p", { class: "alert", part: "error" }, notice)] : []),
      note(message),
      ...found.slice(0, MOST_SHOWN).map((section) => this.#hit(section)),
      el("p", { class: "row" }, copier(words.prompt, () => this.#prompt(question.trim(), found), this.host)),
    );
    this.#counting = setTimeout(() => this.host._say(message), 600); // after a pause in typing
  }
  /** Load the manifest of the current page, and index it in slices that do not block typing. */
  async #load() {
    const address = this.host._page.manifest.href;
    if (this.#library?.address !== address) {
      const manifest = await (await this.host.fetch(address)).json();
      if (manifest.version > 1) throw new Error(`a manifest of version ${manifest.version}`);
      const scope = JSON.parse(this.host.getAttribute("scope")) ?? {};
      manifest.pages = manifest.pages.filter((page) => inScope(page, scope));
      this.#library = { address, manifest, finder: new Finder(manifest) };
      this.host._emit("outline", { sections: this.#library.finder.sections.length, digest: manifest.digest });
    }
    const { finder } = this.#library;
    if (finder.sections.length <= MOST) while (!finder.index()) await new Promise((next) => setTimeout(next));
    return this.#library;
  }
  #address({ page, anchor }) {
    const url = new URL(page.url ?? encoded(page.path), this.host._page.base);
    if (anchor && anchor !== page.sections[0].anchor) url.hash = anchor;
    return url.href;
  }
  #hit(section) {
    const { words, host } = this;
    const { id, title, path, tokens, opening = "" } = section;
    const url = this.#address(section);
    const body = el("div", { class: "open answer" });
    const read = async (event) => {
      if (!event.target.open || body.firstChild) return;
      host._emit("section", { id, title, path, url, tokens, state: "open" });
      body.append(words.loading);
      const text = await this.#text(section).catch(() => words.unread);
      body.replaceChildren();
      new Markdown(body, { link: host._link, words }).push(`${text}\n\n`);
      body.append(el("p", {}, host._anchor({ url }, words.page)));
      host._emit("section", { id, title, path, url, tokens, state: "read" });
    };
    const muted = (text) => el("span", { class: "muted" }, text);
    return el(
      "details",
      { class: "hit", part: "trail-item", ontoggle: read },
      el("summary", {}, muted(path.slice(0, -1).join(" › ")), el("h3", {}, title), muted(opening)),
      body,
    );
  }
  /** Load a section with its subsections: from its own file if that contains all of them, else from its page. */
  async #text(section) {
    const { page, start, level } = section;
    const after = page.sections.find((other) => other.start > start && other.level <= level);
    const bytes = (await this.#file(section, after)) ?? (await this.#page(page)).slice(start, after?.start);
    return new TextDecoder().decode(bytes).replace(/^#.*\n/, "");
  }
  /** Return the text from the section's file, if there is one and all digests match the manifest. */
  async #file({ id, page, start }, after) {
    if (this.#library.fileless || !globalThis.crypto?.subtle) return;
    const response = await this.host.fetch(new URL(`roaming/sections/${id}.md`, this.host._page.base));
    this.#library.fileless = response.status === 404; // then the site has no section files at all
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
      const response = await this.host.fetch(new URL(encoded(page.markdown) + fresh, this.host._page.base));
      const bytes = response.ok && (await response.arrayBuffer());
      if (bytes && (await fits(bytes, page))) return bytes;
    }
    throw new Error(`${page.markdown} does not match the manifest`);
  }
  #prompt(question, found) {
    const { site } = this.#library.manifest;
    const sections = found.slice(0, 5).map(({ path, page }) => `- ${path.join(" › ")}: ${site.url}${page.markdown}`);
    const values = { site: site.name, question, llms: `${site.url}llms.txt`, sections: sections.join("\n") };
    return fill(this.words.promptText, values);
  }
}

/** Encode a path of the manifest as a relative URL that stays below the site. */
const encoded = (path) => "./" + path.split("/").map(encodeURIComponent).join("/");
/** Return whether a page's Markdown has the right digest; without a secure context only its length is compared. */
async function fits(bytes, page) {
  return globalThis.crypto?.subtle ? `sha256:${await sha256(bytes)}` === page.digest : bytes.byteLength === page.bytes;
}
async function sha256(bytes) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
