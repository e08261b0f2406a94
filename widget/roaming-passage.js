// Highlights the passage to which a citation leads, after the navigation. It is loaded when a citation is followed, and on
// the page on which the reader arrives.
//
// The passage is highlighted with the CSS Custom Highlight API, so the page's own elements stay as they are.

const STORED = "roaming:passage";
const PATIENCE = 5_000; // ms until the page of a citation is given up
const TINTED = 4_000; // ms
const SHORTEST = 20; // letters and digits of a passage that are enough to find it
const SKIPPED = "script, style, noscript, template, nav, roaming-ask, .headerlink, [hidden]";
const sheet = new CSSStyleSheet();
let latest; // the last arrival
let watched = false;

/** Highlight the stored passage as soon as its page is shown. */
export async function arrive(host) {
  const { url, text } = JSON.parse(sessionStorage.getItem(STORED)) ?? {};
  if (!url) return; // another arrival was faster
  const arrival = (latest = {});
  for (const begun = Date.now(); !arrived(url); ) {
    await new Promise((next) => setTimeout(next, 50));
    if (latest !== arrival || Date.now() - begun > PATIENCE) return;
  }
  sessionStorage.removeItem(STORED);
  const heading = anchor(url);
  clear();
  highlight(host, heading?.closest("h1, h2, h3, h4, h5, h6") ?? heading ?? document.querySelector("h1"), text);
  locate(host);
  if (watched) return;
  watched = true;
  for (const [target, name] of [[globalThis.navigation, "navigatesuccess"], [globalThis, "popstate"], [globalThis, "hashchange"]])
    target?.addEventListener(name, () => locate(host));
}

/** Mark the source that the reader is looking at. */
function locate(host) {
  for (const row of host.shadowRoot.querySelectorAll("a.source:not(.plain)")) {
    if (row.href.replace(/#?:~:.*/, "") === location.href) row.setAttribute("aria-current", "location");
    else row.removeAttribute("aria-current");
  }
}

/** Return whether the page of a URL is shown; themes replace the content some time after the address. */
function arrived(url) {
  const { origin, pathname, hash } = new URL(url);
  if (location.origin !== origin || location.pathname !== pathname) return false;
  if (document.readyState === "loading") return false;
  return !hash || anchor(url) !== null;
}

/** Return the element to which the anchor of a URL leads. */
function anchor(url) {
  const id = new URL(url).hash.slice(1);
  try {
    return document.getElementById(decodeURIComponent(id));
  } catch {
    return document.getElementById(id); // a percent sign that encodes nothing
  }
}

function clear() {
  globalThis.CSS?.highlights?.delete("roaming-passage");
  for (const name of ["data-roaming-arrived", "data-roaming-passage"])
    for (const marked of document.querySelectorAll(`[${name}]`)) marked.removeAttribute(name);
}

/** Mark the heading with a bar, and the passage with a tint that becomes an underline. */
function highlight(host, heading, text) {
  const accent = getComputedStyle(host).getPropertyValue("--_accent") || "LinkText";
  setStyle(accent);
  if (!document.adoptedStyleSheets.includes(sheet)) document.adoptedStyleSheets.push(sheet);
  heading?.setAttribute("data-roaming-arrived", "");
  const range = text && CSS.highlights && find(text, heading);
  if (!range) return;
  CSS.highlights.set("roaming-passage", new Highlight(range));
  const around = range.commonAncestorContainer;
  const block = around.nodeType === 1 ? around : around.parentElement;
  block.setAttribute("data-roaming-passage", "new");
  setTimeout(() => block.matches("[data-roaming-passage]") && block.setAttribute("data-roaming-passage", "seen"), TINTED);
  const { top, bottom } = range.getBoundingClientRect();
  if (top < 80 || bottom > innerHeight - 40) range.startContainer.parentElement.scrollIntoView({ block: "center" });
}

function setStyle(accent) {
  const bar = `linear-gradient(${accent}, ${accent})`;
  const STYLE = `
  @property --roaming-tint { syntax: "<percentage>"; inherits: true; initial-value: 0% }
  [data-roaming-passage] { transition: --roaming-tint .6s }
  [data-roaming-passage=new] { --roaming-tint: 24% }
  ::highlight(roaming-passage) { background-color: color-mix(in srgb, ${accent} var(--roaming-tint), transparent);
    text-decoration: underline 2px ${accent}; text-underline-offset: 3px }
  [data-roaming-arrived][data-roaming-arrived][data-roaming-arrived] { padding-inline-start: 14px; margin-inline-start: -14px;
    background: ${bar} 0 50% / 3px 70% no-repeat }
  [data-roaming-arrived][data-roaming-arrived][data-roaming-arrived]:dir(rtl) { background-position-x: 100% }
  @media (prefers-reduced-motion) { [data-roaming-passage] { transition: none } }
  @media print { [data-roaming-arrived][data-roaming-arrived][data-roaming-arrived] { background: none } }
  @media (forced-colors: active) { ::highlight(roaming-passage) { background-color: Mark; color: MarkText } }
  `;
  sheet.replaceSync(STYLE);
}

// Only letters and digits are compared, because the passage comes from the Markdown of the page. Of a passage that is not
// found as a whole, its beginning is searched.
/** Return the range of a passage, first after its heading, then anywhere. */
function find(text, heading) {
  const root = document.querySelector("main, [role=main], article") ?? document.body;
  const page = letters(root, heading);
  const wanted = [...text.toLowerCase()].filter((character) => /[\p{L}\p{N}]/u.test(character)).join("");
  for (const length of [wanted.length, 60, 40, SHORTEST]) {
    if (length > wanted.length || !length) continue;
    const part = wanted.slice(0, length);
    const at = [page.text.indexOf(part, page.start), page.text.indexOf(part)].find((found) => found >= 0);
    if (at === undefined) continue;
    const range = document.createRange();
    const last = at + part.length - 1;
    range.setStart(page.nodes[at], page.offsets[at]);
    range.setEnd(page.nodes[last], page.offsets[last] + 1);
    const stop = /^[.!?\u3002]/.exec(page.nodes[last].data.slice(range.endOffset));
    if (stop) range.setEnd(page.nodes[last], range.endOffset + 1);
    return range;
  }
}

/** Return the letters and digits of the page with the places of their text nodes. */
function letters(root, heading) {
  const nodes = [];
  const offsets = [];
  const found = [];
  let start = 0;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement.closest(SKIPPED)) continue;
    if (heading && !start && heading.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_FOLLOWING) start = found.length;
    for (const { 0: character, index } of node.data.matchAll(/[\p{L}\p{N}]/gu)) {
      const lower = character.toLowerCase();
      for (let at = 0; at < lower.length; at++) {
        nodes.push(node);
        offsets.push(index);
      }
      found.push(lower);
    }
  }
  return { text: found.join(""), nodes, offsets, start };
}
