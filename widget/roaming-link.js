// Links to answers. The text of one is shown only if the endpoint says that it wrote it: anybody can write a link.

import { adopt, el, fill, plain } from "./roaming-ask.js";
import { cut } from "./roaming-excerpt.js";
import { Library } from "./roaming-library.js";
import { Markdown } from "./roaming-markdown.js";

const ENGLISH = {
  linked: "From a link to an answer; who wrote the question is not known. These are the sections that it cites, as they are now.",
  linkCut: "This link to an answer is not complete.",
  answeredOn: "From a link. Answered on {date}.",
  changed: "{n} of {all} sections has changed since.|{n} of {all} sections have changed since.",
  unchanged: "Nothing has changed since.",
  wasChanged: "changed since",
  wasRemoved: "No longer in these docs",
};
const LONGEST = 6000; // characters of a link; a longer one has no text
const LONGEST_UNSIGNED = 300; // characters that are shown of a question that anybody may have written
const STYLE = `
.since { text-align: end }
.linked .passage { padding: 0 16px 12px; padding-inline-start: 46px; font-size: .8667em }
.linked .state { color: var(--_warn); font-weight: 700 }
`;
let library;

/** Return the address of an answer on the current page. What mail programs cut off first is last. */
export async function address({ question, text, link: { sections, signature } }) {
  const make = (values) => {
    const given = Object.entries(values).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
    return `${location.origin}${location.pathname}#${given.replace(/[!'()*]/g, (one) => `%${one.charCodeAt().toString(16)}`)}`;
  };
  const values = { roaming: question.slice(0, 1000), sections: sections.slice(0, 20).join(".") };
  const whole = signature && make({ ...values, signature, text: await pack(text) });
  return whole && whole.length <= LONGEST ? whole : make(values);
}
const convert = (content, stream) => new Response(new Blob([content]).stream().pipeThrough(stream));
async function pack(text) {
  const bytes = await convert(text, new CompressionStream("deflate-raw")).arrayBuffer();
  return btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
}
async function unpack(packed) {
  const bytes = atob(packed.slice(0, LONGEST).replace(/-/g, "+").replace(/_/g, "/"));
  return convert(Uint8Array.from(bytes, (one) => one.charCodeAt()), new DecompressionStream("deflate-raw")).text();
}

/** Show what the fragment of the address links to. It is removed, because themes and scripts read it, too. */
export async function open(host) {
  const given = new URLSearchParams(location.hash.slice(1));
  history.replaceState(history.state, "", location.pathname + location.search);
  const question = plain(given.get("roaming")).trim();
  if (!question || host.settings.mode === "off") return;
  const ids = `${given.get("sections")}`.split(".").filter((one) => /^[0-9a-f]{14}$/.test(one)).slice(0, 20);
  const verifying = verify(host, question, ids, given).catch(() => {}); // cut, or not reached
  const found = await Promise.all(ids.map((one) => find(host, one)));
  const { text, time, turn, link } = (await verifying) ?? {};
  const isCut = !text && question.length > LONGEST_UNSIGNED;
  const data = { time, sections: found.map(({ id, state }) => [id, state]) };
  await host._show(isCut ? `${question.slice(0, LONGEST_UNSIGNED)}…` : question, [
    { type: "data-link", data },
    ...found.flatMap(({ id, data }) => (data ? { type: "data-section", id, data } : [])),
    { type: "text-delta", delta: text },
    { type: "data-status", data: { state: text ? "answered" : "linked" } },
    { type: "finish", messageMetadata: { turn, link } },
  ]);
  host._say(describe(host, data));
}
/** Return the text of an answer if the endpoint wrote it. */
async function verify(host, question, sections, given) {
  const signature = given.get("signature");
  if (!signature || host.settings.onlyFinds) return;
  const text = await unpack(given.get("text"));
  const body = { question, answer: text, sections, signature };
  const response = await host._post("v1/verify", body, AbortSignal.timeout(5_000));
  const { valid, time, turn } = await response.json();
  if (valid === true) return { text, time, turn, link: { sections, signature } };
}
/** Return what a section of a link is now. */
async function find(host, linked) {
  const found = { id: linked.slice(0, 8) };
  try {
    const section = await lookUp(host, found.id);
    if (!section) return { ...found, state: "removed" };
    const { title, path, opening: snippet } = section;
    found.data = { title, path, snippet, url: library.address(section), state: "cited" };
    found.state = (await library.digest(section)).startsWith(linked.slice(8)) ? "same" : "changed";
  } catch {} // it cannot be read, or compared
  return found;
}
/** Return a section by its id, or by a former one, which only the manifest has. */
async function lookUp(host, id) {
  library ??= new Library(host);
  await library.open();
  if (library.isLarge) throw new Error("not in the index");
  const get = (wanted) => library.finder.rows.find((row) => row.id === wanted);
  if (get(id)) return get(id);
  const { pages } = await (await host.fetch(host.settings.page.manifest)).json();
  return get(pages.flatMap(({ sections }) => sections).find(({ aliases }) => aliases?.includes(id))?.id);
}

/** Return when the answer of a link was written, and what has changed since. */
function describe({ settings }, { time, sections }) {
  const words = { ...ENGLISH, ...settings.words };
  const date = time && new Date(time * 1000).toLocaleDateString(settings.language, { dateStyle: "long" });
  if (!sections.length) return words.linkCut;
  const since = time ? fill(words.answeredOn, { date }) : words.linked;
  const states = sections.map(([, state]) => state);
  const n = states.filter((state) => state !== "same").length;
  if (!states[0] || states.includes(undefined)) return since;
  return `${since} ${n ? fill(words.changed, { n, all: states.length }) : words.unchanged}`;
}
/** Add that, and the current passages of the sections, to a turn. */
export function draw({ host, linked, heading, article, question, cited }) {
  const words = { ...ENGLISH, ...host.settings.words };
  adopt(host.shadowRoot, STYLE);
  const note = el("p", { class: "small since" }, describe(host, linked));
  heading.after(note);
  let list = article.querySelector("[part=sources]");
  for (const [id, state] of linked.sections) {
    const row = list?.querySelector(`[data-section="${id}"]`);
    const flag = el("span", { class: "state small" }, row ? words.wasChanged : words.wasRemoved);
    if (state === "changed") row.querySelector("b").append(" ", flag);
    if (row) showPassage(host, row, id, question).catch(() => {}); // its opening remains
    else if (state) {
      if (!list) note.after((list = el("ol", { class: "rows" })));
      list.append(el("li", { class: "source" }, el("span", { class: "number" }, `${cited.indexOf(id) + 1}`), flag));
    }
  }
}
async function showPassage(host, row, id, question) {
  const section = await lookUp(host, id);
  const asked = await library.finder.asked(question);
  const text = await library.text(section, { subsections: false });
  if (!text.trim()) return;
  const passage = el("div", { class: "passage answer" });
  row.after(passage);
  row.querySelector(".snippet")?.remove();
  const { link, words } = host.settings;
  new Markdown(passage, { link, words, root: host.shadowRoot, say: (said) => host._say(said) }).push(`${text}\n\n`);
  cut(passage, asked, 1);
}
