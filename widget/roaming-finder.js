// Search of sections in the browser: tokenizer, scope and ranking, without any element.

// --------------------------------------------------------------------------------------------------------------- Words
// The tokenizer of the Python package, so that both searches find the same sections. English words are stemmed; words of
// other languages are compared by their prefix.

const SPACELESS =
  "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff" +
  "\u{20000}-\u{3ffff}\uac00-\ud7a3\u0e01-\u0e3a\u0e40-\u0e5b\u0e81-\u0edf\u1000-\u109f\u1780-\u17d3";
const MARKS =
  "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed";
const JOINING = MARKS + "\u0900-\u0963\u0966-\u0dff\u0f18-\u0fbc\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff";
const WORD = `(?:(?![${SPACELESS}])[\\p{L}\\p{N}])(?:(?![${SPACELESS}])[\\p{L}\\p{N}]|[${JOINING}])*`;
const RUN = new RegExp(
  `[${SPACELESS}]+|(?:(?<![\\p{L}\\p{N}_.$@\\-])(?:--?|[.$@])(?=[A-Za-z]))?${WORD}` +
    `(?:(?:[\\-._\\/:@\\\\'’]{1,3}|(?<=\\p{Nd}),(?=\\p{Nd}{3}(?!\\p{Nd})))${WORD})*(?:\\+\\+\\d*|(?<!\\p{L}{2})#(?![\\p{L}\\p{N}_]))?`,
  "gu",
);
const PIECE = new RegExp(
  "([^A-Za-z0-9]*)(" +
    [
      "(?<![A-Za-z0-9])[vV]?\\d+(?:\\.\\d+)+|\\d+(?:\\.\\d+)+",
      "(?<![A-Za-z0-9])(?=[a-fA-F]*\\d)(?=\\d*[a-fA-F])[0-9a-fA-F]{7,}(?![A-Za-z0-9])|0[xX][0-9a-fA-F]+",
      "(?<![A-Za-z0-9])[A-Za-z]\\d[A-Za-z0-9]*|[A-Z]{2,}s(?![a-z])|[A-Z]{2,}(?=v\\d)|(?<=[A-Z])v\\d+",
      "[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\\d+)",
    ].join("|"),
  "g",
);
const SPACELESS_RUN = new RegExp(`^[${SPACELESS}]`, "u");
const ALL_MARKS = new RegExp(`[${MARKS}]`, "g");
const ACCENTED = /^[A-Za-z\u00c0-\u024f\u0370-\u03ff\u1e00-\u1fff\u0415\u0435]/;
const LETTERS = { ß: "ss", ς: "σ", ø: "o", ł: "l", đ: "d", ħ: "h", ı: "i", ŧ: "t", æ: "ae", œ: "oe", þ: "th", ð: "d" };
const NOT_LATIN = "ar be bg bn el fa he hi hy ja ka km ko lo mk ml mr my ne ru ta te th uk ur yi zh".split(" ");
const STOP =
  "a about am an and any are as at be been being but by can could did do does doing done for from had has have having he her " +
  "here him his how i if in into is it its may me might mine must my of on or our ours please shall she should so some such " +
  "than that the their them then there these they this those to us want was we were what when where which who whom whose why " +
  "will with would you your yours";

const ascii = (text) => /^[\0-\x7f]*$/.test(text);

/** Return a text without case, accents and compatibility forms. */
function fold(text) {
  if (ascii(text)) return text.toLowerCase();
  const folded = Array.from(text.normalize("NFKC"), (character) => {
    const bare = character.normalize("NFKD");
    const kept = ACCENTED.test(bare) ? bare : character;
    return kept.replace(ALL_MARKS, "").toLowerCase().replace(/[ßςøłđħıŧæœþð]/g, (each) => LETTERS[each]);
  });
  return folded.join("").normalize("NFKC");
}

const IRREGULAR = {
  __proto__: null, // otherwise "constructor" would be inherited
  skis: "ski", skies: "sky", idly: "idl", gently: "gentl", ugly: "ugli", early: "earli", only: "onli", singly: "singl",
  ...Object.fromEntries("andes atlas bias cosmos howe news sky".split(" ").map((word) => [word, word])),
};
const endings = (text) => {
  const map = Object.fromEntries(text.split(" ").flatMap((group) => group.split(">")[0].split("|").map((end) => [end, group.split(">")[1]])));
  return [new RegExp(`(?:${Object.keys(map).join("|")})$`), map];
};
const SECOND = endings(
  "tional>tion enci>ence anci>ance abli>able entli>ent izer|ization>ize ational|ation|ator>ate alism|aliti|alli>al " +
    "fulness|fulli>ful ousli|ousness>ous iveness|iviti>ive biliti|bli>ble ogist>og ogi>og lessli>less li>",
);
const THIRD = endings("tional>tion ational>ate alize>al icate|iciti|ical>ic ful|ness|ative>");
const FOURTH = endings("al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|ism|ate|iti|ous|ive|ize|ion>");

/** Return the stem of an English word by the Snowball algorithm. */
function english(word) {
  if (IRREGULAR[word]) return IRREGULAR[word];
  if (word.length < 3) return word;
  word = word.replace(/^y/, "Y").replace(/([aeiouy])y/g, "$1Y");
  const after = (from) => {
    const found = /[aeiouy][^aeiouy]/.exec(word.slice(from));
    return found ? from + found.index + 2 : word.length;
  };
  const first = /^(?:arsen|commun|emerg|gener|inter|later|organ|past|univers)/.exec(word)?.[0].length ?? after(0);
  const second = after(first);
  const short = (stem) => /[^aeiouy][aeiouy][^aeiouywxY]$|^[aeiouy][^aeiouy]$|past$/.test(stem);
  const step = ([pattern, map], change) => {
    const found = pattern.exec(word);
    if (found && found.index >= first) word = change(word.slice(0, found.index), found[0], map[found[0]]) ?? word;
  };

  if (/sses$/.test(word)) word = word.slice(0, -2);
  else if (/ie[ds]$/.test(word)) word = word.slice(0, word.length > 4 ? -2 : -1);
  else if (/[aeiouy].+s$/.test(word) && !/[us]s$/.test(word)) word = word.slice(0, -1);

  const found = /(eed|ed|ing)(?:ly)?$/.exec(word);
  if (found) {
    const stem = word.slice(0, found.index);
    if (found[1] === "eed") {
      if (found.index >= first && !/^(?:succ|proc|exc)$/.test(stem)) word = stem + "ee";
    } else if (found[0] === "ing" && /^[^aeiouy]y$/.test(stem)) word = stem[0] + "ie";
    else if (!(found[0] === "ing" && /^(?:even|cann|inn|earr|herr|out)$/.test(stem)) && /[aeiouy]/.test(stem)) {
      if (/(?:at|bl|iz)$/.test(stem)) word = stem + "e";
      else if (/(bb|dd|ff|gg|mm|nn|pp|rr|tt)$/.test(stem)) word = /^[aeo]..$/.test(stem) ? stem : stem.slice(0, -1);
      else word = stem.length === first && short(stem) ? stem + "e" : stem;
    }
  }
  word = word.replace(/(.[^aeiouy])[yY]$/, "$1i");
  step(SECOND, (stem, end, put) => {
    if (end === "ogi" && !/l$/.test(stem)) return word;
    return end === "li" && !/[cdeghkmnrt]$/.test(stem) ? word : stem + put;
  });
  step(THIRD, (stem, end, put) => (end === "ative" && stem.length < second ? word : stem + put));
  step(FOURTH, (stem, end) => (stem.length < second || (end === "ion" && !/[st]$/.test(stem)) ? word : stem));
  const stem = word.slice(0, -1);
  if (word.endsWith("e") ? stem.length >= second || (stem.length >= first && !short(stem)) : /ll$/.test(word) && stem.length >= second)
    word = stem;
  return word.toLowerCase();
}

function stem(word, code) {
  const folded = fold(word).slice(0, 100);
  const known = ascii(folded) && (code === "en" || NOT_LATIN.includes(code));
  return known && folded.length > 2 && folded.length <= 40 && !/[\d.+#$@_-]/.test(folded) ? english(folded) : folded;
}

/** Parse one word: its terms for the index, and the runs of terms that match it. */
function read(run, code) {
  let word = run.replace(/’/g, "'");
  word = word.replace(code === "fr" ? /^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)'(?=.)/i : /'(?:s|re|ve|ll|d|m)$/i, "");
  const [, sign = "", body, end = ""] = /^(--?|[.$@])?([^]*?)(\+\+\d*|#)?$/.exec(word.replace(/'/g, ""));
  const shape = body.replace(/[^\0-\x7f]/gu, (one) => (/\p{Nd}/u.test(one) ? "0" : /\p{Lu}/u.test(one) ? "Z" : "z").repeat(one.length));
  const pieces = [];
  for (const found of shape.matchAll(PIECE)) {
    const at = found.index + found[1].length;
    const piece = body.slice(at, at + found[2].length);
    if (fold(piece)) pieces.push([found[1], piece.includes(".") ? piece.replace(/^v/i, "") : piece]);
  }
  if (!pieces.length) return { text: run, whole: "", parts: [], terms: [], runs: [] };
  if (end && /^\p{L}$/u.test(pieces.at(-1)[1])) {
    pieces.at(-1)[1] += end.replace(/\d+$/, "");
    if (/\d/.test(end)) pieces.push(["", end.replace(/^\++/, "")]);
  }
  const single = pieces.length === 1;
  const simple = single && !sign && !end;
  let terms = pieces.flatMap(([, piece]) => {
    if (!piece.includes(".")) return [stem(piece, code)];
    const numbers = fold(piece).split(".");
    const upto = numbers.length > 3 ? [2, 3, numbers.length] : numbers.length > 2 ? [2, 3] : [2];
    return upto.map((count) => numbers.slice(0, count).join("."));
  });
  const parts = single ? terms.slice(-1) : terms;
  let [whole, start, count] = ["", 0, 0];
  const inner = [];
  for (const [gap, piece] of pieces) {
    const folded = fold(piece);
    if (gap && whole) {
      if (count > 1) inner.push(whole.slice(start));
      if (gap !== "," && /\d$/.test(whole) && /^\d/.test(folded)) whole += gap === "." ? "." : "_";
      [start, count] = [whole.length, 0];
    }
    whole += folded;
    count++;
  }
  if (count > 1 && start) inner.push(whole.slice(start));
  whole = (single ? sign : "") + whole.slice(0, 100) + (/\p{L}$/u.test(whole) ? end : "");
  const stemmed = stem(whole, code);
  if (!simple || !terms.includes(stemmed)) terms = [...terms, ...inner, ...(terms.at(-1) === whole ? [] : [whole])];
  const runs = simple ? [parts, [whole], [stemmed]] : [[whole], [stemmed], parts];
  return { text: run, whole, parts, terms, runs: distinct(runs), stop: simple && isStop(whole, code) };
}
const distinct = (runs) => [...new Map(runs.map((run) => [run.join(" "), run])).values()];
const stopWords = { __proto__: null, en: STOP.split(" ") };
/** Add the stop words of a language. */
export const addStopWords = (code, text) => (stopWords[code] ??= text.split(" "));
function isStop(word, code) {
  if (code === "ja" && /^[\u3041-\u309f]+$/.test(word)) return !/^(?:ない|なく|なし|せん|ずに)$/.test(word);
  return stopWords[ascii(word) && NOT_LATIN.includes(code) ? "en" : code]?.includes(word) ?? false;
}

const memory = new Map(); // words that were parsed before
function words(text, language = "en") {
  const code = language.toLowerCase().split(/[-_]/)[0];
  if (!ascii(text)) text = text.replace(/[\u00ad\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]/g, "").normalize("NFKC").replace(/ʼ/g, "'");
  text = text.replace(/(?<=\p{L})-\n[ \t]*(?=[a-z])/gu, "-");
  return (text.match(RUN) ?? []).flatMap((run) => {
    const key = code + run;
    if (!memory.has(key)) memory.set(key, SPACELESS_RUN.test(run) ? pairs(Array.from(run), code) : [read(run, code)]);
    return memory.get(key);
  });
}
const pairs = (characters, code) =>
  Array.from({ length: Math.max(1, characters.length - 1) }, (_, at) => {
    const pair = characters.slice(at, at + 2).join("");
    const prefix = characters.length === 1;
    const last = at + 2 >= characters.length && !prefix;
    return { text: pair, whole: pair, parts: [pair], terms: last ? [pair, characters.at(-1)] : [pair], runs: [[pair]], stop: isStop(pair, code), prefix };
  });

/** Return the terms of a text in order. */
export const terms = (text, language) => words(text, language).flatMap((word) => word.terms);
/** Return the distinct words of a query. */
export const query = (text, language) => {
  const seen = new Set();
  const first = ({ runs }) => !seen.has(`${runs[0]}`) && seen.add(`${runs[0]}`);
  return words(text, language).filter(first);
};

// --------------------------------------------------------------------------------------------------------------- Scope

/** Return whether a page is in a scope, as `Scope` of the Python package decides. */
export function inScope({ path, source, tags = [] }, { tags: wanted = [], paths = [] }) {
  const trim = (text) => text.replace(/^\/+|\/+$/g, "");
  const has = (tag) => tags.some((own) => fold(own) === fold(tag));
  const stem = path.replace(/(\/|\.html?)$/, "");
  const names = source ? [source, path, stem] : [path, stem, `${stem || "index"}.html`, `${stem || "index"}.md`];
  const indexes = source || !path.endsWith("/") ? [] : [`${path}index.html`, `${path}index.md`];
  const part = (text) =>
    text.replace(/\\(.)|\[([!^]?)([^\]]+)\]|[.+^$(){}|[\]\\*?]/g, (all, escaped, not, chars) => {
      if (chars) return `[${not && "^"}${chars.replace(/[\\^]/g, "\\$&")}]`;
      return all === "*" ? "[^/]*" : all === "?" ? "[^/]" : `\\${escaped ?? all}`;
    });
  const matches = (glob) => {
    const start = /\/./.test(glob) || glob[0] === "/" ? "" : "(?:[^/]*/)*";
    const parts = trim(glob).split("/").map((text) => (text === "**" ? "(?:[^/]*/)*" : `${part(text)}/`));
    const pattern = new RegExp(`^${start}${parts.join("")}`);
    return [...names, ...(/\/index\.\w+$/.test(glob) ? indexes : [])].some((name) => pattern.test(`${trim(name)}/`));
  };
  const decide = (visible, glob) => (matches(glob.replace(/^!/, "")) ? glob[0] !== "!" : visible);
  return (!wanted.length || wanted.some(has)) && paths.reduce(decide, !paths.length || paths[0][0] === "!");
}

// -------------------------------------------------------------------------------------------------------------- Finder

/** The maximum number of sections that a browser searches. */
export const MOST = 10_000;
const WEIGHTS = [24, 4, 3, 8]; // title, titles above, opening, asks; integers, so that their sums do not depend on the order
const ASKS = 3; // readers' questions and what the section is for
const WHOLE = 5; // share of a term that matches
const PART = 2; // share of an inflection, or of the beginning of a word
const TITLE = 0.4; // what a title gains if nearly all of its words are in the query
const FULL_TITLE = 0.6; // what it gains if all are: a page comes before its sections
const EXACT = 60; // number of results whose order is exact
const FEW = 8; // sections with an identifier, below which those with its parts are found, too
const SHORTEST_TYPO = 4; // characters
const VALUES = ["id", "level", "title", "start", "anchor", "opening", "digest", "tokens"]; // of a section in the index

class Section {
  constructor(values, page, parent) {
    Object.assign(this, { opening: "", asks: [], about: "" }, values, { page, parent });
  }
  /** The titles from the nav down to the section. */
  get path() {
    return [...(this.parent?.path ?? this.page.above), this.title];
  }
}

// The source is the index that a build wrote (publish/elements/finder_index.py), or a manifest, whose words are read here first.

/** Ranks sections by words. */
export class Finder {
  constructor(source, visible = () => true) {
    Object.assign(this, { source, language: source.site.language || "en", sections: [], places: new Map(), terms: new Map() });
    const above = new Map();
    const walk = (items, titles) => {
      for (const item of items ?? []) {
        if (item.page !== undefined) above.set(item.page, titles);
        walk(item.children, [...titles, item.title]);
      }
    };
    walk(source.nav, []);
    const kept = []; // position of each section of the source, or -1
    for (const entry of source.pages ?? []) {
      const page = { ...entry, above: entry.above ?? above.get(entry.path) ?? [] };
      const shown = visible(page);
      const open = [];
      page.sections = entry.sections.map((values) => {
        if (Array.isArray(values)) values = Object.fromEntries(VALUES.map((name, at) => [name, values[at]]));
        while (open.length > 1 && open.at(-1).level >= values.level) open.pop();
        const section = new Section(values, page, open.at(-1));
        open.push(section);
        kept.push(shown ? this.sections.push(section) - 1 : -1);
        return section;
      });
      page.sections.forEach((one, at) => (one.end ??= page.sections[at + 1]?.start ?? page.end));
    }
    this.indexed = source.terms ? this.sections.length : 0;
    for (const term in source.terms) this.places.set(term, { steps: source.terms[term], kept });
  }
  /** The number of sections of the site; more than `MOST` are not searched. */
  get count() {
    return Math.max(this.source.count ?? 0, this.sections.length);
  }
  /** Index sections for some milliseconds; return whether all are indexed. */
  index(milliseconds = 8) {
    const until = performance.now() + milliseconds;
    for (; this.indexed < this.sections.length && performance.now() < until; this.indexed++) {
      for (let field = 0; field < WEIGHTS.length; field++) {
        const place = this.indexed * 4 + field;
        for (const term of new Set(this.read(place))) {
          if (!this.places.has(term)) this.places.set(term, []);
          this.places.get(term).push(place);
        }
      }
    }
    return this.indexed === this.sections.length;
  }
  /** Return the terms at a place: of a field of a section. */
  read(place) {
    const section = this.sections[place >> 2];
    const key = (place & 3) === 1 ? section.parent ?? section.page : place; // siblings have the same titles above them
    if (!this.terms.has(key)) {
      const { title, parent, opening, asks, about } = section;
      const texts = [title, (parent?.path ?? section.page.above).join("\n"), opening, [...asks, about].join("\n")];
      this.terms.set(key, terms(texts[place & 3], this.language));
    }
    return this.terms.get(key);
  }
  /** Return the places of a term. */
  at(term) {
    const places = this.places.get(term) ?? [];
    if (!places.steps) return places;
    const found = [];
    let place = 0;
    for (const step of places.steps) {
      place += step;
      const section = places.kept[place >> 2];
      if (section >= 0) found.push(section * 4 + (place & 3));
    }
    this.places.set(term, found);
    return found;
  }
  /** Return the words of a query that count, with similar terms of unknown ones, and whether the last may be incomplete. */
  asked(text) {
    let wanted = query(text.slice(0, 1000), this.language);
    if (!wanted.every((word) => word.stop)) wanted = wanted.filter((word) => !word.stop);
    const growing = /[^\s]$/.test(text);
    wanted = wanted.map((word, at) => {
      const places = this.match(word, growing && at === wanted.length - 1);
      if (places.size) return { ...word, places };
      const similar = this.similar(word);
      return { ...word, similar, places: this.match({ ...word, similar }) };
    });
    return { wanted, growing };
  }
  /** Return the matching sections, best first. The last word may be incomplete. */
  find(text) {
    const { wanted } = this.asked(text);
    const scores = new Float64Array(this.sections.length);
    const counts = new Uint16Array(this.sections.length);
    for (const { places } of wanted) {
      const held = new Map(); // score by section
      for (const [place, share] of places)
        held.set(place >> 2, (held.get(place >> 2) ?? 0) + WEIGHTS[place & 3] * share);
      const rarity = Math.log(1 + this.sections.length / (1 + held.size));
      for (const [section, score] of held) {
        scores[section] += score * rarity;
        counts[section]++;
      }
    }
    const found = [];
    scores.forEach((score, section) => {
      if (counts[section]) found.push([section, (score * counts[section]) / wanted.length]);
    });
    const sort = () => found.sort((one, other) => other[1] - one[1] || one[0] - other[0]);
    sort();
    // Reading titles takes time, so only those are read that can reach the first results.
    const least = (found[EXACT]?.[1] ?? 0) / (1 + FULL_TITLE);
    const known = new Set(wanted.flatMap(({ terms, similar }) => similar ?? terms));
    for (const one of found) {
      if (one[1] < least) break;
      const title = this.read(one[0] * 4);
      const share = title.filter((term) => known.has(term)).length / (title.length || 1);
      one[1] *= 1 + (share === 1 ? FULL_TITLE : TITLE * share);
    }
    return sort().map(([section]) => this.sections[section]);
  }
  /** Return the share of each place that matches a word. */
  match(word, growing) {
    const found = new Map();
    for (const run of word.runs) for (const place of this.phrase(run)) found.set(place, WHOLE);
    if (word.prefix || growing || this.language.slice(0, 2) !== "en")
      for (const term of this.places.keys())
        if (alike(word.whole, term, growing || word.prefix)) for (const place of this.at(term)) if (!found.has(place)) found.set(place, PART);
    for (const term of word.similar ?? []) for (const place of this.at(term)) found.set(place, PART);
    if (word.parts.length > 1 && new Set([...found.keys()].map((place) => place >> 2)).size < FEW) this.matchParts(word, found);
    return found;
  }
  /** Add the places in sections that have most parts of an identifier, but not next to each other. */
  matchParts({ parts }, found) {
    const held = new Map(); // parts by place, of each section
    for (const part of new Set(parts))
      for (const place of this.at(part)) {
        const section = held.get(place >> 2) ?? { parts: new Set(), places: new Map() };
        section.parts.add(part);
        section.places.set(place, (section.places.get(place) ?? 0) + 1);
        held.set(place >> 2, section);
      }
    for (const section of held.values())
      if (section.parts.size > parts.length / 2)
        for (const [place, count] of section.places) if (!found.has(place)) found.set(place, (PART * count) / parts.length);
  }
  /** Return the terms of the site that are most similar to a word that it does not have. */
  similar({ parts, whole }) {
    const [term] = parts;
    if (parts.length > 1 || whole.length < SHORTEST_TYPO || !/^\p{L}+$/u.test(term)) return [];
    let least = term.length > 7 ? 2 : 1;
    let found = [];
    for (const other of this.places.keys()) {
      const edits = other[0] === term[0] ? distance(term, other, least) : Infinity;
      if (edits > least || !this.at(other).length) continue; // a scope may hide all of its places
      if (edits < least) found = [];
      least = edits;
      found.push(other);
    }
    return found;
  }
  /** Return the places where terms follow each other. */
  phrase(run) {
    const [first, ...others] = run.map((term) => this.at(term));
    if (!others.length) return first;
    const rest = others.map((places) => new Set(places));
    return first.filter((place) => {
      if (!rest.every((places) => places.has(place))) return false;
      if ((place & 3) === ASKS) return true; // the index has no text to compare
      const field = this.read(place);
      return field.some((_, at) => run.every((term, next) => field[at + next] === term));
    });
  }
}
/** Return whether a term may be an inflection of a word, or begins with it. */
function alike(word, term, growing) {
  if (term.startsWith(word)) return growing || (word.length > 3 && term.length - word.length < 4);
  if (growing || term.slice(0, 4) !== word.slice(0, 4)) return false;
  let same = 4;
  while (same < word.length && word[same] === term[same]) same++;
  return same > 3 && word.length - same < 5 && term.length - same < 4;
}

/** Return how many letters have to be inserted, deleted, replaced or swapped; more than `most` are not counted. */
function distance(one, other, most) {
  if (Math.abs(one.length - other.length) > most) return most + 1;
  let [before, last] = [[], Array.from({ length: other.length + 1 }, (_, at) => at)];
  for (let row = 1; row <= one.length; row++) {
    const now = [row];
    for (let at = 1; at <= other.length; at++) {
      const isSame = one[row - 1] === other[at - 1];
      now[at] = Math.min(last[at] + 1, now[at - 1] + 1, last[at - 1] + (isSame ? 0 : 1));
      const isSwapped = row > 1 && at > 1 && one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1];
      if (isSwapped) now[at] = Math.min(now[at], before[at - 2] + 1);
    }
    if (Math.min(...now) > most) return most + 1;
    [before, last] = [last, now];
  }
  return last[other.length];
}

/** Return the parts of a text that match a query, as pairs of start and end; `asked` is from `Finder.asked`. */
export function findMatches(text, { wanted, growing }, language) {
  const code = language.toLowerCase().split(/[-_]/)[0];
  const known = new Set(wanted.flatMap((word) => [...word.runs.flat(), ...(word.similar ?? [])]));
  const last = growing ? wanted.at(-1)?.whole : "";
  const fits = (term) => known.has(term) || (last && term.startsWith(last)) || (code !== "en" && wanted.some((word) => alike(word.whole, term)));
  const found = [];
  const add = (start, end) => (found.at(-1)?.[1] >= start ? (found.at(-1)[1] = end) : found.push([start, end]));
  for (const { 0: run, index } of text.matchAll(RUN)) {
    if (!SPACELESS_RUN.test(run)) {
      if (!read(run, code).terms.some(fits)) continue;
      const pieces = [...run.matchAll(PIECE)].filter((piece) => fits(stem(piece[2], code)));
      for (const piece of pieces) add(index + piece.index + piece[1].length, index + piece.index + piece[0].length);
      if (!pieces.length) add(index, index + run.length);
    } else
      for (let at = 0; at < run.length; at++) {
        const pair = run.slice(at, at + 2);
        if (known.has(pair) || (last && pair.startsWith(last))) add(index + at, index + at + Math.min(pair.length, last === pair[0] ? 1 : 2));
      }
  }
  return found;
}
