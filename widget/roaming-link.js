// Links to answers: question, cited sections with a part of their digests, and the text of a signed answer. The text is shown
// only if the endpoint says that it wrote it: anybody can write a link, and it would appear on the official site.

import { adopt, el, fill, plain } from "./roaming-ask.js";
import { cut } from "./roaming-excerpt.js";
import { Library } from "./roaming-library.js";
import { Markdown } from "./roaming-markdown.js";

const ENGLISH = {
  linked: "From a link to an answer. These are the sections that it cites, as they are now.",
  answeredOn: "From a link. Answered on {date}.",
  changed: "{n} of {all} sections has changed since.|{n} of {all} sections have changed since.",
  unchanged: "Nothing has changed since.",
  wasChanged: "changed since",
  wasRemoved: "No longer in these docs",
};
const LONGEST = 6000; // characters of a link; a longer one has no text
const LONGEST_QUESTION = 1000;
const LONGEST_UNSIGNED = 300; // characters that are shown of a question that anybody may have written
const MOST_SECTIONS = 20;
const PATIENCE = 5_000; // ms
const STYLE = `
.linked .since { text-align: end }
.linked .passage { padding: 0 16px 12px; padding-inline-start: 46px; font-size: .8667em }
.linked .state { color: var(--_warn); font-weight: 700 }
`;

/** Return the address of an answer on the current page. What mail programs cut off first is last. */
export async function address({ question, text, link }) {
  const { sections, marks = [], signature } = link;
  const make = (values) => {
    const encoded = Object.entries(values).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    return `${location.origin}${location.pathname}#${encoded.join("&").replace(/[!'()*]/g, (one) => `%${one.charCodeAt().toString(16)}`)}`;
  };
  const values = { roaming: question.slice(0, LONGEST_QUESTION), sections: sections.slice(0, MOST_SECTIONS).join(".") };
  const isWhole = signature && question.length <= LONGEST_QUESTION && sections.length <= MOST_SECTIONS;
  const whole = isWhole && make({ ...values, marks: marks.join("."), signature, text: await pack(text) });
  return whole && whole.length <= LONGEST ? whole : make(values);
}
const convert = (content, stream) => new Response(new Blob([content]).stream().pipeThrough(stream));
async function pack(text) {
  const bytes = await convert(text, new CompressionStream("deflate-raw")).arrayBuffer();
  return btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
}
async function unpack(packed) {
  if (packed.length > LONGEST) throw new Error("too long");
  const bytes = atob(packed.replace(/-/g, "+").replace(/_/g, "/"));
  return convert(Uint8Array.from(bytes, (one) => one.charCodeAt()), new DecompressionStream("deflate-raw")).text();
}

/** Show what the fragment of the address links to. It is removed, because themes and scripts read it, too. */
export async function open(host) {
  const given = new URLSearchParams(location.hash.slice(1));
  history.replaceState(history.state, "", location.pathname + location.search);
  const question = plain(given.get("roaming")).trim();
  if (!question || host.settings.mode === "off") return;
  const list = (name, pattern) => (given.get(name) ?? "").split(".").filter((one) => pattern.test(one));
  const sections = list("sections", /^[0-9a-f]{14}$/).slice(0, MOST_SECTIONS);
  const link = { sections, marks: list("marks", /^\d+-\d+$/), signature: given.get("signature") };
  const confirming = verify(host, question, given.get("text"), link).catch(() => {}); // forged, cut, or not reached
  const found = await Promise.all(sections.map((one) => find(host, one)));
  const { text, time, turn } = (await confirming) ?? {};
  const marks = link.marks.map((mark) => mark.split("-").map(Number)).map(([start, end]) => ({ start, end }));
  const isCut = !text && question.length > LONGEST_UNSIGNED;
  const linked = { type: "data-link", data: { time, sections: Object.fromEntries(found.map(({ id, state }) => [id, state])) } };
  await host._show(isCut ? `${question.slice(0, LONGEST_UNSIGNED)}…` : question, [
    linked,
    ...found.filter(({ data }) => data).map(({ id, data }) => ({ type: "data-section", id, data })),
    ...(text ? [{ type: "text-delta", delta: text }, { type: "data-support", data: { marks } }] : []),
    { type: "data-status", data: { state: text ? "answered" : "linked", sections: found.length } },
    { type: "finish", messageMetadata: text && { turn, link } },
  ]);
  host._say(describe(host, linked.data));
}
/** Return the text of an answer if the endpoint wrote it. */
async function verify(host, question, packed, link) {
  if (!packed || !link.signature || host.settings.onlyFinds) return;
  const text = await unpack(packed);
  const response = await host._post("v1/verify", { question, answer: text, ...link }, AbortSignal.timeout(PATIENCE));
  const { valid, time, turn } = await response.json();
  return valid === true ? { text, time, turn } : undefined;
}
/** Return what a section of a link is now. */
async function find(host, linked) {
  const id = linked.slice(0, 8);
  const found = { id };
  try {
    const { library, section } = await lookUp(host, id);
    if (!section) return { ...found, state: "removed" };
    const { title, path, opening: snippet } = section;
    found.data = { title, path, snippet, url: library.address(section), state: "cited" };
    found.state = (await library.digest(section)).startsWith(linked.slice(8)) ? "same" : "changed";
  } catch {} // it cannot be read, or compared
  return found;
}
/** Return a section by its id, or by a former one, which only the manifest has. */
async function lookUp(host, id) {
  const library = (libraries[host.settings.page.manifest] ??= new Library(host));
  await library.open();
  if (library.isLarge) throw new Error("not in the index");
  const get = (wanted) => library.finder.rows.find((row) => row.id === wanted);
  const section = get(id);
  if (section) return { library, section };
  library.manifest ??= host.fetch(host.settings.page.manifest).then((response) => response.json());
  const all = (await library.manifest).pages.flatMap(({ sections }) => sections);
  return { library, section: get(all.find(({ aliases }) => aliases?.includes(id))?.id) };
}
const libraries = {};

/** Return when the answer of a link was written, and what has changed since. */
function describe({ settings }, { time, sections }) {
  const words = { ...ENGLISH, ...settings.words };
  const date = new Date(time * 1000);
  const since = time ? fill(words.answeredOn, { date: date.toLocaleDateString(settings.language, { dateStyle: "long" }) }) : words.linked;
  const states = Object.values(sections);
  const n = states.filter((state) => state !== "same").length;
  if (!states[0] || states.includes(undefined)) return since;
  return `${since} ${n ? fill(words.changed, { n, all: states.length }) : words.unchanged}`;
}
/** Add that, and the current passages of the sections, to a turn. */
export async function draw({ host, linked, heading, article, question, cited }) {
  const words = { ...ENGLISH, ...host.settings.words };
  adopt(host.shadowRoot, STYLE);
  const note = el("p", { class: "small since" }, describe(host, linked));
  heading.after(note);
  let list = article.querySelector("[part=sources]");
  if (!list) note.after((list = el("ol", { class: "rows", role: "list" })));
  for (const [id, state] of Object.entries(linked.sections)) {
    const row = list.querySelector(`[data-section="${id}"]`);
    const flag = el("span", { class: "state small" }, state === "removed" ? words.wasRemoved : words.wasChanged);
    if (state === "changed") row.querySelector("b").append(" ", flag);
    if (!row) list.append(el("li", { class: "source" }, el("span", { class: "number" }, `${cited.indexOf(id) + 1}`), flag));
    else showPassage(host, row, id, question).catch(() => {}); // its opening remains
  }
}
async function showPassage(host, row, id, question) {
  const { library, section } = await lookUp(host, id);
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
