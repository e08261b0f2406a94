// <roaming-menu>: a button beside a page's title. Its menu copies the page as Markdown, opens it elsewhere, and copies the
// configuration of MCP clients.
//
// The build writes the element with all texts and addresses in `data-menu`, and in it a link to the page's Markdown with
// an icon. Without this module the link remains. The icon stays in the light DOM, so that its size does not depend on
// when the module is loaded.
// There are no inline styles, no inline scripts and no HTML from strings, so the strictest content security policy works.

const STYLE = `
:host {
  --_bg: var(--roaming-bg, var(--md-default-bg-color, var(--color-background-primary, var(--bs-body-bg, Canvas))));
  --_fg: var(--roaming-fg, var(--md-typeset-color, var(--color-foreground-primary, var(--bs-body-color, CanvasText))));
  position: relative;
}
button, a { all: unset; cursor: pointer }
button[aria-haspopup] { display: block }
button:is(:hover, [aria-expanded=true]) { color: var(--roaming-accent, var(--md-accent-fg-color)) }
:focus-visible { outline: 2px solid var(--roaming-focus, currentcolor); outline-offset: 2px; border-radius: 2px }
[role=menu], [role=status] { position: absolute; z-index: 3; inset-block-start: 100%; inset-inline-end: 0;
  box-sizing: border-box; width: max-content; max-width: calc(100vw - 2em); margin-block-start: .3em;
  font: var(--roaming-font-size, 15px)/1.4 var(--roaming-font, var(--md-text-font-family, system-ui, sans-serif));
  color: var(--_fg); background: var(--_bg); text-align: start; letter-spacing: normal; text-transform: none;
  border: 1px solid color-mix(in srgb, var(--_fg) 22%, var(--_bg)); border-radius: .4em; box-shadow: 0 2px 12px #0003 }
[role=menu] { padding: .3em 0 }
[role=status] { padding: .3em .7em }
[role=status]:empty { padding: 0; border: 0; box-shadow: none }
[hidden] { display: none }
[role=menuitem] { display: block; box-sizing: border-box; width: 100%; padding: .4em 1em }
[role=menuitem]:is(:hover, :focus) { background: color-mix(in srgb, var(--_fg) 10%, var(--_bg)) }
:focus-visible[role=menuitem] { outline-offset: -2px }
[role=group] { margin-block-start: .3em; padding-block-start: .3em;
  border-block-start: 1px solid color-mix(in srgb, var(--_fg) 22%, var(--_bg)) }
[role=group] > span { display: block; padding: .2em 1.18em; font-size: .85em }
@media print { :host { display: none } }
`;
let sheet; // created once, by the first element on a page

/** Create an element: names with `on…` are listeners, the others attributes unless they are undefined. */
function el(tag, attrs = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

class RoamingMenu extends HTMLElement {
  #button;
  #menu;
  #status;
  #page; // promise of the page's Markdown, requested when the menu opens: a clipboard may not wait after a click
  #timer;
  connectedCallback() {
    const icon = this.querySelector("svg");
    if (this.shadowRoot || !icon || !this.dataset.menu) return;
    const { name, items } = (this.data = JSON.parse(this.dataset.menu));
    const root = this.attachShadow({ mode: "open" });
    if (!sheet) (sheet = new CSSStyleSheet()).replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    this.#button = el("button", {
      type: "button", part: "button", title: name, "aria-label": name, "aria-haspopup": "menu", "aria-expanded": "false",
      onclick: () => (this.#menu.hidden ? this.#open(0) : this.#close(true)),
      onmousedown: (event) => event.preventDefault(), // some browsers would move the focus to the body, which closes it
    }, el("slot"));
    this.#menu = el("div", { role: "menu", part: "menu", "aria-label": name, tabindex: -1, hidden: "" });
    this.#menu.append(...items.map((item) => this.#item(item)));
    this.#status = el("span", { role: "status", part: "status" });
    root.append(this.#button, this.#menu, this.#status);
    root.addEventListener("keydown", this.#key);
    root.addEventListener("focusout", ({ relatedTarget }) => root.contains(relatedTarget) || this.#close());
    this.replaceChildren(icon);
  }
  #item({ text, href, copy, group, items }) {
    if (group) {
      const label = el("span", { "aria-hidden": true }, group);
      return el("div", { role: "group", "aria-label": group }, label, ...items.map((item) => this.#item(item)));
    }
    const attrs = { role: "menuitem", tabindex: -1, part: "item" };
    if (!href) return el("button", { ...attrs, type: "button", onclick: () => this.#copy(copy) }, text);
    const outside = /^https?:/.test(href);
    const onclick = () => this.#close(outside);
    return el("a", { ...attrs, href, target: outside ? "_blank" : undefined, rel: "noopener", onclick }, text);
  }
  get #items() {
    return [...this.#menu.querySelectorAll("[role=menuitem]")];
  }
  #open(at) {
    this.#say("");
    this.#menu.hidden = false;
    this.#button.ariaExpanded = "true";
    this.#items.at(at).focus();
    this.#page = fetch(this.data.file).then((response) => (response.ok ? response.text() : Promise.reject()));
    this.#page.catch(() => {}); // reported when it is copied
  }
  #close(focus) {
    this.#menu.hidden = true;
    this.#button.ariaExpanded = "false";
    if (focus) this.#button.focus();
  }
  #key = (event) => {
    const { key, ctrlKey, metaKey, altKey } = event;
    if (ctrlKey || metaKey || altKey) return;
    event.stopPropagation(); // typed keys must not trigger shortcuts of the site, such as "s" for its search
    const items = this.#items;
    const at = items.indexOf(this.shadowRoot.activeElement);
    if (this.#menu.hidden) {
      if (!/^Arrow(Down|Up)$/.test(key)) return;
      this.#open(key === "ArrowUp" ? -1 : 0);
    } else if (key === "Tab") return this.#close(true); // the focus moves on from the button
    else if (key === "Escape") this.#close(true);
    else if (key === " " && at >= 0) items[at].click();
    else {
      const found = { ArrowDown: at + 1, ArrowUp: at < 0 ? -1 : at - 1, Home: 0, End: -1 }[key];
      const starts = (item) => key.length === 1 && item.textContent.toLowerCase().startsWith(key.toLowerCase());
      const next = found === undefined ? [...items.slice(at + 1), ...items].find(starts) : items.at(found % items.length);
      if (!next) return;
      next.focus();
    }
    event.preventDefault();
  };
  /** Copy a text, or the page's Markdown without one. */
  async #copy(text) {
    const { copied, failed } = this.data;
    try {
      await write(text ?? (await this.#page), this.shadowRoot);
      this.#close(true);
      this.#say(copied);
    } catch {
      this.#close(true);
      this.#say(failed);
    }
  }
  #say(text) {
    clearTimeout(this.#timer);
    this.#status.textContent = text;
    if (text) this.#timer = setTimeout(() => this.#say(""), 3000);
  }
}

/** Write a text to the clipboard; without a secure context, or a permission, by selecting it. */
async function write(text, root) {
  try {
    return await navigator.clipboard.writeText(text);
  } catch {}
  const area = el("textarea", { readonly: "" }, text);
  root.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("copy");
}

customElements.get("roaming-menu") ?? customElements.define("roaming-menu", RoamingMenu);
