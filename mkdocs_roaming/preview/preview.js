// The page of the preview. Data is loaded on demand. Text of the site becomes text nodes only; links lead to the preview
// or have a scheme that is checked.

(() => {
  "use strict";

  // ------------------------------------------------------------------------------------------------------------- Data

  const loaded = new Map();
  let version = "";

  async function fetchJson(url) {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url} cannot be loaded (${response.status})`);
    return response.json();
  }

  /** Return a data file by its name; it is loaded once. */
  function load(name) {
    if (!loaded.has(name)) {
      const data = fetchJson(`data/${name}.json${version}`);
      data.catch(() => loaded.delete(name));
      loaded.set(name, data);
    }
    return loaded.get(name);
  }

  // --------------------------------------------------------------------------------------------------------------- DOM

  const $ = (id) => document.getElementById(id);

  /** Create an element: `el("a.entry", { href }, text)`. Functions are listeners; empty children are left out. */
  function el(name, ...rest) {
    const [tag, ...classes] = name.split(".");
    const element = document.createElement(tag);
    if (classes.length) element.className = classes.join(" ");
    for (const [key, value] of Object.entries(rest[0]?.constructor === Object ? rest.shift() : {})) {
      if (typeof value === "function") element.addEventListener(key, value);
      else if (value !== false) element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...rest.flat().filter(Boolean));
    return element;
  }

  const say = (text) => ($("status").textContent = text);
  const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
  const short = (number) =>
    number < 1000 ? `${number}` : number < 9950 ? `${(number / 1000).toFixed(1)}k` : `${Math.round(number / 1000)}k`;
  const tokens = (number) => el("span.number", { title: `about ${count(number, "token")}` }, `~${short(number)}`);
  const muted = (...children) => el("span.muted", ...children);
  const webAddress = (url) => (/^https?:/i.test(url) ? url : null);
  const outside = (url) => ({ href: url, target: "_blank", rel: "noopener noreferrer" });
  const hash = (values) => `#${new URLSearchParams(values)}`;
  const sectionHash = (page, section) =>
    hash({ page: page.path, ...(section && section !== page.id ? { section } : {}) });

  /** Return a sentence with its code, which is between backticks. */
  const prose = (text) => text.split("`").map((part, at) => (at % 2 ? el("code", part) : part));

  /** Return a group that can be folded. */
  const group = (isOpen, title, ...below) => el("details.group", { open: isOpen }, el("summary", ...title), ...below);

  const problem = (text) => el("div.view", el("h1", "Nothing here"), el("p", text));

  /** Mark a link as the current one of its list, or as another one. */
  function setCurrent(link, isCurrent, value = "true") {
    if (isCurrent) link.setAttribute("aria-current", value);
    else link.removeAttribute("aria-current");
  }

  function copyButton(label, name, text) {
    const copy = async ({ currentTarget: button }) => {
      const result = await navigator.clipboard.writeText(text).then(
        () => "Copied",
        () => "The browser does not allow it",
      );
      button.textContent = result;
      say(result);
      setTimeout(() => (button.textContent = label), 1600);
    };
    return el("button.quiet", { type: "button", "aria-label": name, click: copy }, label);
  }

  // -------------------------------------------------------------------------------------------------------------- Site

  let site;
  let pages; // by path
  let byId;
  let byFile;
  let lint = null; // loaded after the page is shown

  function setSite(data) {
    site = data;
    site.left_out ??= [];
    pages = new Map(site.pages.map((page) => [page.path, page]));
    byId = new Map(site.pages.map((page) => [page.id, page]));
    byFile = new Map(site.pages.map((page) => [page.markdown, page]));
    const sizes = `~${count(site.tokens, "token")} · outline ~${count(site.outline_tokens, "token")}`;
    $("totals").textContent = `${count(site.pages.length, "page")} · ${count(site.sections, "section")} · ${sizes}`;
    $("totals").title = $("totals").textContent;
    $("name").textContent = site.name;
    $("name").title = site.name;
    document.title = `${site.name} – preview`;
  }

  /** Return the path below the site, and the anchor, of an address; null if it is of another site. */
  function parseAddress(url) {
    if (!url.startsWith(site.url)) return null;
    const [path, anchor] = url.slice(site.url.length).split("#");
    try {
      return [decodeURIComponent(path), anchor];
    } catch {
      return null;
    }
  }

  /** Return the page of the preview that a link of the Markdown leads to, as a hash. */
  function ownAddress(url) {
    const [path, anchor] = parseAddress(url) ?? [];
    if (path === undefined) return null;
    const page = byFile.get(path) ?? pages.get(path);
    if (page) return hash({ page: page.path, ...(anchor ? { anchor } : {}) });
    const isList = /(^|\/)llms[^/]*\.txt$|^roaming\/outline\.md$/.test(path) && path !== "llms-full.txt";
    return isList ? hash({ file: path }) : null;
  }

  function anchorTo(url, text) {
    const own = ownAddress(url);
    if (own) return el("a", { href: own }, text);
    const address = url.startsWith(site.url) ? null : webAddress(url); // the site itself may not be published
    return address ? el("a", outside(address), text, " ↗") : el("span", text);
  }

  const SEVERITIES = ["error", "warning", "hint"];
  const findings = (page) => (page && lint?.byPage.get(page.path)) ?? [];

  function badge(found) {
    if (!found.length) return null;
    const worst = SEVERITIES.find((severity) => found.some((one) => one.severity === severity));
    const label = `${count(found.length, "lint finding")}, worst: ${worst}`;
    return el(`span.badge.${worst}`, { title: label, role: "img", "aria-label": label }, `${found.length}`);
  }

  async function loadLint() {
    const data = await load("lint");
    if (lint?.data === data) return;
    lint = { data, byPage: Map.groupBy(data.findings, (one) => one.page) };
  }

  /** Add the findings to the tree and to the page that is shown. */
  async function showFindings() {
    const add = (element, found) => found.length && element.lastChild.before(badge(found));
    for (const [path, link] of entries) add(link, findings(pages.get(path)));
    for (const summary of $("side").querySelectorAll("summary")) {
      const inside = [...entries].filter(([, link]) => summary.parentElement.contains(link));
      add(summary, inside.flatMap(([path]) => findings(pages.get(path))));
    }
    $("side").querySelector("[data-view=lint]").append(el("span.number", `${lint.data.score}/100`));
    const view = document.querySelector(".page[data-id]");
    const page = byId.get(view?.dataset.id);
    if (!findings(page).length) return;
    const pane = markdownPane(page, await load(`page-${page.id}`));
    const scroll = keepPosition(view.querySelector(".text"), pane.querySelector(".text"));
    view.querySelector(".markdown").replaceWith(pane);
    scroll();
    view.current?.();
  }

  // -------------------------------------------------------------------------------------------------------------- Tree

  const entries = new Map(); // links of pages by path
  let openSections = null;

  const entry = (href, title, ...figures) => el("a.entry", { href }, el("span", title), ...figures);

  function drawTree() {
    const open = new Set([...$("side").querySelectorAll("details[open]")].map((details) => details.dataset.key));
    entries.clear();
    openSections = null;
    const views = [
      ["llms", "#", "llms.txt"],
      ["outline", "#view=outline", "Outline", tokens(site.outline_tokens)],
      ["left-out", "#view=left-out", "Left out", site.base && el("span.number", `${site.left_out.length}`)],
      ["lint", "#view=lint", "Lint"],
    ].map(([name, ...rest]) => {
      const link = entry(...rest);
      link.dataset.view = name;
      return el("li", link);
    });
    const tree = el("ul", { lang: site.language }, drawEntries(site.nav, "", open));
    $("side").replaceChildren(el("ul.views", views), tree);
  }

  function drawEntries(nav, key, open) {
    return nav.map((item, at) => {
      const page = pages.get(item.page ?? null);
      const below = item.children ?? [];
      const own = page ? drawPage(page, item.title) : item.url ? drawLink(item) : null;
      if (!below.length) return own && el("li", own);
      const path = `${key}/${at}`;
      const isOpen = open.has(path) || site.pages.length <= 40;
      const summary = el("summary", el("span", item.title), tokens(sum(item)));
      const list = el("ul", own && el("li", own), drawEntries(below, path, open));
      return el("li", el("details", { "data-key": path, open: isOpen }, summary, list));
    });
  }

  const sum = (item) =>
    (pages.get(item.page)?.tokens ?? 0) + (item.children ?? []).reduce((total, child) => total + sum(child), 0);

  function drawPage(page, title) {
    const link = entry(sectionHash(page), title || page.title, tokens(page.tokens));
    entries.set(page.path, link);
    return link;
  }

  function drawLink({ url, title }) {
    const address = webAddress(url);
    const text = el("span", title, " ↗");
    return address ? el("a.entry.muted", outside(address), text) : el("span.entry.muted", text);
  }

  function markCurrent(link) {
    for (const old of $("side").querySelectorAll("[aria-current]")) setCurrent(old, false);
    openSections?.remove();
    openSections = null;
    if (!link) return;
    setCurrent(link, true, "page");
    for (let up = link.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
    const { top, bottom } = link.getBoundingClientRect();
    if (top < $("side").getBoundingClientRect().top || bottom > innerHeight) link.scrollIntoView({ block: "center" });
  }

  function drawSections(page, data) {
    openSections?.remove();
    openSections = null;
    const link = entries.get(page.path);
    if (!link || data.sections.length < 2) return;
    const items = data.sections.slice(1).map(({ id, level, title, tokens: size }) => {
      const item = entry(sectionHash(page, id), title, tokens(size));
      item.classList.add(`l${level}`);
      return el("li", item);
    });
    openSections = el("ul.sections", items);
    link.after(openSections);
  }

  // ------------------------------------------------------------------------------------------------------------- Lists

  const OUTLINE = "roaming/outline.md";
  let source = false; // whether lists are shown as they are published

  async function showFile(name) {
    const files = await load("files");
    const file = files.find((one) => one.path === name);
    if (!file) return problem(`${name} is not published`);
    const isHome = name === "llms.txt";
    const isOutline = name === OUTLINE;
    const lists = files.filter((one) => one.path !== OUTLINE);
    const sizes = isOutline ? await measure() : null;
    const draw = () =>
      source ? el("pre.list", file.text) : isOutline ? outline(file.text, sizes) : markdownList(file.text);
    let body = draw();
    const toggle = (event) => {
      source = !source;
      event.currentTarget.setAttribute("aria-pressed", source);
      body.replaceWith((body = draw()));
    };
    const bar = el(
      "div.bar",
      el("h1.grow", isOutline ? "Outline" : name),
      el("span.number", `~${count(file.tokens, "token")}`),
      el("button", { type: "button", "aria-pressed": `${source}`, click: toggle }, "Source"),
      copyButton("Copy", `Copy ${name}`, file.text),
    );
    const above = isHome && [site.note && el("p.note", prose(site.note)), stats(lists)].filter(Boolean);
    return el("div.view", above, bar, lists.length > 1 && !isOutline && fileTree(lists, name), body);
  }

  function stats(lists) {
    const size = lists.reduce((total, one) => total + one.tokens, 0);
    const figures = [
      ["Pages", site.pages.length.toLocaleString("en")],
      ["Sections", site.sections.toLocaleString("en")],
      ["Markdown tokens", `~${short(site.tokens)}`],
      ["Outline tokens", `~${short(site.outline_tokens)}`],
      [lists.length > 1 ? `Tokens of ${lists.length} lists` : "llms.txt tokens", `~${short(size)}`],
    ];
    if (site.base) figures.push(["Left out", site.left_out.length.toLocaleString("en")]);
    return el("dl.stats", figures.map(([term, figure]) => el("div", el("dt", term), el("dd", figure))));
  }

  function fileTree(lists, current) {
    const items = lists.map(({ path, text, tokens: size }) => {
      const link = el("a", { href: hash({ file: path }) }, path);
      setCurrent(link, path === current);
      const title = el("span.muted", { lang: site.language }, text.match(/^# (.*)/)?.[1] ?? "");
      return el("li", el("span", link, title), tokens(size));
    });
    return group(lists.length <= 12, [el("strong", count(lists.length, "list"))], el("ul.rows", items));
  }

  const ITEM = /^- \[((?:[^\\\]]|\\.){0,2000})\]\((\S{1,2000})\)(?::? (.*))?$/;
  const TITLED = /\[((?:[^\\[\]]|\\.){1,500})\]\(([^()\s]{1,2000})\)/g;
  const unescape = (title) => title.replace(/\\([[\]\\])/g, "$1");

  /** Show the lines of an llms.txt: headings, entries with the size of their page, and other text. */
  function markdownList(text) {
    const parts = [];
    let rows = null;
    for (const line of text.split("\n")) {
      const [, title, url, description] = (!line.includes("), [") && ITEM.exec(line)) || [];
      if (url) {
        if (!rows) parts.push((rows = el("ul.rows")));
        const page = byFile.get(parseAddress(url)?.[0]);
        const about = description && muted(description);
        rows.append(el("li", el("span", anchorTo(url, unescape(title)), about), page && tokens(page.tokens)));
        continue;
      }
      rows = null;
      if (/^#{1,6} /.test(line)) parts.push(el("h2", line.replace(/^#+ /, "")));
      else if (line.trim()) parts.push(el("p.muted", titled(line)));
    }
    return el("div.lines", { lang: site.language }, parts);
  }

  /** Return a line with its links by their titles; the line is a quotation or an item of a list. */
  function titled(line) {
    const text = line.replace(/^(>|-) /, "");
    const nodes = [];
    let end = 0;
    for (const match of text.matchAll(TITLED)) {
      nodes.push(...linked(text.slice(end, match.index)), anchorTo(match[2], unescape(match[1])));
      end = match.index + match[0].length;
    }
    return [...nodes, ...linked(text.slice(end))];
  }

  const LINE_ID = /^( *)\[([0-9a-f]{8})\+?\] (.*)$/;

  /** Show the lines of the outline with the size of the page, section or group that each stands for. */
  function outline(text, sizes) {
    const rows = text.split("\n").filter(Boolean).map((line) => {
      const [, indent, id, rest] = LINE_ID.exec(line) ?? [];
      if (!id) return el("li.muted", el("span", line));
      const { page, size } = sizes.get(id) ?? {};
      const cut = rest.indexOf(" — ");
      const [title, opening] = cut < 0 ? [rest, ""] : [rest.slice(0, cut), rest.slice(cut)];
      const name = page ? el("a", { href: sectionHash(page, id) }, title) : el("strong", title);
      const row = el(
        "li",
        el("span", el("span.id.muted", `[${id}]`), " ", name, muted(opening)),
        size !== undefined && tokens(size),
      );
      row.style.paddingInlineStart = `${Math.min(indent.length, 24) * 8}px`;
      return row;
    });
    return el("ol.outline", { lang: site.language }, rows);
  }

  /** Return the page and the number of tokens by the ids of sections, and of groups, which have no page. */
  async function measure() {
    const sizes = new Map();
    for (const { id, sections } of (await load("sections")).pages)
      for (const section of sections)
        sizes.set(section.id, { page: byId.get(id), size: section.id === id ? byId.get(id).tokens : section.tokens });
    const walk = (nav) => {
      for (const item of nav) {
        if (item.id && !pages.has(item.page)) sizes.set(item.id, { size: sum(item) });
        walk(item.children ?? []);
      }
    };
    walk(site.nav);
    return sizes;
  }

  // ---------------------------------------------------------------------------------------------------------- Left out

  function showLeftOut() {
    const parts = [...Map.groupBy(site.left_out, (one) => one.reason)].map(([reason, found]) => {
      const links = found.map(({ path, source: file }) =>
        el("li", el("a", { href: hash({ out: path }) }, file || `/${path}`)),
      );
      const title = [el("strong", prose(reason)), el("span.number", ` ${found.length}`)];
      return group(found.length <= 30, title, el("ul.rows", links));
    });
    const text = parts.length
      ? "Pages without Markdown, by reason. They are in none of the published files."
      : site.base
        ? "Every page of the site is published."
        : "A published site at a URL does not say what it leaves out. Give its folder instead.";
    const title = site.base ? `Left out: ${count(site.left_out.length, "page")}` : "Left out";
    return el("div.view", el("h1", title), el("p.muted", text), parts);
  }

  function showLeftOutPage(path) {
    const one = site.left_out.find((found) => found.path === path);
    if (!one) return problem(`${path} is not left out`);
    const text = el("div.view", el("p", prose(`Not published: ${one.reason}.`)));
    const panel = el("div.markdown", el("p.label", "Markdown"), text);
    return pageView(one.source || `/${one.path}`, [el("span", "Left out")], frame(one.html, one.path), panel);
  }

  // -------------------------------------------------------------------------------------------------------------- Lint

  async function showLint() {
    await loadLint();
    const { data } = lint;
    const rank = ([{ severity }]) => SEVERITIES.indexOf(severity);
    const parts = [...Map.groupBy(data.findings, (one) => one.rule)]
      .sort(([, one], [, other]) => rank(one) - rank(other) || other.length - one.length)
      .map(([rule, found]) => {
        const { severity } = found[0];
        const title = [el("strong", rule), " ", el(`span.${severity}`, count(found.length, severity))];
        const items = found.map((one) => el("li", el("span", place(one), muted(prose(`${one.message} ${one.fix}`)))));
        return group(found.length <= 5, title, el("p.muted", prose(data.rules[rule])), el("ul.rows", items));
      });
    return el("div.view", el("h1", "Lint"), el("p.muted", data.summary), parts);
  }

  function place(finding) {
    const page = pages.get(finding.page);
    if (!page) return "The site";
    const line = el("span.number", ` ${lineOf(finding)}`);
    return el("a", { href: sectionHash(page, finding.section) }, page.title, line);
  }

  /** Return the source of a finding with its line, as far as they are known. */
  function lineOf({ source, source_line: number }) {
    return [source, number].filter(Boolean).join(":");
  }

  // -------------------------------------------------------------------------------------------------------------- Page

  const narrow = matchMedia("(max-width: 999px)");
  let mode = "both";

  async function showPage(values) {
    const page = pages.get(values.get("page"));
    if (!page) return problem(`There is no page ${values.get("page")}`);
    const data = await load(`page-${page.id}`);
    const [first] = data.sections;
    const anchor = values.get("anchor");
    const isWanted = (one) => one.id === values.get("section") || (anchor && one.anchor === anchor);
    const section = data.sections.find(isWanted) ?? first;
    const old = document.querySelector(".page[data-id]");
    const isShown = old?.dataset.id === page.id;
    if (isShown && old.dataset.version === version) {
      old.goTo(section, section !== first || values.has("section"));
      return old;
    }
    const url = webAddress(page.url ?? "");
    const meta = [
      url ? el("a", outside(url), `/${page.path} ↗`) : el("span", `/${page.path}`),
      data.source && el("span", data.source),
      el("span", `~${count(page.tokens, "token")}`),
      el("span", count(data.sections.length, "section")),
      data.tags?.length && el("span", `tags: ${data.tags.join(", ")}`),
    ];
    const html = frame(page.html, page.title, section);
    const view = pageView(page.title, meta, html, markdownPane(page, data), neighbours(page));
    Object.assign(view.dataset, { id: page.id, version });
    view.shown = section;
    view.goTo = (wanted, jump) => goTo(view, page, wanted, jump);
    const scroll = isShown && keepPosition(old.querySelector(".text"), view.querySelector(".text"));
    view.start = () => {
      drawSections(page, data);
      if (scroll) scroll();
      else view.goTo(section, section !== first);
    };
    return view;
  }

  /** Return a function that scrolls a new text as far as the old one, once it is in the page.
   *
   * Sections far from the view have an estimated height until they are drawn: the new ones take those of the old. */
  function keepPosition(old, text) {
    const { scrollTop } = old;
    const sections = [...old.querySelectorAll(".section")];
    const heights = new Map(sections.map((one) => [one.dataset.section, one.offsetHeight]));
    for (const one of text.querySelectorAll(".section")) {
      const height = heights.get(one.dataset.section);
      if (height) one.style.containIntrinsicHeight = `auto ${height}px`;
    }
    return () => (text.scrollTop = scrollTop);
  }

  function pageView(title, meta, html, markdown, near = []) {
    const panes = el("div.panes", html, markdown);
    const show = () => {
      panes.dataset.mode = !html || (narrow.matches && mode === "both") ? "markdown" : mode;
      for (const button of buttons) button.setAttribute("aria-pressed", `${button.dataset.set === panes.dataset.mode}`);
    };
    const set = (event) => {
      mode = event.currentTarget.dataset.set;
      show();
    };
    const buttons = ["HTML", "Both", "Markdown"].map((label) =>
      el("button", { type: "button", "data-set": label.toLowerCase(), click: set }, label),
    );
    show();
    narrow.onchange = show;
    const heading = el("h1.grow", { lang: site.language, title }, title);
    const choice = html && el("div.bar", { role: "group", "aria-label": "Show" }, buttons);
    const head = el("div.head", el("div.bar", heading, choice, near), el("div.meta", meta));
    return el("div.page", head, panes);
  }

  function neighbours(page) {
    const at = site.pages.indexOf(page);
    const link = (other, label, name) => {
      const title = `${name}: ${other?.title}`;
      return other && el("a.button", { href: sectionHash(other), "aria-label": title, title }, label);
    };
    return [link(site.pages[at - 1], "←", "Previous page (K)"), link(site.pages[at + 1], "→", "Next page (J)")];
  }

  /** Return the URL of an HTML file, at the anchor of a section. */
  function address(file, section) {
    const url = site.base + file.split("/").map(encodeURIComponent).join("/");
    return new URL(section?.anchor ? `${url}#${encodeURIComponent(section.anchor)}` : url, document.baseURI).href;
  }

  /** Return the pane with the HTML of a page; null if there is no file of it. */
  function frame(file, title, section) {
    if (!file) return null;
    // No scripts, no forms, no origin.
    const inner = el("iframe", { sandbox: "", src: address(file, section), title: `HTML of ${title}` });
    return el("div.html", el("p.label", "HTML as built, without scripts"), inner);
  }

  function goTo(view, page, section, jump) {
    for (const old of view.querySelectorAll(".section.current")) old.classList.remove("current");
    const block = () => view.querySelector(`[data-section="${section.id}"]`);
    const pane = view.querySelector(".text");
    view.current = () => jump && block()?.classList.add("current");
    view.current();
    pane.scrollTop = jump && block() ? block().offsetTop - pane.offsetTop : 0;
    const inner = view.querySelector("iframe");
    // Replaced, so that the back button leads to the previous page of the preview.
    if (inner && jump && view.shown !== section) inner.contentWindow.location.replace(address(page.html, section));
    view.shown = section;
    for (const link of openSections?.querySelectorAll("a") ?? [])
      setCurrent(link, jump && link.getAttribute("href") === sectionHash(page, section.id));
  }

  function markdownPane(page, data) {
    const head = data.head && el("pre.source.muted", linked(data.head.trim()));
    const text = data.fault
      ? el("div.finding.error", el("p", data.fault))
      : data.sections.map((section, at) => drawSection(page, section, data.sections[at + 1]));
    const region = { lang: site.language, tabindex: "0", role: "region", "aria-label": "Markdown" };
    return el("div.markdown", el("p.label", `Markdown: ${page.markdown}`), el("div.text", region, head, text));
  }

  function drawSection(page, section, next) {
    const { id, level, title, text, aliases } = section;
    const here = findings(page).filter((one) => one.line >= section.line && (!next || one.line < next.line));
    const bar = el(
      "div.bar",
      el("a.id", { href: sectionHash(page, id), title: "Link to this section" }, id),
      muted(`H${level}`),
      tokens(section.tokens),
      aliases?.length && muted({ title: aliases.join(", ") }, count(aliases.length, "former id")),
      el("span.grow"),
      copyButton("Copy id", `Copy id of ${title}`, id),
      copyButton("Copy Markdown", `Copy Markdown of ${title}`, text),
    );
    return el("section.section", { "data-section": id, "aria-label": title }, bar, drawText(section, here));
  }

  /** Return the text of a section with each finding below its line. */
  function drawText(section, found) {
    const lines = section.text.replace(/(\r\n|\n|\r)$/, "").split(/\r\n|\n|\r/);
    const parts = [];
    const state = { fence: "" };
    let start = 0;
    const flush = (end) => {
      const nodes = highlight(lines.slice(start, end), state);
      while (nodes.at(-1) === "\n" || nodes.at(-1) === "") nodes.pop();
      while (nodes[0] === "\n" || nodes[0] === "") nodes.shift();
      if (nodes.length) parts.push(el("pre.source", nodes));
      start = end;
    };
    for (const one of found.toSorted((a, b) => a.line - b.line)) {
      flush(Math.min(lines.length, Math.max(start, one.line - section.line + 1)));
      parts.push(drawFinding(one));
    }
    flush(lines.length);
    return parts;
  }

  function drawFinding(finding) {
    const { severity, rule, message, fix } = finding;
    const where = el("span.number", `  ${lineOf(finding)}`);
    const text = el("p", prose(`${message} ${fix}`));
    return el(`div.finding.${severity}`, el("strong", `${severity}: ${rule}`), where, text);
  }

  /** Return nodes for lines of Markdown: headings, code and the targets of links are marked. */
  function highlight(lines, state) {
    const nodes = [];
    let code = null;
    for (const line of lines) {
      const fence = /^[ \t>]*(?:[-*+] |\d+[.)] )?(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
      const isCode = state.fence !== "" || fence !== "";
      if (fence && !state.fence) state.fence = fence;
      else if (fence.startsWith(state.fence) && state.fence && line.trim().length === fence.length) state.fence = "";
      if (isCode) {
        if (!code) nodes.push((code = el("span.code")));
        code.append(code.firstChild ? `\n${line}` : line || "\n");
        continue;
      }
      code = null;
      if (/^#{1,6} /.test(line)) nodes.push(el("b", line), "\n");
      else nodes.push(...linked(line), "\n");
    }
    return nodes;
  }

  const LINK = /(\]\()([^()\s<>]{1,2000})(?=[)\s])|\b(https?:\/\/[^\s<>()[\]"'`]{1,2000}[^\s<>()[\]"'`.,:;])/g;

  /** Return a line of Markdown with links to pages of the site. */
  function linked(line) {
    const nodes = [];
    let end = 0;
    for (const match of line.matchAll(LINK)) {
      const url = match[2] ?? match[3];
      const at = match.index + (match[1]?.length ?? 0);
      const own = ownAddress(url);
      nodes.push(line.slice(end, at), own ? el("a", { href: own }, url) : el("span.url", url));
      end = at + url.length;
    }
    return [...nodes, line.slice(end)];
  }

  // ------------------------------------------------------------------------------------------------------------ Search

  const find = (query) => fetchJson(`search?${new URLSearchParams({ q: query })}`);

  async function showSearch(query) {
    const hint = "Type words, a question or the id of a section.";
    if (!query.trim()) return el("div.view", el("h1", "Search"), el("p.muted", hint));
    const hits = await find(query);
    say(hits.length ? `${count(hits.length, "section")} found` : "Nothing found");
    const number = hits.length < 30 ? count(hits.length, "section") : "The best 30 sections";
    const none = "No section contains one of these words. An agent would get no result either.";
    const rows = hits.map(({ id, page: pageId, breadcrumb, text: passage }) => {
      const page = byId.get(pageId);
      if (!page) return null;
      const above = breadcrumb.slice(0, -1).join(" › ");
      const link = el("a", { href: sectionHash(page, id) }, breadcrumb.at(-1));
      const result = el("span", above && el("span.muted.small", above), link, muted(passage));
      return el("li", result, el("span.id.number", id));
    });
    const title = hits.length ? `Search: ${query}` : "Nothing found";
    const about = el("p.muted", prose(hits.length ? `${number}, ranked as by \`roaming search\`.` : none));
    return el("div.view", { "data-query": query }, el("h1", title), about, el("ol.rows", rows));
  }

  // ------------------------------------------------------------------------------------------------------------ Router

  const VIEWS = {
    llms: () => showFile("llms.txt"),
    outline: () => showFile(OUTLINE),
    "left-out": showLeftOut,
    lint: showLint,
  };
  let latest;
  let routed = false;

  /** Return the view of an address, and the link of the tree to it. */
  async function openView(values) {
    const own = (name) => $("side").querySelector(`[data-view="${CSS.escape(name)}"]`);
    if (values.has("q")) return [await showSearch(values.get("q")), null];
    if (values.has("page")) {
      const link = entries.get(values.get("page"));
      const shown = document.querySelector(".page")?.dataset.id;
      if (shown !== pages.get(values.get("page"))?.id || !openSections) markCurrent(link);
      return [await showPage(values)];
    }
    if (values.has("out")) return [showLeftOutPage(values.get("out")), own("left-out")];
    if (values.has("section")) return [await showSection(values.get("section")), null];
    const file = values.get("file");
    if (file) return [await showFile(file), own(file === OUTLINE ? "outline" : "llms")];
    const name = values.get("view") ?? "llms";
    return Object.hasOwn(VIEWS, name) ? [await VIEWS[name](), own(name)] : [problem("There is no such view"), null];
  }

  async function route() {
    const current = (latest = {});
    const values = new URLSearchParams(location.hash.slice(1));
    if (document.activeElement !== $("search")) $("search").value = values.get("q") ?? "";
    const failed = (error) => [problem(`This cannot be loaded: ${error.message}`), null];
    const [view, link] = await openView(values).catch(failed);
    if (current !== latest || !view) return;
    if (link !== undefined) markCurrent(link);
    if (view !== $("main").firstElementChild) {
      $("main").replaceChildren(view);
      $("main").scrollTop = 0;
      view.start?.();
      // The focus was on a link of the old view.
      if (routed && document.activeElement === document.body) $("main").focus({ preventScroll: true });
      routed = true;
    }
    closeMenu();
    const heading = view.querySelector("h1")?.textContent;
    document.title = heading ? `${heading} – ${site.name} – preview` : `${site.name} – preview`;
  }

  /** Open a section by its id alone, as the outline names it. */
  async function showSection(id) {
    const all = (await load("sections")).pages;
    const page = all.find((one) => one.sections.some((section) => section.id === id));
    if (!page) return problem(`There is no section ${id}`);
    location.replace(sectionHash(byId.get(page.id), id));
    return null;
  }

  // ---------------------------------------------------------------------------------------------------------- Keyboard

  function closeMenu() {
    $("side").classList.remove("open");
    $("menu").setAttribute("aria-expanded", "false");
  }

  function startListening() {
    addEventListener("hashchange", route);
    addEventListener("keydown", handleKey);
    $("menu").addEventListener("click", () => {
      $("menu").setAttribute("aria-expanded", $("side").classList.toggle("open"));
    });
    $("skip").addEventListener("click", (event) => {
      event.preventDefault();
      $("main").focus();
    });
    let pause;
    $("search").addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(search, 120);
    });
    $("search").addEventListener("keydown", async (event) => {
      if (event.isComposing || (event.key !== "ArrowDown" && event.key !== "Enter")) return;
      event.preventDefault();
      clearTimeout(pause);
      const query = $("search").value;
      if (query && document.querySelector("main .view")?.dataset.query !== query) await search();
      if (event.key === "ArrowDown") document.querySelector("main .rows a")?.focus();
      else document.querySelector("main [data-query] .rows a")?.click();
    });
  }

  let isPushed = false; // whether the search has an entry of its own in the history

  /** Show the results for the words in the search box; without any, the view before them. */
  async function search() {
    const query = $("search").value;
    const isSearching = location.hash.startsWith("#q=");
    if (!isSearching) isPushed = false;
    if (!query) {
      if (isPushed) history.back();
      else location.hash = "";
      return;
    }
    if (isSearching) history.replaceState(null, "", hash({ q: query }));
    else history.pushState(null, "", hash({ q: query }));
    isPushed ||= !isSearching;
    await route();
  }

  function handleKey(event) {
    const { key, target } = event;
    const isTyping = target.matches("input, textarea");
    if (key === "Escape") {
      closeMenu();
      if (isTyping) $("main").focus();
    } else if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
    else if (key === "/") {
      event.preventDefault();
      $("search").focus();
      $("search").select();
    } else if (key === "j" || key === "k") step(key === "j" ? 1 : -1);
    else if (/^Arrow(Down|Up)$/.test(key) && target.matches("#side a, #side summary, main .rows a")) move(event);
  }

  /** Open the next or previous page. */
  function step(by) {
    const path = new URLSearchParams(location.hash.slice(1)).get("page");
    const page = path === null ? (by > 0 ? site.pages[0] : null) : site.pages[site.pages.indexOf(pages.get(path)) + by];
    if (page) location.hash = sectionHash(page);
  }

  /** Move the focus to the next or previous link of the tree or of the results. */
  function move(event) {
    const links = [
      ...document.querySelectorAll(event.target.closest("#side") ? "#side a, #side summary" : "main .rows a"),
    ].filter((link) => link.checkVisibility());
    const next = links[links.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)];
    if (next) next.focus();
    else if (event.key === "ArrowUp" && !event.target.closest("#side")) $("search").focus();
    event.preventDefault();
  }

  // ------------------------------------------------------------------------------------------------------------- Start

  async function open() {
    setSite(await load("site"));
    drawTree();
    await route();
    loadLint().then(showFindings, () => say("The findings cannot be loaded"));
  }

  /** Load everything again when the site has been built again. */
  async function watch() {
    if (document.hidden) return;
    const response = await fetch("version").catch(() => null);
    if (!response?.ok) return;
    const digest = await response.text();
    if (digest === site.digest) return;
    version = `?v=${encodeURIComponent(digest)}`;
    loaded.clear();
    lint = null;
    await open();
    say("The site was built again");
  }

  startListening();
  open().then(
    () => setInterval(watch, 2000),
    (error) => $("main").replaceChildren(problem(error.message)),
  );
})();
