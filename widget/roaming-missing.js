// The 404 page: links to the pages that the missing address may mean. With the widget on it, also a search.

const MAX_SUGGESTIONS = 5;
const MAX_REQUEST_CHARS = 300;
const MIN_SCORE = 0.4;
const MIN_SHARE = 0.55; // of the best score
const [COVERED, COVERING, SAME_FOLDER] = [0.7, 0.3, 0.15]; // parts of the score
const [SLUG, TITLE, FOLDER, REQUESTED_FOLDER] = [1, 0.9, 0.6, 0.35]; // weights of words
const COMMON = 0.1;
const [MIN_SIMILARITY, TYPING_ERROR, UNEQUAL, BEGINNING, SAME_NAME] = [0.4, 0.8, 0.95, 0.75, 0.8]; // of words

/**
 * Return the pages that a path may mean, best first, each as path and title.
 * @param addresses The content of addresses.json.
 * @param path The requested path, percent-encoded, from the root of the host.
 */
export async function suggest(addresses, path) {
  path = withoutRoot(addresses, path);
  const found = await findCertain(addresses, path);
  const pages = new Map([...(found ? [found] : []), ...rank(addresses, path)].map((page) => [page[0], page]));
  return [...pages.values()].slice(0, MAX_SUGGESTIONS);
}

function withoutRoot(addresses, path) {
  path = Array.from(decode(path)).slice(0, MAX_REQUEST_CHARS).join("");
  const root = decode(new URL(addresses.url, import.meta.url).pathname);
  return path.startsWith(root) ? path.slice(root.length) : path;
}

function decode(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // `%` that is no encoding
  }
}

/** Return the page that has moved from a path, or that differs from it in form only. */
async function findCertain(addresses, path) {
  const byForm = new Map([...addresses.pages].reverse().map((page) => [normalize(page[0]), page]));
  const byPath = new Map(addresses.pages.map((page) => [page[0], page]));
  const moved = new Map(Object.entries(addresses.moved ?? {}).map(([from, to]) => [normalize(from), to]));
  const ids = new Map(Object.entries(addresses.ids ?? {}));
  for (const form of forms(path)) {
    let target = moved.get(form);
    for (const key of ids.size ? [`${form}/#`, `${form}.html#`] : []) target ??= ids.get(await hashId(key));
    const page = target === undefined ? byForm.get(form) : byPath.get(target);
    if (page) return page;
  }
}

/** Return the id of a page; browsers hash only on https and on localhost. */
async function hashId(key) {
  const digest = await crypto.subtle?.digest("SHA-256", new TextEncoder().encode(key));
  return digest && Array.from(new Uint8Array(digest, 0, 4), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function rank(addresses, path) {
  const pages = addresses.pages.map((page) => ({ page, ...pageWords(page) }));
  const total = pages.length + 1;
  const counts = new Map();
  for (const { words } of pages) for (const word of words.keys()) counts.set(word, (counts.get(word) ?? 0) + 1);
  const rarity = new Map(Array.from(counts, ([word, count]) => [word, Math.log(total / count) / Math.log(total)]));
  const [folders, last] = splitPath(path);
  const variants = last.length > 1 ? [last, [last.join("")]] : [last];
  const requests = variants.map((words) => makeRequest(folders, words, rarity, addresses.names ?? []));
  const scored = pages
    .map((one) => {
      const score = Math.max(...requests.map((request) => scoreOf(request, one, rarity)));
      return { page: one.page, score: score + SAME_FOLDER * folderShare(folders, one.folders) };
    })
    .filter((one) => one.score >= MIN_SCORE)
    .sort((one, other) => other.score - one.score);
  return scored.filter((one) => one.score >= MIN_SHARE * scored[0].score).map((one) => one.page);
}

/** Return the requested words with their weights, and what the site has for each of them. */
function makeRequest(folders, last, rarity, names) {
  const weights = new Map([...folders.flat().map((word) => [word, REQUESTED_FOLDER]), ...last.map((word) => [word, 1])]);
  const similar = new Map();
  for (const [word, weight] of weights) {
    const same = new Set(names.filter((group) => group.some((known) => similarity(word, known) >= TYPING_ERROR)).flat());
    const found = new Map();
    let rarest = null;
    for (const [other, rare] of rarity) {
      const share = Math.max(similarity(word, other), same.has(other) ? SAME_NAME : 0);
      if (share < MIN_SIMILARITY) continue;
      found.set(other, share);
      rarest = Math.max(rarest ?? 0, rare * share);
    }
    similar.set(word, found);
    weights.set(word, weight * (COMMON + (rarest ?? 1)));
  }
  return { weights, similar };
}

function scoreOf({ weights, similar }, { words, slug }, rarity) {
  let [covered, requested, covering, size] = [0, 0, 0, 0];
  for (const [word, weight] of weights) {
    let best = 0;
    for (const [other, share] of similar.get(word)) best = Math.max(best, share * (words.get(other) ?? 0));
    covered += weight * best;
    requested += weight;
  }
  if (!covered) return 0;
  for (const word of new Set(slug)) {
    const own = COMMON + rarity.get(word);
    covering += own * Math.max(...Array.from(similar.values(), (found) => found.get(word) ?? 0));
    size += own;
  }
  return (COVERED * covered) / requested + (COVERING * covering) / (size || 1);
}

// Paths

const ENDING = /(?:\.(?:html?|mdx?|markdown|rst|txt|php|aspx?|json))+$/i;
const PREFIX =
  /^(?:v?\d+(?:[._]\d+)*(?:[._]x)?|latest|stable|main|master|dev|next|current|docs?|documentation|[a-z]{2}(?:[-_][a-z]{2})?)(?:\/|$)/;

function partsOf(path) {
  const parts = path.split(/[?#]/)[0].normalize("NFC").split("/").filter((part) => part.trim());
  if (parts.length) {
    parts.push(parts.pop().replace(ENDING, ""));
    if (["index", "readme", ""].includes(parts.at(-1).toLowerCase())) parts.pop();
  }
  return parts;
}

const normalize = (path) => partsOf(path).join("/").toLowerCase();

/** Return the normal form of a path, and those without the folders of a version or language in front. */
function forms(path) {
  const found = [normalize(path)];
  while (found.at(-1) && PREFIX.test(found.at(-1))) found.push(found.at(-1).replace(PREFIX, ""));
  return found;
}

function splitPath(path) {
  const parts = partsOf(path);
  const last = parts.pop() ?? "";
  const folders = parts.filter((folder) => PREFIX.exec(folder.toLowerCase())?.[0] !== folder.toLowerCase());
  return [folders.map(splitWords), splitWords(last)];
}

function folderShare(first, second) {
  const joined = (folders) => folders.map((words) => words.join("/"));
  const [one, other] = [joined(first), joined(second)];
  let same = 0;
  while (same < Math.min(one.length, other.length) && one[same] === other[same]) same++;
  return same / (Math.max(one.length, other.length) || 1);
}

// Words

function pageWords([path, title]) {
  const [folders, slug] = splitPath(path);
  const titles = splitWords(title);
  const words = new Map(folders.flat().map((word) => [word, FOLDER]));
  for (const word of [...titles, titles.join("")]) words.set(word, TITLE);
  for (const word of [...slug, slug.join("")]) words.set(word, SLUG);
  return { words, slug, folders };
}

const splitWords = (text) =>
  text.replace(/(?<=[a-z0-9])(?=[A-Z])/g, " ").normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** Return how similar two words are: by their pairs of letters, by typing errors, or as a beginning. */
function similarity(one, other) {
  if (one === other) return 1;
  const [shorter, longer] = [one, other].sort((first, second) => first.length - second.length);
  const pairs = UNEQUAL * pairShare(one, other);
  if (shorter.length >= 3 && longer.startsWith(shorter)) return Math.max(pairs, BEGINNING);
  const most = longer.length < 5 ? 1 : 2;
  if (longer.length - shorter.length > most || !(pairs || most === 1)) return pairs;
  const errors = countErrors(one, other);
  return errors <= most ? Math.max(pairs, UNEQUAL * (1 - errors / longer.length)) : pairs;
}

function pairShare(one, other) {
  const counts = new Map();
  for (const pair of pairsOf(one)) counts.set(pair, (counts.get(pair) ?? 0) + 1);
  let common = 0;
  for (const pair of pairsOf(other)) {
    const left = counts.get(pair) ?? 0;
    if (left) counts.set(pair, left - 1);
    common += left > 0;
  }
  return (2 * common) / (one.length + other.length + 2);
}

function pairsOf(word) {
  word = `^${word}$`;
  return Array.from({ length: word.length - 1 }, (_, at) => word.slice(at, at + 2));
}

/** Return the number of typing errors between two words: a letter more, less, another, or two exchanged. */
function countErrors(one, other) {
  let [earlier, before] = [[], []];
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let at = 0; at < one.length; at++) {
    [earlier, before, row] = [before, row, [at + 1]];
    for (let place = 0; place < other.length; place++) {
      const errors = Math.min(before[place] + (one[at] !== other[place]), before[place + 1] + 1, row[place] + 1);
      const exchanged = at && place && one[at] === other[place - 1] && one[at - 1] === other[place];
      row.push(exchanged ? Math.min(errors, earlier[place - 1] + 1) : errors);
    }
  }
  return row.at(-1);
}

// The page

async function show(place) {
  const root = new URL("..", import.meta.url);
  const response = await fetch(new URL("roaming/addresses.json", root));
  if (!response.ok) return;
  const addresses = await response.json();
  const pages = await suggest(addresses, location.pathname);
  list(place, pages.map(([path, title]) => [root.pathname + path.split("/").map(encodeURIComponent).join("/"), title]));
  await customElements.whenDefined("roaming-ask");
  const { adopt } = await import("./roaming-ask.js");
  adopt(document, STYLE);
  const host = document.querySelector("roaming-ask");
  await host._ready;
  const [folders, last] = splitPath(withoutRoot(addresses, location.pathname));
  const text = [...folders.flat(), ...last].join(" ");
  const form = makeForm(host, text);
  if (pages.length) return place.after(form);
  place.before(form); // it does not move when sections are found
  place.ariaLabel = host.settings.words.nearest ?? "Nearest sections";
  list(place, await findSections(host, text));
}

function list(place, links) {
  if (!links.length) return;
  const items = links.map(([href, text]) => create("li", {}, create("a", { href }, text)));
  place.replaceChildren(create("p", {}, place.ariaLabel), create("ul", {}, ...items));
}

async function findSections(host, text) {
  const { Library } = await import("./roaming-library.js");
  const library = new Library(host);
  const found = await library.find(`${text} `); // with a space the last word is complete
  return found.slice(0, MAX_SUGGESTIONS).map((section) => [library.address(section), section.path.join(" › ")]);
}

function makeForm(host, text) {
  const { findPlaceholder, findButton } = host.settings.words;
  const input = create("input", { type: "search", value: text, ariaLabel: findPlaceholder });
  const search = (event) => {
    event.preventDefault();
    host.search(input.value);
  };
  const properties = { role: "search", className: "roaming-missing", onsubmit: search };
  return create("form", properties, input, create("button", {}, findButton));
}

function create(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

const STYLE = `
.roaming-missing { display: flex; flex-wrap: wrap; gap: 8px; max-width: 480px; margin-block: 16px }
form.roaming-missing > * { min-height: 40px; padding: 0 12px; border: 1px solid color-mix(in srgb, currentColor 50%, transparent);
  border-radius: 8px; background: none; box-shadow: none; color: inherit; font: inherit }
form.roaming-missing > input { flex: 1 8em; min-width: 0 }
`;

const place = globalThis.document?.querySelector("[data-roaming-missing]:empty");
if (place) show(place).catch(() => {}); // without suggestions it is the page of the theme
