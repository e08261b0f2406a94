// What a finished answer gets besides its sources, loaded by <roaming-ask> when the first question is asked: marks on
// words that no section supports, and the actions copy, link and opinion.

const ENGLISH = {
  copy: "Copy",
  link: "Copy link",
  good: "Helpful",
  bad: "Not helpful",
  thanks: "Thank you",
  unsupported: "not in the sections that were read",
  opposite: "the sections say otherwise",
  legend: "Dotted: {n} × not in the sections that were read",
};
const CITATION = /\[\^([0-9a-f]{8})\]/g;

/** Adds them to a turn. `host` is the element, `made` what its module makes things by. */
export function done(turn, sources, host, made) {
  const words = { ...ENGLISH, ...host._words };
  const { question, text, support, answer, actions } = turn;
  const marks = support?.sentences.flatMap((sentence) => sentence.marks) ?? [];
  if (marks.length) mark(answer, text.replace(CITATION, ""), marks, words, made);
  const address = () => new URL(`?ask=${encodeURIComponent(question)}`, location.href).href;
  const wanted = turn.turn && (host.getAttribute("feedback") ?? "off") !== "off";
  actions.prepend(
    host._copier(words.copy, () => asText(turn, sources)),
    host._copier(words.link, address),
    ...(wanted ? opinions(turn, host, words, made) : []),
  );
}

/** Gives an answer with its sources as Markdown that stands alone. */
function asText({ text, cited }, sources) {
  const numbered = text.replace(CITATION, (all, id) => `[${cited.indexOf(id) + 1}]`);
  return [numbered, "", ...sources.map(({ path, url }, at) => `[${at + 1}] ${path.join(" › ")}: ${url}`), ""].join("\n");
}

/** Makes two thumbs; an opinion is sent with the signed turn and nothing else. */
function opinions({ question, turn }, host, words, { el, post }) {
  const opinion = (sign, label, helpful) => {
    const onclick = () => {
      for (const each of buttons) each.disabled = true;
      button.ariaPressed = "true";
      host._tell("feedback", { question, helpful });
      post("v1/feedback", { turn, helpful }).catch(() => {});
      host._say(words.thanks);
    };
    const button = el("button", { type: "button", onclick, title: label, "aria-label": label, "aria-pressed": "false" }, sign);
    return button;
  };
  const buttons = [opinion("👍", words.good, true), opinion("👎", words.bad, false)];
  return buttons;
}

/** Underlines what no section supports: spans count in the answer's Markdown without its citations. */
function mark(answer, source, marks, words, { el, fill }) {
  const walker = document.createTreeWalker(answer, NodeFilter.SHOW_TEXT);
  let at = 0;
  // What is shown is the source without its signs: so each character is found again from where the last one stood.
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentNode.closest(".cite, mark")) continue;
    const places = Array.from(node.data, (character) => {
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
