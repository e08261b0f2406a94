// The result of a turn: sources, nearest sections, notices, ways out, actions, feedback and follow-up questions.

import { adopt, el, fill, icon, namedIcon, plain, tool } from "./roaming-ask.js";
import { mark } from "./roaming-marks.js";
import { LINK, copyTool } from "./roaming-tools.js";

const ENGLISH = {
  answered: "Answer ready, {n} source|Answer ready, {n} sources",
  sources: "Sources",
  youAreHere: "you are here",
  continue: "Continue",
  search: "Search the docs instead",
  looked: "Looked at",
  nearest: "Nearest sections",
  anyway: "Show the nearest sections anyway",
  person: "Ask a person",
  filled: "Your question and the sections read are filled in. You send it yourself.",
  partial: "The answer may be incomplete.",
  found: "Search results",
  not_found: "The docs do not seem to answer this.",
  unusable: "The model's reply could not be used.",
  refused: "The model declined to answer this.",
  budget: "The answer reached its limit and may be incomplete.",
  error: "The answer could not be finished. Please ask again.",
  stopped: "Stopped. Your question is back in the input.",
  invalid: "This question was not accepted. Shorten it.",
  rate: "Too many questions just now.",
  wait: "You can ask again in {n}.",
  copy: "Copy answer",
  link: "Copy link",
  good: "Helpful",
  bad: "Not helpful",
  thanks: "Thank you",
  comment: "What was wrong or missing? (optional)",
  followUps: "Ask next",
};
const ENDS = ["answered", "partial", "results", "not_found", "unusable", "refused", "budget"];
const SENTENCES = ["The docs do not seem to answer this.", "The model refused to answer."];
const CITATION = /\[\^([0-9a-f]{8})\]/g;
const CHAT = "M4 7a2 2 0 0 1 2-2h12a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-7l-5 3.5V17a2 2 0 0 1-2-2Z";
const THUMB =
  "M8 11v9H5a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1Zm0 0 3.6-7a2 2 0 0 1 2.4 2.3L13.5 9.5H18a2 2 0 0 1 2 2.4l-1.3 6.5" +
  "A2 2 0 0 1 16.7 20H8";
const LONGEST_COMMENT = 1000; // bytes

const STYLE = `
.turn > .label, .next { margin-block: 24px 0 }
.turn > .label + *, :is(.next, details) > .rows { margin-block-start: 8px }
.next .label { margin: 0 }
.answer .label { margin-block: 0; font-size: .8em }
.answer:has(> .label) > :has(.cites) + * { margin-block-start: 24px }
.source { display: grid; grid-template-columns: auto minmax(0, 1fr); column-gap: 12px; padding: 12px 16px; color: inherit;
  text-decoration: none; transition: background .12s }
.source:is(a):hover { background: var(--_soft) }
.source > * { grid-column: 2 }
.source > .number { grid-area: 1 / 1 / span 3; align-self: start; margin-block-start: 1px }
.source.plain { grid-template-columns: minmax(0, 1fr) auto }
.source.plain > * { grid-column: 1 }
.source.plain > .icon { grid-area: 1 / 2 / span 3; align-self: center; color: var(--_muted); opacity: 0;
  transition: opacity .12s }
.source.plain:is(:hover, :focus-visible) > .icon { opacity: 1 }
.crumb { font-size: .8em; line-height: 1.34; color: var(--_muted) }
.source b { font-size: .933em; line-height: 1.43; font-weight: 700 }
.snippet { margin-block-start: 2px; font-size: .867em; line-height: 1.54; color: var(--_muted); text-wrap: pretty;
  display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden }
.snippet, .result > p, .turn > .small { unicode-bidi: plaintext }
.source .here { display: none; color: var(--_accent); font-weight: 700 }
.source[aria-current] { background: var(--_tint); box-shadow: inset 2px 0 var(--_accent) }
.source[aria-current]:dir(rtl) { box-shadow: inset -2px 0 var(--_accent) }
.source[aria-current] .here { display: inline }
.turn:has(~ .turn) .next { display: none }
.actions { container-type: inline-size; display: flex; flex-wrap: wrap; align-items: center; gap: 2px; margin-inline-start: -7px }
.actions .tool::after { inset-inline-start: 7px } /* inside the panel */
.actions hr { width: 1px; height: 16px; margin-inline: 6px; border: 0; background: var(--_line) }
.flag { display: flex; align-items: center; gap: 6px; margin-inline-start: auto; padding-inline-start: 8px; font-size: .8em;
  line-height: 1.34; color: var(--_warn) }
@container (max-width: 379px) { .flag { order: -1; flex: 0 0 100%; min-height: 32px; padding-inline-start: 7px } }
.flag .icon { width: 16px; height: 16px }
.down .icon { rotate: 180deg }
.turn .comment { display: flex; gap: 8px; align-items: stretch; padding: 0; border: 0; box-shadow: none }
.comment input { flex: 1; min-width: 0; scroll-margin-block: 56px; min-height: 36px; padding: 0 12px; border: 1px solid var(--_edge);
  border-radius: 8px; background: none; font-size: .933em }
.comment input::placeholder { color: var(--_muted); opacity: 1 }
.buttons { display: flex; flex-wrap: wrap; gap: 8px }
.turn .button .icon { width: 16px; height: 16px }
.result { display: grid; grid-template-columns: 18px minmax(0, 1fr); gap: 12px; font-size: .933em; line-height: 1.43 }
.result > .icon { margin-block-start: 1px; color: var(--_warn) }
.result > .buttons { grid-column: 2; font-size: 1.0718em }
.result.failed { padding: 16px; border: 1px solid var(--_line); border-radius: 12px }
.result.failed > .icon { color: var(--_danger) }
.result.failed > p { font-weight: 700 }
@media (max-width: 599px) {
  .actions { margin-inline-start: -13px }
  .actions .tool::after { inset-inline-start: 13px }
  .flag { padding-inline-start: 13px }
  .comment input { min-height: 44px; font-size: max(16px, 1em) }
}
@media (forced-colors: active) { .source[aria-current] { outline: 2px solid Highlight; outline-offset: -2px } }
`;

/** Shows the result of a turn after its answer. */
export class Result {
  constructor(turn) {
    const { host } = turn;
    Object.assign(this, { turn, host, words: { ...ENGLISH, ...host.settings.words }, status: turn.status ?? {} });
    adopt(host.shadowRoot, STYLE);
    this.message = el("p");
    this.buttons = el("div", { class: "buttons" });
    this.notice = el("div", { class: "result", part: "status" });
    this.actions = el("div", { class: "actions", part: "actions" });
  }
  /** Show the result; return whether the question should be sent again. */
  show(problem, live) {
    const { turn, words, host, status } = this;
    const seconds = problem?.seconds;
    const state = (turn.code = problem?.code) ?? (ENDS.includes(status.state) ? status.state : "error");
    const is = (...states) => states.includes(state);
    const failed = problem || is("error");
    const bad = failed || is("unusable", "refused", "budget");
    const sources = turn.cited.map((id) => turn.sections.get(id)).filter(Boolean);
    const message = fill(words[is("down") ? "error" : is("money") ? "down" : is("results") ? "found" : state], { n: sources.length });
    this.found = is("results") || turn.text.startsWith(status.message || "\n"); // the server wrote the text, no model
    turn.article.ariaBusy = "false";
    turn.trail.finish({ sections: status.sections, answered: !is("not_found") });
    turn.failed = !!failed;
    turn.heading.hidden = turn.empty; // the question is back in the input
    turn.trail.element.hidden ||= is("results");
    if (!this.found || !sources.length) this.#list(sources, is("not_found"));
    if (is("results")) turn.answer.prepend(this.#label(message));
    else if (!is("answered")) this.#notify(message, state, bad);
    if (failed) this.#button(words.retry, "redo", () => host.ask(turn.question));
    if (is("partial", "budget")) this.#button(words.continue, "go", () => host.ask(turn.question));
    if (is("results", "not_found", "unusable", "refused", "error", "rate", "money")) this.#button(words.search, "find", () => host.search(turn.question));
    if (!is("answered")) (this.notice.isConnected || this.notice.parentNode ? this.notice : turn.article).append(this.buttons);
    if (is("results", "not_found", "unusable", "refused")) this.#waysOut();
    if (seconds) this.#countDown(message, seconds);
    else {
      this.#complete(sources, state);
      if (live) host._say(message, bad);
    }
    if (!live) return;
    const detail = { question: turn.question, answer: turn.text, sources, status, code: state, retryAfter: seconds };
    host._emit(seconds ? "ratelimit" : failed ? "error" : "answer", detail);
    return failed;
  }
  #button(label, name, onclick) {
    this.buttons.append(el("button", { class: "button", onclick }, namedIcon(name), label));
  }
  #append(...nodes) {
    this.turn.article.append(...nodes);
  }
  #label(text) {
    return el("h4", { class: "label" }, text);
  }
  /** Show what the result means, unless the answer says it. */
  #notify(message, state, bad) {
    const failed = bad && !["stopped", "budget", "unusable", "refused"].includes(state);
    this.message.textContent = message;
    const isWaiting = ["rate", "money"].includes(state);
    this.notice.append(namedIcon(failed && !isWaiting ? "off" : "info"), this.message);
    this.notice.classList.toggle("failed", failed);
    if (bad) this.notice.part = "status error";
    this.turn.answer.after(this.notice);
  }
  /** List the sources. Without an answer, list the nearest sections too, else those that were opened; `folds` hides them. */
  #list(sources, folds) {
    const { words, status } = this;
    const nearest = (status.nearest ?? []).filter(({ id }) => !sources.some((source) => source.id === id));
    const looked = !sources.length && !nearest.length && status.looked_at;
    for (const [title, listed] of Object.entries({ sources, nearest, looked })) {
      if (!listed?.length) continue;
      const rows = listed.map((one) => el("li", {}, this.#row(one, title === "sources")));
      const list = el("ol", { class: "rows", part: "sources", role: "list" }, ...rows);
      if (folds && title === "nearest") this.#append(el("details", {}, el("summary", {}, words.anyway, namedIcon("chev")), list));
      else this.#append(this.#label(words[title]), list);
    }
  }
  #row(section, numbered) {
    const { turn, words } = this;
    const { id, path = [], title } = { ...turn.sections.get(section.id), ...section };
    const href = turn.address(section);
    const number = numbered && el("span", { class: "number" }, `${turn.cited.indexOf(id) + 1}`);
    const titles = path.slice(0, -1).join(" › ");
    const here = el("span", { class: "here" }, titles && " · ", words.youAreHere);
    const crumb = el("span", { class: "crumb" }, titles, numbered && here);
    const snippet = turn.passage(id)?.text || section.snippet || turn.sections.get(id)?.snippet;
    const row = el(
      href ? "a" : "span", { class: numbered ? "source" : "source plain", href, "data-section": id }, number, crumb,
      el("b", {}, title || path.at(-1)), snippet && el("p", { class: "snippet" }, snippet), !numbered && href && namedIcon("go"),
    );
    if (numbered && href?.replace(/#?:~:.*/, "") === location.href) row.setAttribute("aria-current", "location");
    return row;
  }
  /** Offer the links that the site has configured for questions without an answer. */
  #waysOut() {
    const { turn, words, host, status } = this;
    let links = [];
    try {
      links = JSON.parse(host.getAttribute("links")) ?? [];
    } catch {} // invalid: no links
    const read = [...turn.sections.values(), ...(status.nearest ?? [])].slice(0, 8);
    const values = {
      question: turn.question.slice(0, 500),
      page: location.href,
      sections: read.map(({ path, title, url }) => `- ${path?.join(" › ") || title}: ${url}`).join("\n"),
    };
    const drawn = links.slice(0, 4).flatMap(({ label, url }) => {
      const href = String(url).replace(/\{(\w+)\}/g, (all, name) => encodeURIComponent(values[name] ?? all));
      if (!URL.canParse(href, location.href) || !/^(https?|mailto):$/.test(new URL(href, location.href).protocol)) return [];
      return [el("a", { class: "button", href, target: "_blank", rel: "noopener" }, icon(CHAT), label)];
    });
    if (!drawn.length) return;
    this.#append(
      this.#label(words.person), el("div", { class: "buttons", part: "links" }, ...drawn),
      el("p", { class: "small" }, words.filled),
    );
  }
  /** Add marks, actions, follow-up questions and usage to an answer. */
  #complete(sources) {
    const { turn, host, words, actions } = this;
    const { text, answer, support, status } = turn;
    if (!text) return;
    this.#sayOnce(text, status);
    const titles = this.found ? answer.querySelectorAll(":scope > :is(.label, :has(.cites)) + p > strong:first-child") : [];
    [...titles].forEach((title, n) => {
      const section = turn.sections.get(turn.cited[n]);
      if (section) title.replaceChildren(el("a", { href: turn.address(section), "data-section": section.id }, ...title.childNodes));
    });
    const say = (said) => host._say(said);
    const address = () => new URL(`?ask=${encodeURIComponent(turn.question)}`, location.href).href;
    actions.append(
      ...[
        copyTool(words.copy, () => asText(turn, sources), { words, say }),
        copyTool(words.link, address, { words, say, drawn: icon(LINK) }),
      ].filter(Boolean),
    );
    this.#append(actions);
    if (turn.signed && (host.getAttribute("feedback") ?? "off") !== "off") this.#feedback();
    const marks = support?.marks ?? [];
    if (marks.length) {
      const source = text.replace(CITATION, (all) => " ".repeat(all.length));
      turn.markdown.coloured.then(() => actions.append(mark(turn, source, marks)));
    }
    const questions = (Array.isArray(turn.followUps) ? turn.followUps : []).slice(0, 3);
    if (questions.length) {
      const asks = (question) =>
        el("button", { class: "pick", onclick: () => host.ask(question) }, el("span", {}, question), namedIcon("next"));
      const rows = questions.map((question) => el("li", {}, asks(plain(question))));
      this.#append(el("div", { class: "next" }, this.#label(words.followUps), el("ul", { class: "rows", role: "list" }, ...rows)));
    }
    const usage = host.hasAttribute("show-usage") && status && spent(status, words);
    if (usage) this.#append(el("p", { class: "small", part: "usage" }, usage));
    const wrote = status && status.model !== "offline" && !this.found && !SENTENCES.includes(text);
    if (wrote) this.#append(el("p", { class: "small" }, words.legal));
  }
  /** Keep a message from appearing twice, as notice and as the text of the answer. */
  #sayOnce(text, status) {
    const { answer } = this.turn;
    if (["not_found", "refused"].includes(status?.state)) {
      // The model's own sentence says what the message says; the server's sentence is only in English.
      if (SENTENCES.includes(text)) answer.replaceChildren();
      else this.#quiet();
    }
    if (!status?.message || !text.startsWith(status.message)) return;
    // The server's reason replaces the message, or the message replaces it in other languages. Passages may follow.
    if (!this.words.language) this.message.textContent = status.message;
    answer.firstChild?.replaceWith(text === status.message ? "" : this.#label(this.words.found));
    answer.before(this.notice);
  }
  /** Show only the buttons of the notice. */
  #quiet() {
    this.notice.remove();
    this.#append(this.buttons);
  }
  /** Create two feedback buttons, and a field for a comment. Only the signed turn is sent with them. */
  #feedback() {
    const { turn, host, words, actions } = this;
    const send = (helpful, comment) => {
      host._emit("feedback", { question: turn.question, helpful, comment });
      host._post("v1/feedback", { turn: turn.signed, helpful, comment }).catch(() => {});
      host._say(words.thanks);
    };
    const thumb = (label, helpful) => {
      const rate = () => {
        if (button.ariaPressed === "true") return;
        for (const each of thumbs) each.ariaPressed = `${each === button}`;
        form.hidden = helpful;
        send(helpful);
        if (helpful) return;
        input.focus({ preventScroll: true });
        input.scrollIntoView({ block: "nearest" });
      };
      const button = tool(label, icon(THUMB), rate, { "aria-pressed": "false" });
      button.classList.toggle("down", !helpful);
      return button;
    };
    const input = el("input", { "aria-label": words.comment, placeholder: words.comment, maxlength: LONGEST_COMMENT, dir: "auto" });
    const submit = (event) => {
      event.preventDefault();
      const comment = input.value.trim();
      if (!comment) return;
      const fits = new TextEncoder().encodeInto(comment, new Uint8Array(LONGEST_COMMENT)).read; // whole characters
      send(false, comment.slice(0, fits));
      form.replaceWith(el("p", { class: "small" }, words.thanks));
    };
    const button = el("button", {}, words.send);
    const form = el("form", { class: "comment", hidden: true, onsubmit: submit }, input, button);
    const thumbs = [thumb(words.good, true), thumb(words.bad, false)];
    actions.append(...(actions.childNodes.length ? [el("hr")] : []), ...thumbs);
    this.#append(form);
  }
  /** Count down and disable sending until the next question is allowed. */
  #countDown(message, seconds) {
    const { words, host, buttons } = this;
    const end = Date.now() + seconds * 1000;
    const tick = () => {
      const left = Math.ceil((end - Date.now()) / 1000);
      const [size, unit] = left > 5400 ? [3600, "h"] : left > 90 ? [60, "min"] : [1, "s"];
      const n = `${Math.ceil(left / size)} ${unit}`;
      this.message.textContent = `${message} ${left > 0 ? fill(words.wait, { n }) : words.online}`;
      buttons.firstChild.disabled = left > 0;
      host._wait(left > 0);
      if (left > 0) setTimeout(tick, 1000);
      else host._say(words.online);
    };
    tick();
    host._say(this.message.textContent, true);
  }
}

/** Return the model, the tokens and the cost of an answer. */
function spent({ model, tokens_read: n, cost, currency }, { tokens }) {
  return [model, n && fill(tokens, { n }), cost > 0 && `${Number(cost).toPrecision(2)} ${currency}`].filter(Boolean).join(" · ");
}

/** Return an answer with its sources as Markdown. */
function asText({ text, cited }, sources) {
  const numbered = text.replace(CITATION, (all, id) => `[${cited.indexOf(id) + 1}]`);
  const listed = sources.map(({ id, path, url }) => `[${cited.indexOf(id) + 1}] ${path.join(" › ")}: ${url}`);
  return [numbered, "", ...listed, ""].join("\n");
}
