// <roaming-menu>: a button beside a page's title. Its menu copies the page as Markdown, opens it elsewhere, and connects MCP
// clients.
//
// The build writes the element with all texts and addresses in `data-menu`, and in it a link to the page's Markdown with icon
// and label. Without this module the link remains. They stay in the light DOM, so that their size does not depend on when the
// module is loaded. On a page of an application in the browser the element is hidden at the end of the body.
// There are no inline styles, no inline scripts and no HTML from strings, so the strictest content security policy works.

import { adopt, el, icon } from "./ask/elements.js";

const STYLE = `
:host {
  --_bg: var(--roaming-bg, var(--md-default-bg-color, var(--color-background-primary, var(--pst-color-background, var(--bs-body-bg, Canvas)))));
  --_fg: var(--roaming-fg, var(--md-typeset-color, var(--color-foreground-primary, var(--pst-color-text-base, var(--bs-body-color, CanvasText)))));
}
button, a { all: unset; cursor: pointer }
:focus-visible { outline: 2px solid var(--roaming-focus, currentcolor); outline-offset: 2px; border-radius: 8px }
[role=menu], [role=status] { position: absolute; z-index: 3; inset-block-start: 100%; inset-inline-end: 0;
  box-sizing: border-box; width: max-content; max-width: calc(100vw - 2em); margin-block-start: 6px;
  font: var(--roaming-font-size, 14px)/20px var(--roaming-font, var(--md-text-font-family, system-ui, sans-serif));
  color: var(--_fg); background: var(--_bg); text-align: start; letter-spacing: normal; text-transform: none; white-space: normal;
  border: 1px solid color-mix(in srgb, var(--_fg) 18%, var(--_bg)); border-radius: 12px; box-shadow: 0 8px 24px #0000002e }
[role=menu] { padding: 6px }
[role=status] { padding: 5px 12px }
[role=status]:empty { padding: 0; border: 0; box-shadow: none }
[hidden] { display: none }
[role=menuitem] { display: grid; grid-template-columns: 20px 1fr; gap: 0 12px; align-items: center; box-sizing: border-box;
  width: 100%; padding: 6px 14px 6px 10px; border-radius: 8px; font-weight: 500 }
[role=menuitem]:is(:hover, :focus-visible) { background: color-mix(in srgb, var(--_fg) 8%, var(--_bg)) }
svg { grid-row: span 2; width: 20px; height: 20px; fill: none; stroke: currentcolor; stroke-width: 1.6; stroke-linejoin: round;
  stroke-linecap: round }
small { font-size: 12px; line-height: 16px; font-weight: 400; color: color-mix(in srgb, var(--_fg) 86%, var(--_bg)) }
.outside::after { content: " ↗" / ""; opacity: .6 }
:focus-visible[role=menuitem] { outline-offset: -2px }
:host([data-pointer]) :focus-visible { outline: 0 }
[role=group] { margin-block-start: 6px; padding-block-start: 6px;
  border-block-start: 1px solid color-mix(in srgb, var(--_fg) 18%, var(--_bg)) }
[role=group] > span { display: block; padding: 2px 10px; font-size: 12px; color: color-mix(in srgb, var(--_fg) 86%, var(--_bg)) }
@media print { :host { display: none } }
`;
const MARGIN = 8; // pixels between the menu and the edge of the screen

// Icons: a 24 px grid
const ICONS = {
  copy: "M9 8h10a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H9a1 1 0 0 1-1-1V9a1 1 0 0 1 1-1ZM5 16a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1h10a1 1 0 0 1 1 1",
  page: "M14 3.5H7A1.5 1.5 0 0 0 5.5 5v14A1.5 1.5 0 0 0 7 20.5h10a1.5 1.5 0 0 0 1.5-1.5V8Zm0 0V8h4.5M9 12.5h6M9 16h6",
  open: "M4 12c4.5-1 7-3.5 8-8 1 4.5 3.5 7 8 8-4.5 1-7 3.5-8 8-1-4.5-3.5-7-8-8Z",
  command: "M4 5h16v14H4ZM7.5 9.5 10 12l-2.5 2.5M12.5 15h4",
  connect: "M9 3v5m6-5v5M6.5 8h11v3.5a5.5 5.5 0 0 1-11 0ZM12 17v4",
  people: "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7Zm-6 9c0-3.5 2.5-5.5 6-5.5s6 2 6 5.5M16 4.5a3.5 3.5 0 0 1 0 6M17.5 15c2.200.7 3.5 2.400 3.5 5",
};
class RoamingMenu extends HTMLElement {
  #button;
  #menu;
  #status;
  #page; // promise of the page's Markdown, requested when the menu opens: a clipboard may not wait after a click
  #timer;
  connectedCallback() {
    const link = this.querySelector("a");
    if (this.shadowRoot || !link || !this.dataset.menu) return;
    const root = this.attachShadow({ mode: "open" });
    adopt(root, STYLE);
    this.#button = el("button", {
      type: "button", part: "button", "aria-haspopup": "menu", "aria-expanded": "false",
      onclick: () => (this.#menu.hidden ? this.#open(0) : this.#close(true)),
      onmousedown: (event) => event.preventDefault(), // some browsers would move the focus to the body, which closes it
    }, el("slot"));
    this.#menu = el("div", { role: "menu", part: "menu", tabindex: "-1", hidden: true });
    this.#status = el("span", { role: "status", part: "status" });
    root.append(this.#button, this.#menu, this.#status);
    root.addEventListener("pointerdown", () => this.toggleAttribute("data-pointer", true));
    root.addEventListener("keydown", this.#key);
    root.addEventListener("focusout", ({ relatedTarget }) => root.contains(relatedTarget) || this.#close());
    this.replaceChildren(...link.childNodes);
    this.show(this.dataset.menu);
    if (this.hidden) follow(this);
  }
  /** Show the data of a page. */
  show(data) {
    this.data = JSON.parse(data);
    this.#menu.ariaLabel = this.data.name;
    this.#menu.replaceChildren(...this.data.items.map((item) => this.#item(item)));
  }
  #item({ icon: name, text, note, href, copy, group, items }) {
    if (group) {
      const label = el("span", { "aria-hidden": "true" }, group);
      return el("div", { role: "group", "aria-label": group }, label, ...items.map((item) => this.#item(item)));
    }
    const outside = /^https?:/.test(href);
    const label = el("span", outside ? { class: "outside" } : {}, text);
    const attrs = { role: "menuitem", tabindex: "-1", part: "item" };
    const content = [icon(ICONS[name]), label, el("small", {}, note)];
    if (!href) return el("button", { ...attrs, type: "button", onclick: () => this.#copy(copy) }, ...content);
    const onclick = () => (copy ? this.#copy(copy) : this.#close(outside));
    return el("a", { ...attrs, href, target: outside ? "_blank" : undefined, rel: "noopener", onclick }, ...content);
  }
  get #items() {
    return [...this.#menu.querySelectorAll("[role=menuitem]")];
  }
  #open(at) {
    this.#say("");
    this.#menu.hidden = false;
    this.#stayOnScreen();
    this.#button.ariaExpanded = "true";
    (this.hasAttribute("data-pointer") ? this.#menu : this.#items.at(at)).focus();
    this.#page = fetch(this.data.file).then((response) => (response.ok ? response.text() : Promise.reject()));
    this.#page.catch(() => {}); // reported when it is copied
  }
  /** Move the menu of a button that is not at the edge of the page. */
  #stayOnScreen() {
    const { style } = this.#menu;
    style.translate = "";
    const { left, right } = this.#menu.getBoundingClientRect();
    style.translate = `${Math.max(MARGIN - left, Math.min(0, innerWidth - MARGIN - right))}px`;
  }
  #close(focus) {
    this.#menu.hidden = true;
    this.#button.ariaExpanded = "false";
    if (focus) this.#button.focus();
  }
  #key = (event) => {
    const { key, ctrlKey, metaKey, altKey } = event;
    if (ctrlKey || metaKey || altKey) return;
    this.removeAttribute("data-pointer");
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

/** Keep a menu beside the title of the page that an application shows, with the data that the build wrote for it. */
function follow(menu) {
  let shown = location.pathname;
  let data = menu.dataset.menu;
  let isLate = false; // no other sign of hydration is known
  const place = async () => {
    const path = location.pathname;
    if (path !== shown) {
      shown = path;
      data = undefined;
      menu.remove();
      const html = await fetch(location).then((response) => (response.ok ? response.text() : ""), () => "");
      if (path !== location.pathname) return;
      data = /<roaming-menu\b[^<>]* data-menu='([^']*)'/.exec(html)?.[1].replace(/&(amp|lt|gt|#39);/g, (_, name) => ({ amp: "&", lt: "<", gt: ">" })[name] ?? "'");
      if (data) menu.show(data);
    }
    const title = data && document.querySelector(":is(main, article, [role=main]) h1");
    if (!title || title.previousSibling === menu) return;
    if (!isLate && !title.closest("#app")?.__vue_app__ && !Object.keys(title).some((key) => key.startsWith("__react"))) return;
    title.before(menu);
    menu.hidden = false;
  };
  new MutationObserver(place).observe(document.body, { childList: true, subtree: true });
  addEventListener("load", () => setTimeout(() => place((isLate = true)), 4000));
  place();
}

/** Write a text to the clipboard; without a secure context, or a permission, by selecting it. */
async function write(text, root) {
  try {
    return await navigator.clipboard.writeText(text);
  } catch {}
  const area = el("textarea", { readonly: true }, text);
  root.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("copy");
}

customElements.get("roaming-menu") ?? customElements.define("roaming-menu", RoamingMenu);
