// What a turn that has ended gets besides its sources, loaded by <roaming-ask> when the first question is asked: what it
// cost, the actions copy, link and opinion, marks on words that no section supports; or a countdown until one may ask again.

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
  opposite: "the sections say otherwise",
  legend: "Dotted: {n} × not in the sections that were read",
};
const CITATION = /\[\^([0-9a-f]{8})\]/g;

/** Adds them to a turn. `host` is the element, `made` what its module makes things by. */
export function done(turn, { sources, said, seconds }, host, made) {
  const words = { ...ENGLISH, ...host._words };
  const { question, text, support, answer, actions, state, status } = turn;
  if (seconds) return countDown(turn, said, seconds, host, words, made);
  if (!text) return;
  if (!state.textContent) state.textContent = spent(status, words, made);
  const address = () => new URL(`?ask=${encodeURIComponent(question)}`, location.href).href;
  const wanted = turn.turn && (host.getAttribute("feedback") ?? "off") !== "off";
  actions.prepend(
    copier(words.copy, () => asText(turn, sources), host, made),
    copier(words.link, address, host, made),
    ...(wanted ? opinions(turn, host, words, made) : []),
  );
  const marks = support?.sentences.flatMap((sentence) => sentence.marks) ?? [];
  if (marks.length) mark(answer, text.replace(CITATION, ""), marks, words, made);
}

/** Gives what an answer cost. */
function spent({ model, tokens_read: n, cost, currency }, { tokens }, { fill }) {
  return [model, n && fill(tokens, { n }), cost > 0 && `${Number(cost).toPrecision(2)} ${currency}`].filter(Boolean).join(" · ");
}

/** Counts until one may ask again; until then nothing can be sent. */
function countDown({ state, actions }, said, seconds, host, { wait, now }, { fill, send }) {
  const end = Date.now() + seconds * 1000;
  const tick = () => {
    const left = Math.ceil((end - Date.now()) / 1000);
    const [size, unit] = left > 5400 ? [3600, "h"] : left > 90 ? [60, "min"] : [1, "s"];
    const n = `${Math.ceil(left / size)} ${unit}`;
    state.textContent = `${said} ${left > 0 ? fill(wait, { n }) : now}`;
    for (const button of [send, actions.lastChild]) button.disabled = left > 0;
    if (left > 0) setTimeout(tick, 1000);
    else host._say(now);
  };
  tick();
  host._say(state.textContent, true);
}

/** Makes a button that copies; nothing where there is no clipboard, since there is none without a secure context. */
export function copier(label, what, host, { el }) {
  if (!navigator.clipboard) return "";
  const { copied } = { ...ENGLISH, ...host._words };
  const onclick = async () => {
    try {
      await navigator.clipboard.writeText(what());
    } catch {
      return; // forbidden: it does not say that it has
    }
    button.textContent = copied;
    host._say(copied);
  };
  const button = el("button", { type: "button", onclick }, label);
  return button;
}

/** Gives an answer with its sources as Markdown that stands alone. */
function asText({ text, cited }, sources) {
  const numbered = text.replace(CITATION, (all, id) => `[${cited.indexOf(id) + 1}]`);
  const listed = sources.map(({ id, path, url }) => `[${cited.indexOf(id) + 1}] ${path.join(" › ")}: ${url}`);
  return [numbered, "", ...listed, ""].join("\n");
}

/** Makes two buttons, in words, since not every reader has a font with thumbs; an opinion is sent with the signed turn and nothing else. */
function opinions({ question, turn }, host, words, { el, post }) {
  const opinion = (label, helpful) => {
    const onclick = () => {
      for (const each of buttons) each.disabled = true;
      button.ariaPressed = "true";
      host._tell("feedback", { question, helpful });
      post("v1/feedback", { turn, helpful }).catch(() => {});
      host._say(words.thanks);
    };
    const button = el("button", { type: "button", onclick, "aria-pressed": "false" }, label);
    return button;
  };
  const buttons = [opinion(words.good, true), opinion(words.bad, false)];
  return buttons;
}

/** Underlines what no section supports: spans count in the answer's Markdown without its citations. */
function mark(answer, source, marks, words, { el, fill }) {
  const walker = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
  let at = 0;
  // What is shown is the source without its signs: so each character (a half of one too, since
  // spans count as JavaScript does) is found again from where the last one stood.
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
    const rest = text.splitText(places.filter(inside).length);
    at = places[places.findLastIndex(inside)] + 1;
    const label = words[marked.kind === "polarity" ? "opposite" : "unsupported"];
    text.replaceWith(el("mark", { title: label }, text.data, el("span", { class: "said" }, ` (${label})`)));
    walker.currentNode = rest.previousSibling.lastChild.firstChild;
  }
  answer.append(el("p", { class: "muted" }, fill(words.legend, { n: marks.length })));
}
