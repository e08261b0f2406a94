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
const ACCENTED = /^[A-Za-zÀ-ɏ\p{sc=Greek}Ее]/u; // the last two are Cyrillic
const LETTERS = { ß: "ss", ς: "σ", ø: "o", ł: "l", đ: "d", ħ: "h", ı: "i", ŧ: "t", æ: "ae", œ: "oe", þ: "th", ð: "d" };
const NOT_LATIN = "ar be bg bn el fa he hi hy ja ka km ko lo mk ml mr my ne ru ta te th uk ur yi zh".split(" ");
const ELISIONS = {
  __proto__: null, // otherwise "constructor" would be inherited
  fr: "[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu", it: "[clmnstvd]|un|[dns]?[aeou]ll|quell|quest|sant|dov|com", ca: "[dlmnst]",
};
const ascii = (text) => /^[\0-\x7f]*$/.test(text);

/** Return a text without case, accents and compatibility forms. */
export function fold(text) {
  if (ascii(text)) return text.toLowerCase();
  const folded = Array.from(text.normalize("NFKC"), (character) => {
    const bare = character.normalize("NFKD");
    const kept = ACCENTED.test(bare) ? bare : character;
    return kept.replace(ALL_MARKS, "").toLowerCase().replace(/[^\0-\x7f]/g, (each) => LETTERS[each] ?? each);
  });
  return folded.join("").normalize("NFKC");
}

const IRREGULAR = {
  __proto__: null,
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
  const clitic = ELISIONS[code] ? `(?<!\\w)(?:${ELISIONS[code]})'(?=.)` : "'(?:s|re|ve|ll|d|m)$";
  word = word.replace(new RegExp(clitic, "i"), "");
  const [, sign = "", body, end = ""] = /^(--?|[.$@])?([^]*?)(\+\+\d*|#)?$/.exec(word.replace(/'/g, ""));
  const shape = body.replace(/[^\0-\x7f]/gu, (one) => (/\p{Nd}/u.test(one) ? "0" : /\p{Lu}/u.test(one) ? "Z" : "z").repeat(one.length));
  const pieces = [];
  for (const found of shape.matchAll(PIECE)) {
    const at = found.index + found[1].length;
    const piece = body.slice(at, at + found[2].length);
    if (fold(piece)) pieces.push([found[1], piece.includes(".") ? piece.replace(/^v/i, "") : piece]);
  }
  if (!pieces.length) return { terms: [], runs: [] };
  if (end && /^\p{L}$/u.test(pieces.at(-1)[1])) {
    pieces.at(-1)[1] += end.replace(/\d+$/, "");
    if (/\d/.test(end)) pieces.push(["", end.replace(/^\++/, "")]);
  }
  const single = pieces.length === 1;
  const simple = single && !sign && !end;
  let terms = pieces.flatMap(([, piece]) => {
    if (!piece.includes(".")) return [stem(piece, code)];
    const numbers = fold(piece).split(".");
    const counts = [2, 3, numbers.length].filter((count, at) => at > 1 || count < numbers.length);
    return counts.map((count) => numbers.slice(0, count).join("."));
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
const distinct = (items, key = String) => {
  const keys = items.map(key);
  return items.filter((_, at) => keys.indexOf(keys[at]) === at);
};
/** The stop words by language. */
export const stopWords = { __proto__: null };
function isStop(word, code) {
  if (code === "ja" && /^[\u3041-\u309f]+$/.test(word)) return !/^(?:ない|なく|なし|せん|ずに)$/.test(word);
  return stopWords[ascii(word) && NOT_LATIN.includes(code) ? "en" : code]?.includes(word);
}

/** Return the words of a text in order. */
export function words(text, code) {
  if (!ascii(text)) text = text.replace(/[\u00ad\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]/g, "").normalize("NFKC").replace(/ʼ/g, "'");
  text = text.replace(/(?<=\p{L})-\n[ \t]*(?=[a-z])/gu, "-");
  return (text.match(RUN) ?? []).flatMap((run) => (SPACELESS_RUN.test(run) ? pairs(Array.from(run), code) : read(run, code)));
}
const pairs = (characters, code) =>
  Array.from({ length: Math.max(1, characters.length - 1) }, (_, at) => {
    const pair = characters.slice(at, at + 2).join("");
    const terms = at + 2 === characters.length ? [pair, characters[at + 1]] : [pair];
    return { text: pair, whole: pair, parts: [pair], terms, runs: [[pair]], stop: isStop(pair, code), prefix: !characters[1] };
  });

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
// The ranking of mkdocs_roaming/search/ranking.py over the index of publish/elements/finder_index.py: the same numbers in
// the same order, so that both find the same sections.

const SATURATION = 1.2, LENGTH_SHARE = 0.75, LEAST_RARITY = 1e-6; // of BM25
const LONGEST = 2000, MOST_WORDS = 48;
const LEAST_ROWS = 0.5, SENTENCE_WORDS = 4, MOST_NEAR = 200, LEAST_NEAR = 0.7; // of meaning
const SHORTEST_TYPO = 4, SHORTEST_PART = 5, NEXT_PLACE = 0.5;
const SHORTEST_BEGINNING = 3, MOST_CONTINUED = 60; // of an incomplete word: characters, and terms that begin with it
const JOINTS = ["", "s", "n", "en", "es"]; // between the parts of a compound

/** Ranks sections by words. `load` returns a shard of the index by its name. */
export class Finder {
  #entries = new Map(); // rows of each term that was loaded: frequency, its share of the page's, title, places
  #shards = new Map();
  rows = []; // all sections
  constructor(source, visible, load) {
    const { site, pages = [], search } = source;
    Object.assign(this, { source, count: source.count, search, load, language: (site.language || "en").toLowerCase().split(/[-_]/)[0] });
    this.pages = pages.map((entry, number) => {
      const page = { above: [], ...entry, number, shown: visible(entry) };
      const open = [];
      page.sections = entry.sections.map(([id, level, title, start, anchor, opening]) => {
        while (open.length > 1 && open.at(-1).level >= level) open.pop();
        const parent = open.at(-1);
        const path = [...(parent?.path ?? page.above), title]; // from the nav down
        const section = { id, level, title, start, anchor, opening, path, parent, page, row: this.rows.length };
        open.push(section);
        this.rows.push(section);
        return section;
      });
      return page;
    });
    this.sections = this.rows.filter(({ page }) => page.shown);
    if (!search) return; // the site is too large
    this.numbers = new Map(search.terms.map((term, at) => [term, at]));
    this.stems = new Map(Object.entries(search.stems ?? {}));
    this.norms = normalize(search.lengths);
    this.pageNorms = normalize(search.pageLengths);
    Object.assign(stopWords, search.stop);
  }
  /** Return the matching sections, best first. The last word may be incomplete, unless a space follows. */
  async find(text) {
    if (!this.search) return [];
    const { wanted, grown } = await this.asked(text);
    const more = grown ? this.#rank([...wanted.slice(0, -1), grown]) : [];
    return [...new Set([...this.#rank(wanted, this.#near(text, wanted)), ...more])];
  }
  /** Return the words of a query that count, and the last one as the beginning of others, if it may be incomplete. */
  async asked(text) {
    const { language } = this;
    if (text.length > LONGEST) text = `${text.slice(0, LONGEST / 2)}\n${text.slice(-LONGEST / 2)}`;
    let wanted = this.#content(text);
    const isKept = (_, at) => at < MOST_WORDS / 2 || at >= wanted.length - MOST_WORDS / 2;
    wanted = wanted.filter(isKept).map((word) => this.#related(word));
    const last = wanted.at(-1);
    let grown;
    if (last?.whole.length >= SHORTEST_BEGINNING && text.endsWith(last.text)) {
      const continued = this.search.terms.filter((term) => term.startsWith(last.whole)).slice(0, MOST_CONTINUED);
      const runs = distinct([...last.runs, ...continued.map((term) => [term])]);
      if (runs.length > last.runs.length) grown = { ...last, runs, related: {} };
    }
    await this.#read([...wanted, grown ?? []].flatMap(({ runs, related = {} }) => [runs, Object.values(related)].flat(2)));
    if (grown && !this.has(last)) [wanted[wanted.length - 1], grown] = [grown];
    return { wanted, grown, language };
  }

  /** Return whether a section contains a word that `asked` has returned. */
  has({ runs, related }) {
    return (related.begun ?? runs.filter((run) => this.#phrase(run).size))[0];
  }

  // Terms

  /** Return the distinct words of a text, without stop words if others remain. */
  #content(text) {
    const known = words(text, this.language).filter(({ runs }) => runs.length).map((word) => this.#indexed(word));
    const wanted = distinct(known, ({ runs }) => `${runs[0]}`);
    return wanted.every(({ stop }) => stop) ? wanted : wanted.filter(({ stop }) => !stop);
  }
  /** Return a word as the index has it: stemmed, because Python has the stemmers, and without stop words among its parts. */
  #indexed(word) {
    let { whole, parts, runs } = word;
    if (this.search.stems) {
      const start = whole.slice(0, whole.length - parts.at(-1).length);
      parts = parts.map((term) => this.#guess(term));
      const wholes = [whole, ...(this.stems.get(whole) ?? start + parts.at(-1)).split(" ")].map((term) => [term]);
      runs = distinct(runs[0] === word.parts ? [parts, ...wholes] : [...wholes, parts]);
    }
    runs = runs.map((run) => run.filter((term) => run.length === 1 || !isStop(term, this.language)));
    return { ...word, parts, runs: runs.filter(({ length }) => length) };
  }
  /** Return the stem of a word, or of the longest beginning of it that the site has. */
  #guess(word) {
    const guess = (one) => (this.numbers.has(one) ? one : this.stems.get(one));
    return (this.stems.get(word) ?? [word, ...beginnings(word)].map(guess).find(Boolean) ?? word).split(" ")[0];
  }
  /** Return a word with similar terms, and what is composed with it or begins with it. */
  #related(word) {
    const [part, other] = word.parts;
    if (word.prefix) return { ...word, related: { begun: this.search.terms.filter((term) => term.startsWith(word.whole)) } };
    const similar = !other && word.runs.flat().some((term) => this.numbers.has(term)) ? [] : this.#similar(word.parts.at(-1));
    if (other) return { ...word, related: { similar } };
    return { ...word, related: { similar, composed: this.search.compounds ? this.#compounds(part) : [] } };
  }
  /** Return terms of the site for one that it never uses: other spellings, and the term without a prefix or an ending. */
  #similar(term) {
    if (term.length < SHORTEST_TYPO || !isLetters(term)) return [];
    const found = this.search.terms.filter((one) => one[0] === term[0] && isSpelling(term, one) && !isStop(one, this.language));
    const ends = [2, 3].flatMap((at) => [term.slice(at), term.slice(0, -at)]).filter((end) => end.length >= SHORTEST_PART && this.numbers.has(end));
    const root = term.slice(0, -2); // of a word that Python would stem, in another inflection
    const isInflected = (one) => one.startsWith(root) && one.length <= term.length + 2;
    const inflected = this.search.stems && root.length >= SHORTEST_PART ? this.search.terms.filter(isInflected) : [];
    return distinct([...found, ...ends, ...inflected]);
  }
  /** Return the words of the site that are composed with a term, and the two words that it is composed of. */
  #compounds(term) {
    if (term.length < SHORTEST_PART || !isLetters(term)) return [];
    const found = this.search.terms.filter((other) => other !== term && (other.startsWith(term) || other.endsWith(term)));
    const stem = (end) => (this.numbers.has(term) ? end : this.#guess(end)); // which may be inflected
    for (let at = 4; at < term.length - 3; at++)
      for (const joint of JOINTS) {
        const halves = [term.slice(0, at).replace(new RegExp(`${joint}$`), ""), stem(term.slice(at))];
        if (halves.every((half) => this.numbers.has(half))) found.push(...halves);
      }
    return found;
  }
  /** Load the entries of terms. */
  async #read(terms) {
    const wanted = terms.filter((term) => this.numbers.has(term) && !this.#entries.has(term));
    await Promise.all(
      wanted.map(async (term) => {
        let at = this.numbers.get(term);
        const [name, count] = this.search.shards.find(([, count]) => (at -= count) < 0);
        const shard = this.#shards.get(name) ?? this.load(name);
        this.#shards.set(name, shard);
        shard.catch(() => this.#shards.delete(name)); // the next query tries again
        this.#entries.set(term, this.#decode((await shard)[at + count]));
      }),
    );
  }
  #decode(numbers) {
    const found = new Map();
    let row = 0;
    for (let at = 0; at < numbers.length; ) {
      row += numbers[at++];
      const [frequency, onPage, inTitle, count] = this.search.kinds[numbers[at++]];
      const places = count ? [numbers[at++]] : [];
      if (count > 1) places.push(places[0] + numbers[at++]);
      found.set(row, { frequency, onPage, inTitle, places });
    }
    return found;
  }
  #rowsOf(term) {
    return this.#entries.get(term) ?? new Map();
  }

  // Matches: the scores of rows, and of pages

  /** Return the entries of the rarest term of a phrase, in rows in which its terms are close to each other. */
  #phrase([first, ...others]) {
    const entries = this.#rowsOf(first);
    if (!others.length) return entries;
    const found = new Map();
    for (const [row, entry] of entries) {
      const all = [entry, ...others.map((term) => this.#rowsOf(term).get(row))];
      if (!all.every((one) => one && closeness(entry.places, one.places))) continue;
      const [rarest] = all.sort((one, other) => one.frequency - other.frequency || one.onPage - other.onPage);
      found.set(row, { ...rarest, places: entry.places });
    }
    return found;
  }
  /** Return the scores of any of several terms or phrases; `norm` is the maximum norm. */
  #match(found, norm = Infinity) {
    return merge(found.map((entries) => [(entries[norm] ??= this.#score([entries], norm)), 1]));
  }
  /** Return the scores of several terms as if they were one. */
  #score(found, norm) {
    const [rows, pages] = [new Map(), new Map()];
    for (const [row, { frequency, onPage }] of found.flatMap((entries) => [...entries]).sort((one, other) => one[0] - other[0])) {
      add(rows, row, frequency);
      if (onPage) add(pages, this.rows[row].page.number, onPage);
    }
    return { rows: bm25(rows, this.norms, norm), pages: bm25(pages, this.pageNorms) };
  }
  /** Return the matches of a word, of similar terms if it has none, and of its compounds. */
  #find(word) {
    const { weights, fillers } = this.search;
    const { similar, composed, begun } = word.related;
    const each = (terms = []) => terms.map((term) => this.#rowsOf(term));
    const share = fillers.includes(word.text.toLowerCase()) ? weights.filler : 1;
    const norm = isName(word) ? SATURATION : Infinity; // a name is as relevant in a long section as in a short one
    const exact = begun ? this.#score(each(begun)) : this.#match(word.runs.map((run) => this.#phrase(run)), norm);
    return merge([
      [exact, share],
      [this.#match(exact.rows.size ? [] : each(similar)), share * weights.fuzzy],
      [this.#match(each(composed)), share * weights.compound],
    ]);
  }

  // Ranking

  /** Return the visible sections that contain one of the words or are near in meaning, best first. */
  #rank(words, near) {
    const { weights, repeats } = this.search;
    const [rows, scores] = this.#scores(words);
    for (const row of rows) if (!this.rows[row].page.shown) rows.delete(row);
    if (near) this.#fuse(words, near, rows, scores);
    const highest = Math.max(...Array.from(rows, (row) => scores[row]));
    for (const row of this.#exactTitles(words)) scores[row] += highest;
    const [found, texts] = [new Map(), new Map(repeats)]; // of equal texts the best one is shown
    for (const row of [...rows].sort((one, other) => scores[other] - scores[one] || one - other)) {
      const text = texts.get(row) ?? row;
      if (!found.has(text)) found.set(text, this.rows[row]);
    }
    return [...found.values()];
  }
  /** Return the rows that contain one of the words, and the scores of all rows. */
  #scores(words) {
    const { weights, changes, late } = this.search;
    const found = words.map((word) => ({ ...word, ...(word.match ??= this.#find(word)) })).filter(({ rows }) => rows.size);
    const [scores, counts, pages] = [this.rows, this.rows, this.pages].map((all) => all.map(() => 0));
    const rows = new Set();
    let total = 0;
    for (const word of found) {
      const count = isName(word) ? weights.name : 1;
      total += count;
      for (const [page, score] of word.pages) pages[page] += score;
      for (const [row, score] of word.rows) {
        rows.add(row);
        scores[row] += score;
        counts[row] += count;
      }
    }
    const penalty = weights.coverage_penalty / total; // for each word that a section lacks
    for (const row of rows)
      scores[row] = (scores[row] + weights.page * pages[this.rows[row].page.number]) * (1 - penalty * (total - counts[row]));
    for (const [row, share] of this.#titleShares(found)) scores[row] *= 1 + weights.full_title_bonus * share;
    if (words.some(({ whole, text }) => changes.includes(whole) || /^v?\d+\.\d/.test(text))) return [rows, scores];
    const terms = words.flatMap(({ runs }) => runs.flat());
    const isAsked = ({ row }) => terms.some((term) => this.#rowsOf(term).get(row)?.inTitle);
    const behind = late.map((number) => this.pages[number].sections).filter(([first]) => !isAsked(first));
    for (const { row } of behind.flat()) scores[row] *= weights.late;
    return [rows, scores];
  }
  /** Return the cosine of each section with a query by its row, if its words are known. */
  #near(text, words) {
    const isKnown = (word) => !this.#saysLittle(word) && this.meaning.knows(word.whole);
    if (this.meaning && words.some(isKnown)) return this.meaning.near(text);
  }
  /** Return 1 for a sentence, and less for a few words or names, whose meaning is in the words themselves. */
  sentence(words) {
    const { length } = words.filter((word) => !isName(word) && !this.search.fillers.includes(word.text.toLowerCase()));
    return Math.min(Math.max(length, 1) / SENTENCE_WORDS, 1);
  }
  #saysLittle({ stop, text }) {
    return stop || this.search.fillers.includes(text.toLowerCase()) || /^\p{Nd}{1,2}$/u.test(text);
  }
  /** Combine scores by words and cosines to scores from 0 to 1; a section without any word must come close to the best. */
  #fuse(words, near, rows, scores) {
    const best = Math.max(...Array.from(rows, (row) => scores[row]));
    const share = this.meaning.weight * this.sentence(words) * (1 - this.#coverage(words, rows, scores) ** 2);
    const shown = [...near].filter(([row]) => this.rows[row]?.page.shown);
    const nearest = shown.sort(([, one], [, other]) => other - one).slice(0, MOST_NEAR);
    const [most, lowest] = [nearest[0]?.[1], nearest.at(-1)?.[1]];
    const own = new Set(rows);
    for (const row of own) scores[row] *= (1 - share) / best;
    for (const [row, cosine] of nearest) {
      scores[row] += share * (most > lowest ? (cosine - lowest) / (most - lowest) : 1);
      rows.add(row);
    }
    const least = LEAST_NEAR * Math.max(...Array.from(rows, (row) => scores[row]));
    for (const row of rows) if (!own.has(row) && scores[row] < least) rows.delete(row);
  }
  /** Return how much of a query, by the rarity of its words, is in the best row by words. */
  #coverage(words, rows, scores) {
    const [best] = [...rows].sort((one, other) => scores[other] - scores[one] || one - other);
    let [total, covered] = [0, 0];
    for (const word of words.filter(({ text }) => !this.search.fillers.includes(text.toLowerCase()))) {
      const found = (word.match ??= this.#find(word)).rows;
      const rarity = Math.log1p(this.rows.length / (found.size || LEAST_ROWS));
      total += rarity;
      if (found.has(best)) covered += rarity;
    }
    return covered / (total || 1);
  }
  /** Return the rows whose title a query is, apart from stop words. */
  #exactTitles(words) {
    const parts = (all) => JSON.stringify(all.map((word) => word.parts));
    const wanted = parts(words);
    const rows = [...this.#rowsOf(words[0]?.parts[0])].filter(([, { inTitle }]) => inTitle);
    return rows.map(([row]) => row).filter((row) => parts(this.#content(this.rows[row].title)) === wanted);
  }
  /** Return the share of each title that is in the query, relative to the rarity of its rarest word. */
  #titleShares(found) {
    const [rarities, counts, shares] = [new Map(), new Map(), new Map()];
    for (const { runs, rows } of found) {
      const rarity = Math.log1p(this.rows.length / rows.size);
      for (const term of runs.flat()) rarities.set(term, Math.max(rarity, rarities.get(term) ?? 0));
    }
    const highest = Math.max(...rarities.values());
    for (const [term, rarity] of [...rarities].sort((one, other) => one[1] - other[1]))
      for (const [row, { inTitle }] of this.#rowsOf(term)) {
        if (!inTitle) continue;
        add(counts, row, 1);
        shares.set(row, ((counts.get(row) / this.search.titleLengths[row]) * rarity) / highest);
      }
    return shares;
  }
}

const add = (sums, key, value) => sums.set(key, (sums.get(key) ?? 0) + value);
const isLetters = (term) => /^\p{L}+$/u.test(term);
/** Return what may be the stem of a word, longest first: at least half of it. */
export function beginnings(term) {
  const count = isLetters(term) ? term.length - 1 - Math.max(2, (term.length - 1) >> 1) : 0;
  return Array.from({ length: Math.max(0, count) }, (_, at) => term.slice(0, -1 - at));
}
/** Return whether a word looks like a name from code: of several parts, or with a sign. */
const isName = ({ text, parts }) => !(parts.length > 1 ? /^\p{N}/u : /^[\p{L}\p{N}]/u).test(text);

function normalize(lengths) {
  const average = lengths.reduce((total, length) => total + length, 0) / lengths.length || 1;
  return lengths.map((length) => SATURATION * (1 - LENGTH_SHARE + (LENGTH_SHARE * length) / average));
}
function bm25(frequencies, norms, norm = Infinity) {
  const rarity = Math.log((norms.length - frequencies.size + 0.5) / (frequencies.size + 0.5));
  const most = (SATURATION + 1) * Math.max(rarity, LEAST_RARITY);
  return new Map(Array.from(frequencies, ([row, count]) => [row, (most * count) / (count + Math.min(norms[row], norm))]));
}
/** Return all matching rows and pages with the highest of their weighted scores. */
function merge(matches) {
  if (matches.length === 1 && matches[0][1] === 1) return matches[0][0];
  const merged = { rows: new Map(), pages: new Map() };
  for (const [match, weight] of matches)
    for (const kind of ["rows", "pages"])
      for (const [at, score] of match[kind])
        if (weight * score > (merged[kind].get(at) ?? -1)) merged[kind].set(at, weight * score);
  return merged;
}
/** Return how close two words are by their places: 1 in the same place, less in neighbouring ones, otherwise 0. */
function closeness(first, second) {
  const isNear = (step) => first.some((place) => second.includes(place + step));
  return isNear(0) ? 1 : isNear(1) || isNear(-1) ? NEXT_PLACE : 0;
}
/** Return whether two terms differ by at most one letter, or by two swapped ones. */
function isSpelling(term, other) {
  let start = 0;
  while (start < term.length && term[start] === other[start]) start++;
  const [rest, otherRest] = [term.slice(start), other.slice(start)];
  if (rest.slice(1) === otherRest || rest === otherRest.slice(1)) return true;
  if (rest.slice(1) === otherRest.slice(1)) return term.length > SHORTEST_TYPO; // "move" and "more" are two words
  return rest[0] === otherRest[1] && rest[1] === otherRest[0] && rest.slice(2) === otherRest.slice(2);
}

/** Return the parts of a text that match a query, as pairs of start and end; `asked` is from `Finder.asked`. */
export function findMatches(text, { wanted, grown, language }) {
  const known = new Set([...wanted, grown ?? []].flatMap(({ runs, related }) => [runs, related?.similar].flat(2)));
  const fits = (term) => known.has(term) || (language !== "en" && beginnings(term).some((one) => known.has(one)));
  const found = [];
  const add = (start, end) => (found.at(-1)?.[1] >= start ? (found.at(-1)[1] = end) : found.push([start, end]));
  for (const { 0: run, index } of text.matchAll(RUN)) {
    if (!SPACELESS_RUN.test(run)) {
      if (!read(run, language).terms.some(fits)) continue;
      const pieces = [...run.matchAll(PIECE)].filter((piece) => fits(stem(piece[2], language)));
      for (const piece of pieces) add(index + piece.index + piece[1].length, index + piece.index + piece[0].length);
      if (!pieces.length) add(index, index + run.length);
    } else
      for (let at = 0; at < run.length; at++) {
        const part = [run.slice(at, at + 2), run[at]].find((part) => known.has(part));
        if (part) add(index + at, index + at + part.length);
      }
  }
  return found;
}
