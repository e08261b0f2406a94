// Additions to a finished turn: its cost, the actions copy, link and feedback, marks on unsupported words, or a countdown
// after a rate limit. <roaming-ask> loads this module with the first question.

const ENGLISH = {
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
const SENTENCES = ["The docs do not seem to answer this.", "The model refused to answer."];
const CITATION = /\[\^([0-9a-f]{8})\]/g;
let legends = 0; // each has an id, which its marks name

/** Add them to a turn. `host` is the <roaming-ask> element, `helpers` has helpers of its module. */
export function done(turn, { sources, message, seconds }, host, helpers) {
  const words = { ...ENGLISH, ...host._words };
  const { question, text, support, answer, actions, state, status } = turn;
  const { el } = helpers;
  if (seconds) return countDown(turn, message, seconds, host, words, helpers);
  if (!text) return;
  if (["not_found", "refused"].includes(status?.state)) {
    // The model's own sentence says what the message says; the server's sentence is only in English.
    if (SENTENCES.includes(text)) answer.replaceChildren();
    else {
      state.className = "muted";
      state.textContent = "";
      turn.article.append(state);
    }
  }
  if (status?.message && text.startsWith(status.message)) {
    // The server's reason replaces the message, or the message replaces it in other languages. Passages may follow.
    if (!words.language) state.textContent = status.message;
    answer.firstChild?.replaceWith(state, text === status.message ? "" : el("h4", {}, words.passages));
  }
  if (!state.textContent) state.textContent = spent(status, words, helpers);
  const address = () => new URL(`?ask=${encodeURIComponent(question)}`, location.href).href;
  const wanted = turn.turn && (host.getAttribute("feedback") ?? "off") !== "off";
  actions.prepend(
    copier(words.copy, () => asText(turn, sources), host, helpers),
    copier(words.link, address, host, helpers),
    ...(wanted ? opinions(turn, host, words, helpers) : []),
  );
  const marks = support?.marks ?? [];
  if (marks.length) mark(answer, text.replace(CITATION, (all) => " ".repeat(all.length)), marks, words, helpers);
}

/** Return the model, the tokens and the cost of an answer. */
function spent({ model, tokens_read: n, cost, currency }, { tokens }, { fill }) {
  return [model, n && fill(tokens, { n }), cost > 0 && `${Number(cost).toPrecision(2)} ${currency}`].filter(Boolean).join(" · ");
}

/** Count down and disable sending until the next question is allowed. */
function countDown({ state, actions }, message, seconds, host, { wait, now }, { fill, send }) {
  const end = Date.now() + seconds * 1000;
  const tick = () => {
    const left = Math.ceil((end - Date.now()) / 1000);
    const [size, unit] = left > 5400 ? [3600, "h"] : left > 90 ? [60, "min"] : [1, "s"];
    const n = `${Math.ceil(left / size)} ${unit}`;
    state.textContent = `${message} ${left > 0 ? fill(wait, { n }) : now}`;
    for (const button of [send, actions.lastChild]) button.disabled = left > 0;
    if (left > 0) setTimeout(tick, 1000);
    else host._say(now);
  };
  tick();
  host._say(state.textContent, true);
}

/** Create a copy button; nothing without a secure context, where there is no clipboard. */
export function copier(label, what, host, { el }) {
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
function opinions({ question, turn }, host, words, { el, post }) {
  const opinion = (label, helpful) => {
    const onclick = () => {
      for (const each of buttons) each.disabled = true;
      button.ariaPressed = "true";
      host._emit("feedback", { question, helpful });
      post("v1/feedback", { turn, helpful }).catch(() => {});
      host._say(words.thanks);
    };
    const button = el("button", { type: "button", onclick, "aria-pressed": "false" }, label);
    return button;
  };
  const buttons = [opinion(words.good, true), opinion(words.bad, false)];
  return buttons;
}

/** Underline unsupported words. Their offsets are those of the answer's Markdown. The text stays as it is, so that it can be copied. */
function mark(answer, source, marks, words, { el, fill }) {
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
