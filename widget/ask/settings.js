// What the attributes of <roaming-ask> and the data of the page say: texts, mode, endpoint, links that are allowed.

import { el } from "./elements.js";

// Singular and plural are separated by "|". Translations are in ask.<language>.json next to this file.
const ENGLISH = {
  title: "Ask {site}",
  docs: "these docs", // the site, if its name is unknown
  button: "Ask the docs",
  findTitle: "Find in {site}",
  findButton: "Find in the docs",
  close: "Close",
  clear: "Clear",
  reset: "Start over",
  cleared: "Conversation cleared.",
  undo: "Undo",
  expand: "Expand the panel",
  hello: "What would you like to know?",
  intro: "Answers come from these docs. Every statement links to its section.",
  findIntro: "Type a few words: the sections that fit open right here.",
  suggested: "Suggested questions",
  askRow: "Ask: {query}",
  findRow: "Find in all sections: {query}",
  onThisPage: "On this page",
  outline: "Reading the outline",
  slow: "Still reading…",
  tokens: "~{n} tokens",
  copied: "Copied",
  placeholder: "Ask a question",
  followUp: "Ask a follow-up",
  findPlaceholder: "Find a section",
  send: "Send",
  stop: "Stop",
  next: "Next: {question}",
  width: "Width of the panel",
  log: "Conversation",
  latest: "Jump to latest",
  here: "About this page",
  everywhere: "Ask about all pages",
  back: "Back to the answer",
  backToFind: "Back to the results",
  legal: "Written by a model from these docs. Check the sources.",
  down: "Answers are not available now.",
  kept: "Your question is kept below, so that you can ask it again later.",
  retry: "Try again",
  online: "You can ask again now.",
  lost: "The connection was lost. Please ask again.",
};
const TRANSLATED = ["ar", "de", "es", "fr", "he", "ja", "zh"];

/** The settings of an element. They are read when they are needed, because attributes and page may change. */
export class Settings {
  words = ENGLISH;
  #element;
  #template; // of the page that was loaded, or that the theme navigated to
  #address; // of that page
  #pathname;
  #known = new Set(); // URLs of sections from the endpoint
  constructor(element) {
    this.#element = element;
  }
  get mode() {
    return this.#element.getAttribute("mode") || "auto";
  }
  get endpoint() {
    const url = this.#element.getAttribute("endpoint");
    return url && new URL(url.replace(/\/?$/, "/"), document.baseURI);
  }
  /** Whether there is only the finder. */
  get onlyFinds() {
    return this.mode === "finder" || (this.mode === "auto" && !this.endpoint);
  }
  /** Whether the panel replaces the search of the theme. */
  get replacesSearch() {
    return this.#element.getAttribute("replace-search") === "on";
  }
  get language() {
    return (this.#element.closest("[lang]")?.lang || "en").toLowerCase().split("-")[0];
  }
  /** The data that the build wrote on the current page. It has no path on a page that is not published. */
  get page() {
    const template = document.querySelector("template[data-roaming-page]");
    if (this.#template !== template) [this.#template, this.#address, this.#pathname] = [template, document.baseURI, location.pathname];
    const data = { ...(template?.dataset ?? { path: location.pathname }) };
    const address = this.#element.getAttribute("manifest") || data.manifest || new URL("manifest.json", import.meta.url);
    const manifest = new URL(address, this.#address);
    const base = new URL("../", manifest);
    if (this.#pathname !== location.pathname) { // an application in the browser shows another page
      delete data.suggestions;
      data.path = decodeURI(location.pathname.slice(base.pathname.length));
    }
    return { ...data, manifest, base };
  }
  /** Load the translation, and the site's own texts: attribute `strings`, a URL or JSON. */
  async loadWords() {
    const load = async (address) => (await this.#element.fetch(address)).json();
    const strings = this.#element.getAttribute("strings");
    const { language } = this;
    try {
      if (TRANSLATED.includes(language)) this.words = { ...ENGLISH, ...(await load(new URL(`ask.${language}.json`, import.meta.url))) };
      if (strings) this.words = { ...this.words, ...(strings[0] === "{" ? JSON.parse(strings) : await load(strings)) };
    } catch {} // keep English
  }
  /** Allow links to a section of the endpoint. */
  allow(url) {
    this.#known.add(url);
  }
  /** Return the URL of a link if it is allowed: of this site, of a section, or in `allow-links`. */
  link = (address) => {
    const { base, site } = this.page;
    if (!URL.canParse(address, base)) return;
    let url = new URL(address, base);
    if (site && url.href.startsWith(site)) url = new URL(url.href.slice(site.length), base); // a preview of the site
    const allowed = [location.origin, ...(this.#element.getAttribute("allow-links") ?? "").split(" ").filter(Boolean)];
    const fits = this.#known.has(address) || allowed.some((one) => `${url.href}/`.startsWith(one.replace(/\/?$/, "/")));
    if (fits && /^https?:$/.test(url.protocol) && !url.username) return url.href;
  };
  /** Create a link to a section if its address is allowed, otherwise a span. */
  anchor({ url }, text) {
    const href = url && this.link(url);
    return el(href ? "a" : "span", { href }, text);
  }
}
