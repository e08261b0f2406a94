// Texts and their sizes, as text/markdown.py and text/tokenizer.py of the Python package compute them.

const SPACE = /[\s\x1c-\x1f\x85]+/;
const DIRECTION = /[\u202a-\u202e\u2066-\u2069]/g;
const CONTROL = // but for flags, which tag characters spell
  /(\u{1f3f4}[\u{e0061}-\u{e007a}\u{e0030}-\u{e0039}]{3,6}\u{e007f})|[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu;
const UNSAFE = /[\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|[\ud800-\udfff]/gu;

// Python counts an emoji as one character, JavaScript as two. So texts are read with each as one private character.
const symbols = [];
const numbers = new Map();
/** Return a text with private characters instead of those that have two code units. */
export const pack = (text) =>
  text.replace(/[\ue000-\uf8ff]|[\u{10000}-\u{10ffff}]/gu, (symbol) => {
    if (!numbers.has(symbol) && symbols.length < 6400) numbers.set(symbol, symbols.push(symbol) - 1);
    return numbers.has(symbol) ? String.fromCharCode(0xe000 + numbers.get(symbol)) : "?";
  });
/** Return a text as it was before `pack`, without the characters that change or hide others, or that nobody sees. */
export const unpack = (text) =>
  text.replace(/[\ue000-\uf8ff]/g, (one) => symbols[one.charCodeAt(0) - 0xe000] ?? one).replace(/[\ud800-\udfff]/gu, "?").replace(CONTROL, "$1");

export const split = (text) => text.split(SPACE).filter(Boolean);
export const singleLine = (text) => split(split(text).join(" ").replace(UNSAFE, "")).join(" ");
export const splitLines = (text) => text.split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/);

/** Return lists of items by their keys, in order. */
export function groupBy(items, key) {
  const groups = new Map();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return groups;
}

/** Return text in at most `limit` characters, cut between words. */
export function truncate(text, limit) {
  if (text.length <= limit) return text;
  const cut = text.slice(0, limit).lastIndexOf(" ");
  const kept = text.slice(0, cut > limit >> 1 ? cut : limit - 1);
  return kept.replace(/[ ,;:.–—-]+$/, "").replace(DIRECTION, "") + "…";
}

/** Estimate the number of tokens of a text. */
export function tokens(text) {
  const count = (pattern) => text.match(pattern)?.length ?? 0;
  const rules = (text.match(/--+|==+/g) ?? []).reduce((total, { length }) => total + length - 1, 0);
  return Math.max(Math.ceil(text.length / 4), count(/\w+/g) + count(/[^\w\s\x1c-\x1f\x85]/g) - rules);
}

const END =
  /[.!?…؟۔।॥።։။។。！？｡](?:(?:(?<=[.!?…])[.!?…]*["'”’»)\]]*|(?<=[؟۔।॥።։။។])[؟۔।॥።։။។]*)(?=\s|$)|(?<=[。！？｡])[。！？｡]*[」』）”]*)/g;
const ABBREVIATION =
  /(?:^|(?<=[\s([/]))(?:e\.g|i\.e|eg|ie|vs|cf|viz|approx|resp|incl|excl|esp|al|figs?|eqs?|sec|vol|pp|eds?|dr|mrs?|ms|prof|st|mt|z\.b|d\.h|u\.a|i\.d\.r|o\.ä|bzw|ggf|evtl|vgl|ca|p\.ex|p\.ej|\p{L})$/iu;
const CLAUSES = [
  [/[;:,](?=\s)|[；：，、]|\s[–—-](?=\s)|\s(?=\(|(?:which|that|because|although|while|where|so)\s)/g, 0.5],
  [/\s(?=(?:and|or|but|if|when|unless|until|by|for|from|with|without|using|to|in|as|such)\s)/g, 0.6],
];
const DANGLING =
  /(?: (?:an?|the|except|than|not|also|of|to|in|on|at|by|for|from|with|and|or|is|are|be|its|your|this|that))+…$/;
const isOpen = (text) => text.split("(").length > text.split(")").length;

function endsSentence(text, start, end) {
  const next = text.slice(end, end + 2).trimStart();
  if (!next) return true;
  if (/^\p{Ll}/u.test(next) || isOpen(text.slice(0, end))) return false;
  if (text.slice(start, end) !== ".") return true;
  const before = text.slice(Math.max(0, start - 8), start);
  if (/^\d/.test(next) && /(?<![\p{L}\p{N}_])(?:no|nr|núm|fig|eq)$/iu.test(before)) return false;
  return !ABBREVIATION.test(before) || before.endsWith(" I");
}

/** Return a line in at most `limit` characters: its first sentences, or else its first clauses. */
export function shorten(text, limit) {
  if (text.length <= limit) return text;
  let last = 0;
  const first = text.slice(0, limit + 2);
  for (const { index, 0: found } of first.matchAll(END)) {
    const end = index + found.length;
    if (end <= limit && endsSentence(first, index, end)) last = end;
  }
  if (last >= limit * 0.4) return text.slice(0, last);
  for (const [pattern, share] of CLAUSES) {
    let cut = [...text.slice(0, limit - 1).matchAll(pattern)].at(-1)?.index ?? 0;
    if (isOpen(text.slice(0, cut))) cut = text.lastIndexOf("(", cut - 1);
    if (cut >= limit * share) return (text.slice(0, cut).replace(/[ ,;:.–—\-，、；：(]+$/, "") + "…").replace(DANGLING, "…");
  }
  return truncate(text, limit).replace(DANGLING, "…");
}

const MARKUP =
  /!?\[([^\]\n]*)\]\([^)\s]*(?:\s+"[^"\n]*")?\)|^[ \t]*~{3,}.*$|^[ \t]*(?:#{1,6}|>|[-*+])[ \t]+|^[ \t]*\|?[-:| ]{3,}$|\[\^[^\]]*\]:?|\[![\p{L}\p{N}_]+\]|^\|\s|(?<=\s)\|(?:\s|$)|<\/?(?:a|b|br|code|dd|details|div|dl|dt|em|h[1-6]|hr|i|img|kbd|li|ol|p|pre|s|span|strong|su[bp]|summary|t(?:able|body|d|h|head|r)|ul)(?![\p{L}\p{N}_])[^>\n]{0,200}>/gmu;
const SNIPPET = 200, MOST_LEAD = 60;

/** Return the part of a section's text with the most terms, without markup; `match` returns the terms of a text. */
export function snippet(markdown, match) {
  const body = markdown.slice(0, 200_000).replace(/^\s*#{1,6}[ \t][^\n]*/, "").replace(/^[ \t>]*`{3,}.*$|`+|\*\*/gm, "");
  const text = split(body.replace(MARKUP, (_, link) => link || " ")).join(" ");
  if (text.length <= SNIPPET) return text;
  const matches = [...text.matchAll(/\S{1,40}/g)].map(({ index, 0: chunk }) => [index, index + chunk.length, match(chunk)]).filter(([, , found]) => found.length);
  let [most, best] = [0, 0];
  for (const [at, [start]] of matches.entries()) {
    const distinct = new Set();
    let score = 0;
    for (let next = at; next < matches.length && matches[next][1] - start <= SNIPPET - MOST_LEAD; next++) {
      for (const term of matches[next][2]) distinct.add(term);
      score = distinct.size + (next - at + 1) / 100;
    }
    if (score > most) [most, best] = [score, start];
  }
  let start = 0;
  if (best > MOST_LEAD) {
    const lead = text.slice(best - MOST_LEAD, best);
    const sentence = Math.max(lead.lastIndexOf(". "), lead.lastIndexOf(": "));
    start = best - MOST_LEAD + (sentence >= 0 ? sentence + 2 : lead.includes(" ") ? lead.indexOf(" ") + 1 : MOST_LEAD);
  }
  let part = text.slice(start, start + SNIPPET - 2);
  if (start + part.length < text.length) {
    const space = part.lastIndexOf(" ");
    part = (space > SNIPPET / 2 ? part.slice(0, space) : part).replace(/[ ,;:]+$/, "") + "…";
  }
  return (start ? "…" : "") + part;
}
