// A turn of the conversation: the question, the trail of opened sections, the answer, its sources, status and actions.
// <roaming-ask> loads this module with the first question.

import { el, fill, plain } from "./roaming-ask.js";
import { Markdown } from "./roaming-markdown.js";

const ENGLISH = {
  outline: "Reading the outline",
  outlineOf: "Reading the outline · {n} section|Reading the outline · {n} sections",
  opening: "Opening {title}",
  reading: "Reading {n} section|Reading {n} sections",
  writing: "Writing the answer",
  slow: "Still reading…",
  answered: "Answer ready, {n} source|Answer ready, {n} sources",
  opened: "Opened {n} of {all} sections · {cited} cited",
  whole: "Read all {all} sections · {cited} cited",
  open: "opening",
  read: "read",
  found: "found by search",
  tokens: "~{n} tokens",
  cited: "cited [{n}]",
  missing: "not there",
  too_big: "too long",
  sources: "Sources",
  source: "Source {n}: {title}",
  again: "Ask again",
  continue: "Continue",
  search: "Search the docs instead",
  looked: "Looked at",
  nearest: "Nearest sections",
  partial: "The answer may be incomplete.",
  passages: "Closest passages",
  not_found: "The docs do not seem to answer this.",
  refused: "The model declined to answer this.",
  budget: "The answer reached its limit and may be incomplete.",
  error: "The answer could not be finished. Please ask again.",
  stopped: "Stopped. Your question is back in the input.",
  invalid: "This question was not accepted. Shorten it.",
  rate: "Too many questions just now.",
  money: "Today's budget for answers is spent.",
  lost: "The connection was lost. Please ask again.",
  copy: "Copy",
  copied: "Copied",
  link: "Copy link",
  good: "Helpful",
  bad: "Not helpful",
  thanks: "Thank you",
  wait: "You can ask again in {n}.",
  now: "You can ask again now.",
  unsupported: "not in the sections that were read",
  legend: "Dotted: {n} × not in the sections that were read",
};
const ENDS = ["answered", "partial", "passages", "not_found", "refused", "budget"];
const SENTENCES = ["The docs do not seem to answer this.", "The model refused to answer."];
const CITATION = /\[\^([0-9a-f]{8})\]/g;
let legends = 0; // each has an id, which its marks name

/** A turn; `host` is the <roaming-ask> element. */
export class Turn {
  parts = []; // of the stream
  sections = new Map(); // by id
  places = new Map(); // elements of the trail, by the section's id or the titles above it
  cited = []; // ids, in the order of their numbers
  text = "";
  n = 0;
  constructor(host, question) {
    Object.assign(this, { host, question });
    this.words = { ...ENGLISH, ...host._words };
    this.summary = el("summary", {}, this.words.outline);
    this.list = el("ul");
    this.trail = el("details", { class: "trail", part: "trail", open: true, hidden: true }, this.summary, this.list);
    this.answer = el("div", { class: "answer", part: "answer" });
    this.sources = el("div");
    this.state = el("p", { class: "muted", part: "status" });
    this.actions = el("div", { class: "row", part: "actions" });
    const heading = el("h3", { part: "question", dir: "auto" }, question);
    this.article = el(
      "article", { class: "turn", part: "turn", "aria-busy": "true" }, heading, this.trail, this.answer, this.sources,
      this.actions, this.state,
    );
    this.markdown = new Markdown(this.answer, { link: host._link, words: this.words, cite: (id) => this.#cite(id) });
  }
  /** Send the question and show the stream of its answer. Return a problem, if there was one. */
  async run(body, signal) {
    const { host, words } = this;
    const step = (text) => this.text || this.#step(text);
    const late = setTimeout(step, 5_000, words.slow);
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
  #step(text) {
    this.host._say((this.state.textContent = plain(text)));
  }
  /** Show one part of the stream. With `live`, announce it and dispatch events; restored turns do neither. */
  part(part, live) {
    const { words } = this;
    const { type, id, data } = part;
    const step = (text) => live && !this.text && this.#step(text);
    this.parts.push(part);
    if (type === "data-outline") {
      this.outline = data;
      this.summary.textContent = this.state.textContent = fill(words.outlineOf, { n: data.sections });
    } else if (type === "data-section") {
      this.sections.set(id, { id, ...data });
      this.host._allow(data.url);
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
    this.markdown.push(this.text.slice(this.written) + end);
    this.written = this.text.length;
    for (const cited of this.cited) this.#trace(cited);
  }
  /** Show a section in the trail under its parents' titles, and add URL and title to its citations. */
  #trace(id) {
    const { words } = this;
    const section = this.sections.get(id);
    if (!section) return; // for a small site that was read as a whole, sections arrive after the text that cites them
    this.trail.hidden = false;
    const above = section.path.slice(0, -1).join(" › ");
    const place = (key, make, into) => {
      if (!this.places.has(key)) into.append(this.places.set(key, make()).get(key));
      return this.places.get(key);
    };
    const group = above ? place(above, () => el("li", {}, el("span", { class: "muted" }, above), el("ul")), this.list) : this.list;
    const make = () => el("li", { part: "trail-item" }, this.host._anchor(section, section.title), el("span", { class: "muted" }));
    const row = place(id, make, group.querySelector("ul") ?? group);
    const n = this.cited.indexOf(id) + 1;
    const notes = [words[section.by === "search" ? "found" : section.state === "cited" ? "read" : section.state]];
    if (section.tokens) notes.push(fill(words.tokens, { n: section.tokens }));
    if (n) notes.push(fill(words.cited, { n }));
    row.lastChild.textContent = ` ${notes.join(" · ")}`;
    const href = n && section.url && this.host._link(section.url);
    if (href)
      for (const cite of this.answer.querySelectorAll(".cite:not([href])")) {
        if (cite.textContent !== `[${n}]`) continue;
        cite.href = href;
        cite.ariaLabel = plain(fill(words.source, { n, title: section.title }));
      }
  }
  #cite(id) {
    const number = this.cited.indexOf(id) + 1 || this.cited.push(id);
    return el("sup", {}, el("a", { class: "cite", part: "cite" }, `[${number}]`));
  }

  /** Show the result of a turn and its actions; return whether the question should be sent again. */
  finish(problem, live = true) {
    this.#write("\n\n");
    const { words } = this;
    const { question, text, outline, actions } = this;
    const seconds = problem?.seconds;
    const status = this.status ?? {};
    const state = (this.code = problem?.code) ?? (ENDS.includes(status.state) ? status.state : "error");
    const is = (...states) => states.includes(state);
    const failed = problem || is("error");
    const bad = failed || is("refused", "budget");
    const sources = this.cited.map((id) => this.sections.get(id)).filter(Boolean);
    const n = this.sections.size;
    const message = fill(words[is("down") ? "error" : state], { n: sources.length });
    const lists = { sources, nearest: status.nearest, looked: status.looked_at };
    const [title, listed] = Object.entries(lists).find(([, list]) => list?.length) ?? [];
    const items = listed?.map((one) =>
      // Numbers skip citations of unknown sections.
      el("li", { value: this.cited.indexOf(one.id) + 1 }, this.host._anchor(one, one.path.join(" › ") || one.title)),
    );
    this.article.ariaBusy = "false";
    this.trail.open = false;
    this.trail.hidden = !n && !outline?.whole;
    const counts = { n: status.sections ?? n, all: outline?.sections ?? n, cited: sources.length };
    this.summary.textContent = fill(outline?.whole ? words.whole : words.opened, counts);
    if (listed) this.sources.append(el("h4", {}, words[title]), el("ol", { part: "sources" }, ...items));
    this.state.textContent = "";
    if (is("passages")) this.answer.prepend(el("h4", {}, message));
    else if (!is("answered")) {
      this.state.textContent = message;
      this.sources.before(this.state);
      this.state.className = bad && !is("stopped") ? "alert" : "";
    }
    if (bad) this.state.part = "status error";

    const act = (name, what) => actions.append(this.host._action(words[name], what));
    act(is("partial", "budget") ? "continue" : "again", () => this.host.ask(question));
    if (is("passages", "not_found", "refused", "error"))
      act("search", () => this.host._search(question));
    if (seconds) this.#countDown(message, seconds);
    else {
      this.#complete(sources);
      if (live) this.host._say(message, bad);
    }
    if (!live) return;
    const detail = { question, answer: text, sources, status, code: state, retryAfter: seconds };
    this.host._emit(seconds ? "ratelimit" : failed ? "error" : "answer", detail);
    return failed;
  }
  /** Add cost, actions and marks to an answer. */
  #complete(sources) {
    const { text, support, answer, actions, state, status, host, words } = this;
    if (!text) return;
    if (["not_found", "refused"].includes(status?.state)) {
      // The model's own sentence says what the message says; the server's sentence is only in English.
      if (SENTENCES.includes(text)) answer.replaceChildren();
      else {
        state.className = "muted";
        state.textContent = "";
        this.article.append(state);
      }
    }
    if (status?.message && text.startsWith(status.message)) {
      // The server's reason replaces the message, or the message replaces it in other languages. Passages may follow.
      if (!words.language) state.textContent = status.message;
      answer.firstChild?.replaceWith(state, text === status.message ? "" : el("h4", {}, words.passages));
    }
    if (!state.textContent && status) state.textContent = spent(status, words);
    const address = () => new URL(`?ask=${encodeURIComponent(this.question)}`, location.href).href;
    const wanted = this.signed && (host.getAttribute("feedback") ?? "off") !== "off";
    actions.prepend(
      copier(words.copy, () => asText(this, sources), host),
      copier(words.link, address, host),
      ...(wanted ? opinions(this) : []),
    );
    const marks = support?.marks ?? [];
    if (marks.length) mark(answer, text.replace(CITATION, (all) => " ".repeat(all.length)), marks, words);
  }
  /** Count down and disable sending until the next question is allowed. */
  #countDown(message, seconds) {
    const { state, actions, host, words } = this;
    const end = Date.now() + seconds * 1000;
    const tick = () => {
      const left = Math.ceil((end - Date.now()) / 1000);
      const [size, unit] = left > 5400 ? [3600, "h"] : left > 90 ? [60, "min"] : [1, "s"];
      const n = `${Math.ceil(left / size)} ${unit}`;
      state.textContent = `${message} ${left > 0 ? fill(words.wait, { n }) : words.now}`;
      actions.lastChild.disabled = left > 0;
      host._wait(left > 0);
      if (left > 0) setTimeout(tick, 1000);
      else host._say(words.now);
    };
    tick();
    host._say(state.textContent, true);
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

/** Return the model, the tokens and the cost of an answer. */
function spent({ model, tokens_read: n, cost, currency }, { tokens }) {
  return [model, n && fill(tokens, { n }), cost > 0 && `${Number(cost).toPrecision(2)} ${currency}`].filter(Boolean).join(" · ");
}

/** Create a copy button; nothing without a secure context, where there is no clipboard. */
export function copier(label, what, host) {
  if (!navigator.clipboard) return "";
  const { copied } = { ...ENGLISH, ...host._words };
  const onclick = async () => {
    try {
      await navigator.clipboard.writeText(what());
    } catch {
      return; // forbidden: do not show "Copied"
    }
    button.textContent = copied;
    host._say(copied);
  };
  const button = el("button", { type: "button", onclick }, label);
  return button;
}

/** Return an answer with its sources as Markdown. */
function asText({ text, cited }, sources) {
  const numbered = text.replace(CITATION, (all, id) => `[${cited.indexOf(id) + 1}]`);
  const listed = sources.map(({ id, path, url }) => `[${cited.indexOf(id) + 1}] ${path.join(" › ")}: ${url}`);
  return [numbered, "", ...listed, ""].join("\n");
}

/** Create two feedback buttons. They have words because not all fonts have thumbs; only the signed turn is sent with them. */
function opinions({ question, signed, words, host }) {
  const opinion = (label, helpful) => {
    const onclick = () => {
      for (const each of buttons) each.disabled = true;
      button.ariaPressed = "true";
      host._emit("feedback", { question, helpful });
      host._post("v1/feedback", { turn: signed, helpful }).catch(() => {});
      host._say(words.thanks);
    };
    const button = el("button", { type: "button", onclick, "aria-pressed": "false" }, label);
    return button;
  };
  const buttons = [opinion(words.good, true), opinion(words.bad, false)];
  return buttons;
}

/** Underline unsupported words. Their offsets are those of the answer's Markdown. The text stays as it is, so that it can be copied. */
function mark(answer, source, marks, words) {
  const id = `marks-${++legends}`;
  const walker = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
  let at = 0;
  // The rendered text is the source without its markup, so each UTF-16 code unit is searched from the position of the
  // previous one.
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentNode.closest(".cite, mark")) continue;
    const places = node.data.split("").map((character) => {
      const found = source.indexOf(character, at);
      if (found >= 0 && found < at + 300) return (at = found + 1) - 1;
    });
    const marked = marks.find(({ start, end }) => places.some((place) => place >= start && place < end));
    if (!marked) continue;
    const inside = (place) => place >= marked.start && place < marked.end;
    const text = node.splitText(places.findIndex(inside));
    text.splitText(places.filter(inside).length);
    at = places[places.findLastIndex(inside)] + 1;
    const title = [words.unsupported, marked.passage && `“${marked.passage}”`].filter(Boolean).join(": ");
    const underlined = el("mark", { title, "aria-describedby": id }, text.data);
    text.replaceWith(underlined);
    walker.currentNode = underlined.firstChild;
  }
  answer.append(el("p", { class: "muted", id }, fill(words.legend, { n: marks.length })));
}
