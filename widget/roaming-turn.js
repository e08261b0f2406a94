// A turn of the conversation: the question, the steps (opened sections), the answer with its citations, and the result.
// <roaming-ask> loads this module with the first question.

import { adopt, el, fill, plain } from "./roaming-ask.js";
import { Markdown } from "./roaming-markdown.js";
import { Result } from "./roaming-result.js";
import { Trail } from "./roaming-trail.js";

const ENGLISH = {
  opening: "Opening {title}",
  reading: "Reading {n} section|Reading {n} sections",
  writing: "Writing the answer",
  source: "Source {n}: {title}",
};
const STYLE = `
.turn { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0; padding-block-end: 24px }
.turn > * + * { margin-block-start: 12px }
.question { justify-self: end; max-width: calc(100% - 24px); padding: 8px 16px; border-radius: 16px;
  border-end-end-radius: 4px; background: var(--_soft); font-size: 1em; font-weight: 400; line-height: 1.6;
  white-space: pre-wrap; text-wrap: pretty }
.cite { position: relative; margin-inline-start: 2px; padding: 2.5px 5px; border-radius: 5px; font-size: .733em;
  font-weight: 700; line-height: 1; font-variant-numeric: tabular-nums; white-space: nowrap; text-decoration: none;
  vertical-align: 1px; color: var(--_accent); background: var(--_tint); transition: background .12s, color .12s }
.cite > i { font-size: 0 }
.cite > i::before { content: "\\2060" / "" }
.cite::after { content: ""; position: absolute; inset: -7px }
/* What is visible is above the rims of the citations beside it and in other lines */
.answer { isolation: isolate }
.answer a:not(.cite) { position: relative; z-index: 1 }
.cite::before { content: ""; position: absolute; inset: 0; z-index: 1 }
.cite:is(:hover, [aria-describedby]) { color: var(--_on-accent); background: var(--_accent) }
@media (max-width: 599px) { .cite::after { inset: -13px } }
@media (prefers-reduced-motion) { .cite { transition: none } }
@media (forced-colors: active) { .question, .cite { border: 1px solid } }
`;

/** A turn; `host` is the <roaming-ask> element. */
export class Turn {
  parts = []; // of the stream
  sections = new Map(); // by id
  cited = []; // ids, in the order of their numbers
  passages = []; // of the cited sections, in the order of the text
  text = "";
  n = 0;
  constructor(host, question) {
    Object.assign(this, { host, question });
    this.words = { ...ENGLISH, ...host.settings.words };
    const root = host.shadowRoot;
    adopt(root, STYLE);
    this.trail = new Trail(host);
    this.answer = el("div", { class: "answer", part: "answer" });
    this.heading = el("h3", { class: "question", part: "question", dir: "auto" }, question);
    this.article = el(
      "article", { class: "turn", part: "turn", "aria-busy": "true" }, this.heading, this.trail.element, this.answer,
    );
    this.markdown = new Markdown(this.answer, {
      root, link: host.settings.link, words: host.settings.words, cite: (id) => this.#cite(id), say: (text) => host._say(text),
    });
    this.article.addEventListener("click", (event) => this.#leave(event));
    for (const name of ["pointerover", "focusin"]) this.article.addEventListener(name, (event) => this.#preview(event));
  }
  /** Send the question and show the stream of its answer. Return a problem, if there was one. */
  async run(body, signal) {
    const { host, words } = this;
    const step = (text) => this.text || host._say(plain(text));
    const late = setTimeout(step, 5_000, words.slow);
    this.trail.start();
    host._say("", true); // so that the same text is announced again
    step(words.outline);
    let problem;
    try {
      const response = await host.request(body, signal);
      if (!response.ok) problem = await refusal(response);
      else for await (const data of events(response.body)) this.part(JSON.parse(data), true);
    } catch {
      problem = { code: signal.aborted ? "stopped" : this.parts.length ? "lost" : "down" };
    }
    clearTimeout(late);
    if (!this.status) problem ??= { code: "lost" };
    return problem;
  }
  /** Show one part of the stream. With `live`, announce it and dispatch events; restored turns do neither. */
  part(part, live) {
    const { words } = this;
    const { type, id, data } = part;
    const step = (text) => live && !this.text && this.host._say(plain(text));
    this.parts.push(part);
    if (type === "data-outline") {
      this.outline = data;
      this.trail.outline(data);
    } else if (type === "data-section") {
      this.sections.set(id, { id, ...data });
      this.host.settings.allow(data.url);
      if (data.state === "open") step(fill(words.opening, data));
      this.#trace(id);
    } else if (type === "start-step") {
      const n = this.sections.size;
      if (n !== this.n) step(fill(words.reading, { n: (this.n = n) }));
    } else if (type === "text-delta" && part.delta) {
      step(words.writing);
      this.text += part.delta;
      // The growing block is rendered again each time, so a longer text is rendered less often.
      if (live) this.late ??= setTimeout(() => this.#write(), 20 + this.text.length / 50);
    } else if (type === "data-support") this.support = data;
    else if (type === "data-followups") this.followUps = data?.questions;
    else if (type === "data-status") this.status = data;
    else if (type === "finish") this.signed = part.messageMetadata?.turn;
    for (const opened of part.output?.opened ?? []) {
      const section = this.sections.get(opened); // not a section that was open before
      if (section?.state === "open") section.state = "read";
      this.#trace(opened);
    }
    const [event] = /outline|section|delta/.exec(type) ?? [];
    if (live && event) this.host._emit(event, { id, text: part.delta, ...data });
  }
  /** Render the new text; `end` finishes the last block. */
  #write(end = "") {
    this.late = clearTimeout(this.late);
    if (this.text) this.trail.fold();
    this.markdown.push(this.text.slice(this.written) + end);
    this.written = this.text.length;
    for (const cited of this.cited) this.#trace(cited);
  }
  /** Show a section in the steps, and add URL and title to its citations. */
  #trace(id) {
    const section = this.sections.get(id);
    if (!section) return; // for a small site that was read as a whole, sections arrive after the text that cites them
    const number = this.cited.indexOf(id) + 1;
    this.trail.section(section, number);
    const href = number && this.address(section);
    if (href)
      for (const cite of this.answer.querySelectorAll(".cite:not([href])")) {
        if (cite.dataset.section !== id) continue;
        cite.href = href;
        cite.ariaLabel = plain(fill(this.words.source, { n: number, title: section.title }));
      }
  }
  /** Whether the turn ended before there was an answer. */
  get empty() {
    return this.code && this.failed && !this.text;
  }
  /** Return the first passage of a section. */
  passage(id) {
    return this.passages.find(({ section }) => section === id);
  }
  /** Return the address of a section if it is allowed, with a passage of it if there is one. */
  address({ id, url }, passage = this.passage(id)) {
    const href = url && this.host.settings.link(url);
    const { fragment } = passage ?? {};
    if (!href || !/^[^\s#&]{1,2000}$/.test(fragment ?? "")) return href;
    return `${href}${href.includes("#") ? "" : "#"}:~:text=${fragment}`;
  }
  /** Create a citation. Its brackets have no width: they only count when the text is copied. */
  #cite(id) {
    const number = this.cited.indexOf(id) + 1 || this.cited.push(id);
    return el("a", { class: "cite", part: "cite", "data-section": id }, el("i", {}, "["), `${number}`, el("i", {}, "]"));
  }
  /** Remember the passage of a citation that is followed; the page on which the reader arrives highlights it. */
  #leave({ target, button, metaKey, ctrlKey, shiftKey, altKey }) {
    const link = target.closest("a[data-section]");
    if (!link?.href || button || metaKey || ctrlKey || shiftKey || altKey) return;
    const { text } = link.passage ?? this.passage(link.dataset.section) ?? {};
    try {
      sessionStorage.setItem("roaming:passage", JSON.stringify({ url: link.href.replace(/#?:~:.*/, ""), text }));
    } catch {
      return; // forbidden
    }
    import(new URL("roaming-passage.js", import.meta.url)).then(({ arrive }) => arrive(this.host)).catch(() => {});
  }
  /** Show the card of a citation under the pointer or with the focus. */
  async #preview({ target, pointerType, type }) {
    const link = target.closest(".cite[href]");
    if (!link || (type === "focusin" ? !link.matches(":focus-visible") : pointerType === "touch")) return;
    const { section } = link.dataset;
    const { showCard } = await import(new URL("roaming-card.js", import.meta.url));
    showCard(this.host, link, this.sections.get(section), link.passage?.text);
  }

  /** Let each citation lead to its passage. Citations are shown in the order of the text. */
  #locate(passages) {
    this.passages = passages.filter((one) => typeof one?.text === "string");
    const places = [...this.text.matchAll(/\[\^([0-9a-f]{8})\]/g)];
    for (const cite of this.answer.querySelectorAll(".cite")) {
      const { section } = cite.dataset;
      while (places.length && places[0][1] !== section) places.shift();
      const start = places.shift()?.index;
      cite.passage = this.passages.find((one) => one.section === section && one.start === start) ?? this.passage(section);
      if (cite.href) cite.href = this.address(this.sections.get(section), cite.passage);
    }
  }
  /** Show the result of a turn and its actions; return whether the question should be sent again. */
  finish(problem, live = true) {
    this.#write("\n\n");
    if (Array.isArray(this.support?.passages)) this.#locate(this.support.passages);
    return new Result(this).show(problem, live);
  }
}

/** Yield the data of each event of a stream. */
export async function* events(stream) {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let data = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    const lines = rest.split(/\r\n|\n|\r(?!$)/); // a carriage return at the end may be half of a line end
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
      else if (!line && data.length) {
        const event = data.join("\n");
        if (event === "[DONE]") return;
        yield event;
        data = [];
      }
    }
  }
}

/** Return why an endpoint refused a question. */
async function refusal(response) {
  const { status } = response;
  const problem = await response.json().catch(() => {});
  if (status === 429) {
    const seconds = Math.min(+response.headers.get("retry-after") || +problem?.retry_after || 30, 86_400);
    return { code: problem?.code === "money" ? "money" : "rate", seconds };
  }
  if ([400, 413, 422].includes(status)) return { code: "invalid" };
  return { code: status === 404 || status >= 500 ? "down" : "error" };
}
