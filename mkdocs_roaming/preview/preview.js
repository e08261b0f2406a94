// The page of the preview. Data is loaded on demand by scripts that call `roamingPreview`, so that the page works from a
// disk as well. Text of the site becomes text nodes only; links lead to the preview or have a scheme that is checked.

(() => {
  "use strict";

  // ------------------------------------------------------------------------------------------------------------- Data

  const waiting = new Map();
  const loaded = new Map();
  let version = "";

  globalThis.roamingPreview = (name, data) => waiting.get(name)?.(data);

  function addScript(src) {
    return new Promise((done, failed) => {
      const script = document.createElement("script");
      Object.assign(script, { src, onload: done, onerror: () => failed(new Error(`${src} cannot be loaded`)) });
      document.head.append(script);
      script.remove();
    });
  }

  /** Return a data file by its name; it is loaded once. */
  function load(name) {
    if (!loaded.has(name)) {
      const data = new Promise((done, failed) => {
        waiting.set(name, done);
        addScript(`data/${name}.js${version}`).catch(failed);
      });
      data.catch(() => loaded.delete(name));
      loaded.set(name, data);
    }
    return loaded.get(name);
  }

  // --------------------------------------------------------------------------------------------------------------- DOM

  const $ = (id) => document.getElementById(id);

  /** Create an element. Attributes with a function are event handlers; null and false ones are left out. */
  function el(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value !== null && value !== false && value !== undefined)
        element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
    return element;
  }

  const say = (text) => ($("status").textContent = text);
  const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
  const short = (number) =>
    number < 1000 ? `${number}` : number < 9950 ? `${(number / 1000).toFixed(1)}k` : `${Math.round(number / 1000)}k`;
  const tokens = (number) =>
    el("span", { class: "number", title: `about ${count(number, "token")}` }, `~${short(number)}`);
  const webAddress = (url) => (/^https?:/i.test(url) ? url : null);
  const hash = (values) => `#${new URLSearchParams(values)}`;
  const sectionHash = (page, section) =>
    hash({ page: page.path, ...(section && section !== page.id ? { section } : {}) });

  function copyButton(label, name, text) {
    const copy = async (event) => {
      const button = event.currentTarget;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
        say("Copied");
      } catch {
        say("The browser does not allow copying here");
      }
      setTimeout(() => (button.textContent = label), 1600);
    };
    return el("button", { type: "button", class: "quiet", "aria-label": name, click: copy }, label);
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
    const totals = [
      count(site.pages.length, "page"),
      count(site.sections, "section"),
      `~${count(site.tokens, "token")}`,
    ];
    $("totals").textContent = `${totals.join(" · ")} · outline ~${count(site.outline_tokens, "token")}`;
    $("totals").title = $("totals").textContent;
    $("name").textContent = site.name;
    $("name").title = site.name;
    document.title = `${site.name} – preview`;
  }

  /** Return the page of the preview that a link of the Markdown leads to, as a hash. */
  function ownAddress(url) {
    if (!url.startsWith(site.url)) return null;
    const [address, anchor] = url.slice(site.url.length).split("#");
    let path;
    try {
      path = decodeURIComponent(address);
    } catch {
      return null;
    }
    const page = byFile.get(path) ?? pages.get(path);
    if (page) return hash({ page: page.path, ...(anchor ? { anchor } : {}) });
    return /(^|\/)llms[^/]*\.txt$|^roaming\/outline\.md$/.test(path) && path !== "llms-full.txt"
      ? hash({ file: path })
      : null;
  }

  function anchorTo(url, text) {
    const own = ownAddress(url);
    const address = own ?? (url.startsWith(site.url) ? null : webAddress(url)); // the site itself may not be published
    if (!address) return el("span", {}, text);
    return el(
      "a",
      own ? { href: own } : { href: address, target: "_blank", rel: "noopener noreferrer" },
      text,
      own ? "" : " ↗",
    );
  }

  function findings(page) {
    return lint ? (lint.byPage.get(page.id) ?? []) : [];
  }

  function badge(found) {
    if (!found.length) return null;
    const worst = ["error", "warning", "hint"].find((severity) => found.some((one) => one.severity === severity));
    const label = count(found.length, `lint ${worst}`);
    return el("span", { class: `badge ${worst}`, title: label, role: "img", "aria-label": label }, `${found.length}`);
  }

  async function loadLint() {
    const data = await load("lint");
    if (lint?.data === data) return;
    const byPage = new Map();
    for (const one of data.findings) {
      if (!one.page) continue;
      if (!byPage.has(one.page)) byPage.set(one.page, []);
      byPage.get(one.page).push(one);
    }
    lint = { data, byPage };
  }

  /** Add the findings to the tree and to the page that is shown. */
  async function showFindings() {
    for (const [path, link] of entries) if (byPage(path).length) link.lastChild.before(badge(byPage(path)));
    for (const summary of $("side").querySelectorAll("summary")) {
      const inside = [...entries]
        .filter(([, link]) => summary.parentElement.contains(link))
        .flatMap(([path]) => byPage(path));
      if (inside.length) summary.lastChild.before(badge(inside));
    }
    $("side")
      .querySelector("[data-view=lint]")
      .append(el("span", { class: "number" }, `${lint.data.score}/100`));
    const view = document.querySelector(".page[data-id]");
    const page = byId.get(view?.dataset.id);
    if (page && findings(page).length) {
      const pane = markdownPane(page, await load(`page-${page.id}`), findings(page));
      const { scrollTop } = view.querySelector(".text");
      view.querySelector(".markdown").replaceWith(pane);
      view.querySelector(".text").scrollTop = scrollTop;
      view.current?.();
    }
  }
  const byPage = (path) => findings(pages.get(path));

  // -------------------------------------------------------------------------------------------------------------- Tree

  const entries = new Map(); // links of pages by path
  let openSections = null;

  const VIEWS = [
    ["llms.txt", {}, () => null],
    ["Outline", { view: "outline" }, () => tokens(site.outline_tokens)],
    ["Left out", { view: "left-out" }, () => site.base && el("span", { class: "number" }, `${site.left_out.length}`)],
    ["Lint", { view: "lint" }, () => null],
  ];

  function drawTree() {
    entries.clear();
    openSections = null;
    const open = new Set([...$("side").querySelectorAll("details[open]")].map((details) => details.dataset.key));
    const views = VIEWS.map(([title, values, figure]) => {
      const href = hash(values);
      return el(
        "li",
        {},
        el("a", { class: "entry", href, "data-view": values.view ?? "llms" }, el("span", {}, title), figure()),
      );
    });
    const tree = el("ul", { lang: site.language }, ...drawEntries(site.nav, "", open));
    $("side").replaceChildren(el("ul", { class: "views" }, ...views), tree);
  }

  function drawEntries(nav, key, open) {
    return nav
      .map((entry, at) => {
        const page = entry.page !== undefined && entry.page !== null ? pages.get(entry.page) : null;
        const below = entry.children ?? [];
        const own = page ? drawPage(page, entry.title) : entry.url ? drawLink(entry) : null;
        if (!below.length) return own ? el("li", {}, own) : null;
        const path = `${key}/${at}`;
        const summary = el("summary", {}, el("span", {}, entry.title), tokens(sum(entry)));
        const list = el("ul", {}, own && el("li", {}, own), ...drawEntries(below, path, open));
        return el(
          "li",
          {},
          el("details", { "data-key": path, open: open.has(path) || site.pages.length <= 40 }, summary, list),
        );
      })
      .filter(Boolean);
  }

  const sum = (entry) =>
    (pages.get(entry.page)?.tokens ?? 0) + (entry.children ?? []).reduce((total, child) => total + sum(child), 0);

  function drawPage(page, title) {
    const link = el(
      "a",
      { class: "entry", href: sectionHash(page) },
      el("span", {}, title || page.title),
      tokens(page.tokens),
    );
    entries.set(page.path, link);
    return link;
  }

  function drawLink(entry) {
    const address = webAddress(entry.url);
    const attributes = address ? { href: address, target: "_blank", rel: "noopener noreferrer" } : {};
    return el(address ? "a" : "span", { class: "entry muted", ...attributes }, el("span", {}, entry.title, " ↗"));
  }

  function markCurrent(link) {
    for (const old of $("side").querySelectorAll("[aria-current]")) old.removeAttribute("aria-current");
    openSections?.remove();
    openSections = null;
    if (!link) return;
    link.setAttribute("aria-current", "page");
    for (let up = link.closest("details"); up; up = up.parentElement.closest("details")) up.open = true;
    const { top, bottom } = link.getBoundingClientRect();
    if (top < $("side").getBoundingClientRect().top || bottom > innerHeight) link.scrollIntoView({ block: "center" });
  }

  function drawSections(page, data) {
    const link = entries.get(page.path);
    const below = data.sections.slice(1);
    openSections?.remove();
    openSections = null;
    if (!link || !below.length) return;
    const items = below.map((section) =>
      el(
        "li",
        {},
        el(
          "a",
          { class: `entry l${section.level}`, href: sectionHash(page, section.id) },
          el("span", {}, section.title),
          tokens(section.tokens),
        ),
      ),
    );
    openSections = el("ul", { class: "sections" }, ...items);
    link.after(openSections);
  }

  // ------------------------------------------------------------------------------------------------------------- Lists

  let source = false; // whether lists are shown as they are published

  async function showFile(name) {
    const files = await load("files");
    const file = files.find((one) => one.path === name);
    if (!file) return showProblem(`${name} is not published`);
    const isHome = name === "llms.txt";
    const lists = files.filter((one) => one.path !== "roaming/outline.md");
    const toggle = (event) => {
      source = !source;
      event.currentTarget.setAttribute("aria-pressed", source);
      body.replaceWith((body = source ? el("pre", { class: "list" }, file.text) : parsed()));
    };
    const sizes = name === "roaming/outline.md" ? await measure() : null;
    const parsed = () => (sizes ? outline(file.text, sizes) : markdownList(file.text));
    let body = source ? el("pre", { class: "list" }, file.text) : parsed();
    return el(
      "div",
      { class: "view" },
      isHome && site.note ? el("p", { class: "note" }, ...prose(site.note)) : null,
      isHome ? stats(lists) : null,
      el(
        "div",
        { class: "bar" },
        el("h1", { class: "grow" }, name === "roaming/outline.md" ? "Outline" : name),
        el("span", { class: "number" }, `~${count(file.tokens, "token")}`),
        el("button", { type: "button", "aria-pressed": `${source}`, click: toggle }, "Source"),
        copyButton("Copy", `Copy ${name}`, file.text),
      ),
      lists.length > 1 && name !== "roaming/outline.md" ? fileTree(lists, name) : null,
      body,
    );
  }

  function stats(lists) {
    const figures = [
      ["Pages", site.pages.length.toLocaleString("en")],
      ["Sections", site.sections.toLocaleString("en")],
      ["Markdown tokens", `~${short(site.tokens)}`],
      ["Outline tokens", `~${short(site.outline_tokens)}`],
      [
        lists.length > 1 ? `Tokens of ${lists.length} lists` : "llms.txt tokens",
        `~${short(lists.reduce((total, one) => total + one.tokens, 0))}`,
      ],
      ...(site.base ? [["Left out", site.left_out.length.toLocaleString("en")]] : []),
    ];
    return el(
      "dl",
      { class: "stats" },
      ...figures.map(([term, figure]) => el("div", {}, el("dt", {}, term), el("dd", {}, figure))),
    );
  }

  function fileTree(lists, current) {
    const items = lists.map((one) =>
      el(
        "li",
        {},
        el(
          "span",
          {},
          el("a", { href: hash({ file: one.path }), "aria-current": one.path === current && "true" }, one.path),
          el("span", { class: "muted", lang: site.language }, one.text.match(/^# (.*)/)?.[1] ?? ""),
        ),
        tokens(one.tokens),
      ),
    );
    return el(
      "details",
      { class: "group", open: lists.length <= 12 },
      el("summary", {}, el("strong", {}, count(lists.length, "list"))),
      el("ul", { class: "rows" }, ...items),
    );
  }

  const ITEM = /^- \[((?:[^\\\]]|\\.){0,2000})\]\((\S{1,2000})\)(?::? (.*))?$/;

  /** Show the lines of an llms.txt: headings, entries with the size of their page, and other text. */
  function markdownList(text) {
    const parts = [];
    let rows = null;
    for (const line of text.split("\n")) {
      const item = ITEM.exec(line);
      if (item && !line.includes("), [")) {
        if (!rows) parts.push((rows = el("ul", { class: "rows" })));
        const page = target(item[2]);
        rows.append(
          el(
            "li",
            {},
            el(
              "span",
              {},
              anchorTo(item[2], unescape(item[1])),
              item[3] ? el("span", { class: "muted" }, item[3]) : null,
            ),
            page ? tokens(page.tokens) : null,
          ),
        );
        continue;
      }
      rows = null;
      if (/^#{1,6} /.test(line)) parts.push(el("h2", {}, line.replace(/^#+ /, "")));
      else if (line.trim()) parts.push(el("p", { class: "muted" }, ...titled(line)));
    }
    return el("div", { class: "lines", lang: site.language }, ...parts);
  }

  /** Return a line with its links by their titles; the line is a quotation or an item of a list. */
  function titled(line) {
    const text = line.replace(/^(>|-) /, "");
    const nodes = [];
    let end = 0;
    for (const match of text.matchAll(/\[((?:[^\\[\]]|\\.){1,500})\]\(([^()\s]{1,2000})\)/g)) {
      nodes.push(...linked(text.slice(end, match.index)), anchorTo(match[2], unescape(match[1])));
      end = match.index + match[0].length;
    }
    return [...nodes, ...linked(text.slice(end))];
  }

  const unescape = (title) => title.replace(/\\([[\]\\])/g, "$1");

  /** Return a sentence with its code, which is between backticks. */
  const prose = (text) => text.split("`").map((part, at) => (at % 2 ? el("code", {}, part) : part));

  function target(url) {
    if (!url.startsWith(site.url)) return null;
    try {
      return byFile.get(decodeURIComponent(url.slice(site.url.length)));
    } catch {
      return null;
    }
  }

  const LINE_ID = /^( *)\[([0-9a-f]{8})\+?\] (.*)$/;

  /** Show the lines of the outline with the size of the page, section or group that each stands for. */
  function outline(text, sizes) {
    const rows = text
      .split("\n")
      .filter(Boolean)
      .map((line) => {
        const [, indent, id, rest] = LINE_ID.exec(line) ?? [];
        if (!id) return el("li", { class: "muted" }, el("span", {}, line));
        const { page, size } = sizes.get(id) ?? {};
        const cut = rest.indexOf(" — ");
        const [title, opening] = cut < 0 ? [rest, ""] : [rest.slice(0, cut), rest.slice(cut)];
        const name = page ? el("a", { href: sectionHash(page, id) }, title) : el("strong", {}, title);
        const row = el(
          "li",
          {},
          el("span", {}, el("span", { class: "id muted" }, `[${id}] `), name, el("span", { class: "muted" }, opening)),
          size === undefined ? null : tokens(size),
        );
        row.style.paddingInlineStart = `${Math.min(indent.length, 24) * 8}px`;
        return row;
      });
    return el("ol", { class: "outline", lang: site.language }, ...rows);
  }

  /** Return the page and the number of tokens by the ids of sections, and of groups, which have no page. */
  async function measure() {
    const sizes = new Map();
    for (const { id, sections } of (await load("sections")).pages)
      for (const section of sections)
        sizes.set(section.id, { page: byId.get(id), size: section.id === id ? byId.get(id).tokens : section.tokens });
    const walk = (nav) =>
      nav.forEach((entry) => {
        if (entry.id && !pages.has(entry.page)) sizes.set(entry.id, { size: sum(entry) });
        walk(entry.children ?? []);
      });
    walk(site.nav);
    return sizes;
  }

  // ---------------------------------------------------------------------------------------------------------- Left out

  function showLeftOut() {
    const groups = new Map();
    for (const one of site.left_out) {
      if (!groups.has(one.reason)) groups.set(one.reason, []);
      groups.get(one.reason).push(one);
    }
    const parts = [...groups].map(([reason, found]) =>
      el(
        "details",
        { class: "group", open: found.length <= 30 },
        el("summary", {}, el("strong", {}, ...prose(reason)), el("span", { class: "number" }, ` ${found.length}`)),
        el(
          "ul",
          { class: "rows" },
          ...found.map((one) => el("li", {}, el("a", { href: hash({ out: one.path }) }, one.source || `/${one.path}`))),
        ),
      ),
    );
    const none = el(
      "p",
      { class: "muted" },
      site.base
        ? "Every page of the site is published."
        : "A published site at a URL does not say what it leaves out. Give its folder instead.",
    );
    const head = el(
      "p",
      { class: "muted" },
      "Pages without Markdown, by reason. They are in none of the published files.",
    );
    return el(
      "div",
      { class: "view" },
      el("h1", {}, site.base ? `Left out: ${count(site.left_out.length, "page")}` : "Left out"),
      ...(parts.length ? [head, ...parts] : [none]),
    );
  }

  function showLeftOutPage(path) {
    const one = site.left_out.find((found) => found.path === path);
    if (!one) return showProblem(`${path} is not left out`);
    const panel = el(
      "div",
      { class: "markdown" },
      el("p", { class: "label" }, "Markdown"),
      el("div", { class: "view" }, el("p", {}, ...prose(`Not published: ${one.reason}.`))),
    );
    return pageView(one.source || `/${one.path}`, [el("span", {}, "Left out")], frame(one.html, one.path), panel);
  }

  // -------------------------------------------------------------------------------------------------------------- Lint

  async function showLint() {
    await loadLint();
    const { data } = lint;
    const groups = new Map();
    for (const one of data.findings) {
      if (!groups.has(one.rule)) groups.set(one.rule, []);
      groups.get(one.rule).push(one);
    }
    const order = ["error", "warning", "hint"];
    const sorted = [...groups].sort(
      ([, one], [, other]) =>
        order.indexOf(one[0].severity) - order.indexOf(other[0].severity) || other.length - one.length,
    );
    const parts = sorted.map(([rule, found]) =>
      el(
        "details",
        { class: "group", open: found.length <= 5 },
        el(
          "summary",
          {},
          el("strong", {}, rule),
          " ",
          el(
            "span",
            { class: found[0].severity },
            `${found.length} ${found[0].severity}${found.length === 1 ? "" : "s"}`,
          ),
        ),
        el("p", { class: "muted" }, ...prose(data.rules[rule])),
        el(
          "ul",
          { class: "rows" },
          ...found.map((one) =>
            el(
              "li",
              {},
              el("span", {}, place(one), el("span", { class: "muted" }, ...prose(`${one.message} ${one.fix}`))),
            ),
          ),
        ),
      ),
    );
    return el("div", { class: "view" }, el("h1", {}, "Lint"), el("p", { class: "muted" }, data.summary), ...parts);
  }

  function place(finding) {
    const page = byId.get(finding.page);
    if (!page) return "The site";
    return el(
      "a",
      { href: hash({ page: page.path, section: finding.section }) },
      page.title,
      el("span", { class: "number" }, ` ${finding.source || `line ${finding.line}`}`),
    );
  }

  // -------------------------------------------------------------------------------------------------------------- Page

  const narrow = matchMedia("(max-width: 999px)");
  let mode = "both";

  async function showPage(values) {
    const page = pages.get(values.get("page"));
    if (!page) return showProblem(`There is no page ${values.get("page")}`);
    const data = await load(`page-${page.id}`);
    const anchor = values.get("anchor");
    const section =
      data.sections.find((one) => one.id === values.get("section") || (anchor && one.anchor === anchor)) ??
      data.sections[0];
    const nested = document.querySelector(".page[data-id]");
    if (nested?.dataset.id !== page.id || nested.dataset.version !== version) {
      const found = findings(page);
      const meta = [
        webAddress(page.url ?? "")
          ? el("a", { href: page.url, target: "_blank", rel: "noopener noreferrer" }, `/${page.path} ↗`)
          : el("span", {}, `/${page.path}`),
        data.source ? el("span", {}, data.source) : null,
        el("span", {}, `~${count(page.tokens, "token")}`),
        el("span", {}, count(data.sections.length, "section")),
        data.tags?.length ? el("span", {}, `tags: ${data.tags.join(", ")}`) : null,
      ];
      const view = pageView(
        page.title,
        meta,
        frame(page.html, page.title, section),
        markdownPane(page, data, found),
        page,
      );
      view.dataset.id = page.id;
      view.dataset.version = version;
      view.shown = section;
      view.goTo = (wanted, jump) => goTo(view, page, wanted, jump);
      const scrolled = nested?.dataset.id === page.id ? nested.querySelector(".text").scrollTop : null; // built again
      view.start = () => {
        drawSections(page, data);
        if (scrolled === null) view.goTo(section, section !== data.sections[0]);
        else view.querySelector(".text").scrollTop = scrolled;
      };
      return view;
    }
    nested.goTo(section, section !== data.sections[0] || values.has("section"));
    return nested;
  }

  function pageView(title, meta, html, markdown, page) {
    const panes = el("div", { class: "panes" }, html ?? "", markdown);
    const show = () => {
      panes.dataset.mode = !html || (narrow.matches && mode === "both") ? "markdown" : mode;
      for (const button of buttons) button.setAttribute("aria-pressed", `${button.dataset.set === panes.dataset.mode}`);
    };
    const set = (event) => {
      mode = event.currentTarget.dataset.set;
      show();
    };
    const buttons = [
      ["html", "HTML"],
      ["both", "Both"],
      ["markdown", "Markdown"],
    ].map(([name, label]) => el("button", { type: "button", "data-set": name, click: set }, label));
    show();
    narrow.onchange = show;
    const near = page ? neighbours(page) : [];
    return el(
      "div",
      { class: "page" },
      el(
        "div",
        { class: "head" },
        el(
          "div",
          { class: "bar" },
          el("h1", { class: "grow", lang: site.language, title }, title),
          html ? el("div", { class: "bar", role: "group", "aria-label": "Show" }, ...buttons) : "",
          ...near,
        ),
        el("div", { class: "meta" }, ...meta),
      ),
      panes,
    );
  }

  function neighbours(page) {
    const at = site.pages.indexOf(page);
    const link = (other, label, name) =>
      other
        ? el(
            "a",
            {
              class: "button",
              href: sectionHash(other),
              "aria-label": `${name}: ${other.title}`,
              title: `${name}: ${other.title}`,
            },
            label,
          )
        : null;
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
    // No scripts, no forms, no origin. On a disk, a page without an origin could not load its style sheets.
    const sandbox = location.protocol === "file:" ? "allow-same-origin" : "";
    const src = address(file, section);
    return el(
      "div",
      { class: "html" },
      el("p", { class: "label" }, "HTML, as built"),
      el("iframe", { sandbox, src, title: `HTML of ${title}` }),
    );
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
      link.toggleAttribute("aria-current", jump && link.getAttribute("href") === sectionHash(page, section.id));
  }

  function markdownPane(page, data, found) {
    const own = data.head ? [el("pre", { class: "source muted" }, ...linked(data.head.trim()))] : [];
    const text = data.fault
      ? [el("p", { class: "finding error" }, el("p", {}, data.fault))]
      : data.sections.map((section, at) => drawSection(page, section, data.sections[at + 1], found));
    return el(
      "div",
      { class: "markdown" },
      el("p", { class: "label" }, `Markdown: ${page.markdown}`),
      el(
        "div",
        { class: "text", lang: site.language, tabindex: "0", role: "region", "aria-label": "Markdown" },
        ...own,
        ...text,
      ),
    );
  }

  function drawSection(page, section, next, found) {
    const here = found.filter((one) => one.line >= section.line && (!next || one.line < next.line));
    const bar = el(
      "div",
      { class: "bar" },
      el("a", { class: "id", href: sectionHash(page, section.id), title: "Link to this section" }, section.id),
      el("span", { class: "muted" }, `H${section.level}`),
      tokens(section.tokens),
      section.aliases?.length
        ? el("span", { class: "muted", title: section.aliases.join(", ") }, count(section.aliases.length, "former id"))
        : null,
      el("span", { class: "grow" }),
      copyButton("Copy id", `Copy id of ${section.title}`, section.id),
      copyButton("Copy Markdown", `Copy Markdown of ${section.title}`, section.text),
    );
    return el(
      "section",
      { class: "section", "data-section": section.id, "aria-label": section.title },
      bar,
      ...drawText(section, here),
    );
  }

  /** Return the text of a section with each finding below its line. */
  function drawText(section, found) {
    const lines = section.text.replace(/(\r\n|\n|\r)$/, "").split(/\r\n|\n|\r/);
    const marks = [...found].sort((one, other) => one.line - other.line);
    const parts = [];
    const state = { fence: "" };
    let start = 0;
    const flush = (end) => {
      const nodes = highlight(lines.slice(start, end), state);
      while (nodes.at(-1) === "\n" || nodes.at(-1) === "") nodes.pop();
      while (nodes[0] === "\n" || nodes[0] === "") nodes.shift();
      if (nodes.length) parts.push(el("pre", { class: "source" }, ...nodes));
      start = end;
    };
    for (const one of marks) {
      flush(Math.min(lines.length, Math.max(start, one.line - section.line + 1)));
      parts.push(drawFinding(one));
    }
    flush(lines.length);
    return parts;
  }

  function drawFinding(one) {
    return el(
      "div",
      { class: `finding ${one.severity}` },
      el("strong", {}, `${one.severity}: ${one.rule}`),
      el("span", { class: "number" }, `  ${one.source || `line ${one.line}`}`),
      el("p", {}, ...prose(`${one.message} ${one.fix}`)),
    );
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
        if (!code) nodes.push((code = el("span", { class: "code" })));
        code.append(code.firstChild ? `\n${line}` : line || "\n");
        continue;
      }
      code = null;
      if (/^#{1,6} /.test(line)) nodes.push(el("b", {}, line), "\n");
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
      nodes.push(line.slice(end, at), own ? el("a", { href: own }, url) : el("span", { class: "url" }, url));
      end = at + url.length;
    }
    return [...nodes, line.slice(end)];
  }

  function showProblem(text) {
    return el("div", { class: "view" }, el("h1", {}, "Nothing here"), el("p", {}, text));
  }

  // ------------------------------------------------------------------------------------------------------------ Search

  let finder = null;

  async function find(query) {
    if (site.live) {
      const response = await fetch(`search?${new URLSearchParams({ q: query })}`);
      if (!response.ok) throw new Error(`${response.status}`);
      return response.json();
    }
    if (!finder) {
      await addScript("finder.js");
      finder = new globalThis.RoamingFinder(await load("sections"));
    }
    while (!finder.index(20)) await new Promise((next) => setTimeout(next));
    return finder
      .find(query)
      .slice(0, 30)
      .map((section) => ({ id: section.id, page: section.page.id, breadcrumb: section.path, text: section.opening }));
  }

  async function showSearch(query) {
    if (!query.trim())
      return el(
        "div",
        { class: "view" },
        el("h1", {}, "Search"),
        el("p", { class: "muted" }, "Type words, a question or the id of a section."),
      );
    const hits = await find(query);
    const how = site.live
      ? "ranked as by `roaming search`"
      : "ranked by titles and openings, as in the widget; `roaming preview` with its server ranks as `roaming search`";
    const none = site.live
      ? "No section contains one of these words. An agent would get no result either."
      : "No title or opening contains one of these words.";
    say(hits.length ? `${count(hits.length, "section")} found` : "Nothing found");
    const rows = hits.map((hit) => {
      const page = byId.get(hit.page);
      const above = hit.breadcrumb.slice(0, -1).join(" › ");
      return (
        page &&
        el(
          "li",
          {},
          el(
            "span",
            {},
            above ? el("span", { class: "muted small" }, above) : null,
            el("a", { href: sectionHash(page, hit.id) }, hit.breadcrumb.at(-1)),
            el("span", { class: "muted" }, hit.text),
          ),
          el("span", { class: "id number" }, hit.id),
        )
      );
    });
    return el(
      "div",
      { class: "view" },
      el("h1", {}, hits.length ? `Search: ${query}` : "Nothing found"),
      el(
        "p",
        { class: "muted" },
        hits.length
          ? prose(`${hits.length < 30 ? count(hits.length, "section") : "The best 30 sections"}, ${how}.`)
          : none,
      ),
      el("ol", { class: "rows" }, ...rows),
    );
  }

  // ------------------------------------------------------------------------------------------------------------ Router

  let latest;
  let routed = false;

  async function route() {
    const current = (latest = {});
    const values = new URLSearchParams(location.hash.slice(1));
    const only = values.get("section");
    let view, link;
    try {
      if (document.activeElement !== $("search")) $("search").value = values.get("q") ?? "";
      if (values.has("q")) view = await showSearch(values.get("q"));
      else if (values.has("page")) {
        link = entries.get(values.get("page"));
        if (document.querySelector(".page")?.dataset.id !== pages.get(values.get("page"))?.id || !openSections)
          markCurrent(link);
        view = await showPage(values);
      } else if (values.has("out")) view = showLeftOutPage(values.get("out"));
      else if (only) view = await showSection(only);
      else if (values.has("file") || !values.get("view")) view = await showFile(values.get("file") ?? "llms.txt");
      else if (values.get("view") === "outline") view = await showFile("roaming/outline.md");
      else if (values.get("view") === "left-out") view = showLeftOut();
      else if (values.get("view") === "lint") view = await showLint();
      else view = showProblem("There is no such view");
    } catch (error) {
      view = showProblem(`This cannot be loaded: ${error.message}`);
    }
    if (current !== latest || !view) return;
    if (!values.has("page")) {
      const name = values.get("view") ?? (values.has("out") ? "left-out" : values.has("q") || only ? "" : "llms");
      markCurrent(name && $("side").querySelector(`[data-view="${CSS.escape(name)}"]`));
    }
    if (view !== $("main").firstElementChild) {
      $("main").replaceChildren(view);
      $("main").scrollTop = 0;
      view.start?.();
      if (routed && document.activeElement === document.body) $("main").focus({ preventScroll: true }); // a link of the old view
      routed = true;
    }
    closeMenu();
    const heading = view.querySelector("h1")?.textContent;
    document.title = heading ? `${heading} – ${site.name} – preview` : `${site.name} – preview`;
  }

  /** Open a section by its id alone, as the outline names it. */
  async function showSection(id) {
    const hits = (await load("sections")).pages;
    const page = hits.find((one) => one.sections.some((section) => section.id === id));
    if (!page) return showProblem(`There is no section ${id}`);
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
    $("menu").addEventListener("click", () => {
      const isOpen = $("side").classList.toggle("open");
      $("menu").setAttribute("aria-expanded", isOpen);
    });
    $("skip").addEventListener("click", (event) => {
      event.preventDefault();
      $("main").focus();
    });
    let isPushed = false;
    let pause;
    $("search").addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(() => {
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
        route();
      }, 120);
    });
    $("search").addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "Enter") {
        const first = document.querySelector("main .rows a");
        if (first && event.key === "Enter") first.click();
        else first?.focus();
        event.preventDefault();
      }
    });
    addEventListener("keydown", (event) => {
      const isTyping = event.target.matches("input, textarea");
      if (event.key === "Escape") {
        closeMenu();
        if (isTyping) $("main").focus();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
      if (event.key === "/") {
        event.preventDefault();
        $("search").focus();
        $("search").select();
      } else if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
      else if (
        (event.key === "ArrowDown" || event.key === "ArrowUp") &&
        event.target.matches("#side a, #side summary, main .rows a")
      )
        move(event);
    });
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
    () => site.live && setInterval(watch, 2000),
    (error) => $("main").replaceChildren(showProblem(error.message)),
  );
})();
