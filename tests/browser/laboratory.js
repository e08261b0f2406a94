// Functions for the pages of the laboratory of themes; `isHit` says whether an element is the one at a point.
window.lab = {
  host: () => document.querySelector("roaming-ask"),
  panel: () => lab.host().shadowRoot?.querySelector("dialog[open]"),
  part: (name) => lab.host().shadowRoot.querySelector(`[part=${name}]`),
  isHit(target, x, y, owner = target) {
    const hit = document.elementFromPoint(x, y);
    return !!hit && (owner === hit || owner.contains(hit));
  },
  center: (one) => { const { x, y, width, height } = one.getBoundingClientRect(); return [x + width / 2, y + height / 2]; },
  covered(parts) {
    return parts.filter((name) => {
      const one = lab.part(name);
      return one?.checkVisibility() && !lab.isHit(one, ...lab.center(one), lab.host());
    });
  },
  // Links and fields of headers that stay in sight, which the panel must not cover.
  coveredInHeader() {
    const headers = [...document.querySelectorAll("header, .navbar, .md-header, [class*=menu-bar]")].filter((one) =>
      /sticky|fixed/.test(getComputedStyle(one).position) && one.getBoundingClientRect().top < 100);
    return headers.flatMap((one) => [...one.querySelectorAll("a, button, input")]).filter((one) => {
      const [x, y] = lab.center(one);
      return one.checkVisibility({ visibilityProperty: true }) && document.elementFromPoint(x, y) === lab.host();
    }).map((one) => one.outerHTML.slice(0, 90));
  },
  blocks: () => [...document.querySelectorAll(":is(main, [role=main], article) :is(h1, h2, p, li)")].filter((one) =>
    one.checkVisibility() && !one.closest("nav, table, aside") && one.innerText.trim()),
  width: () => Math.max(...lab.blocks().filter((one) => one.localName === "p").map((one) => one.clientWidth)),
  // Lines of the article that something covers or cuts; with a floating panel those beside it.
  async hidden() {
    const left = lab.panel()?.getBoundingClientRect().left ?? innerWidth;
    const floats = !document.documentElement.hasAttribute("data-roaming-docked");
    const found = [];
    for (const one of lab.blocks()) {
      one.scrollIntoView({ block: "center", behavior: "instant" });
      await new Promise((done) => requestAnimationFrame(done));
      const range = document.createRange();
      range.selectNodeContents(one);
      for (const { left: start, right: end, top, width, height } of range.getClientRects()) {
        if (width < 4 || height < 8 || top < 0) continue;
        for (const x of [start + 2, end - 2])
          if (!(floats && x >= left - 6) && !lab.isHit(one, x, top + height / 2)) {
            const hit = document.elementFromPoint(x, top + height / 2);
            const style = hit && getComputedStyle(hit);
            found.push(`${one.localName} ${one.innerText.slice(0, 30)} at ${Math.round(x)}: ${hit?.localName}.${hit?.className}`);
          }
      }
    }
    scrollTo({ top: 0, behavior: "instant" });
    await new Promise((done) => requestAnimationFrame(done));
    return found.slice(0, 5);
  },
  banner(text) {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode())
      if (walker.currentNode.data.trim() === text && walker.currentNode.parentElement.checkVisibility()) return walker.currentNode.parentElement;
  },
  // What is at the end of the line of the banner: the page itself would be a white block.
  besideBanner(text) {
    const one = lab.banner(text);
    if (!one) return "";
    const range = document.createRange();
    range.selectNodeContents(one);
    const { left, right, top, height } = range.getBoundingClientRect();
    if (top < 0) return "";
    const faults = [left + 2, right - 2].filter((x) => !lab.isHit(one, x, top + height / 2)).map((x) => `covered at ${x}`);
    const hit = document.elementFromPoint(innerWidth - 20, top + height / 2);
    if (!hit || hit === document.body || hit === document.documentElement) faults.push("a block of the page beside it");
    return faults.join();
  },
  contrast(one) {
    const [a, b] = lab.luminances(one).sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  },
  // Of the text and of its background
  luminances(one) {
    const rgb = (text) => {
      const context = document.createElement("canvas").getContext("2d");
      context.fillStyle = text;
      context.fillRect(0, 0, 1, 1);
      const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((part) => ((part / 255 + 0.055) / 1.055) ** 2.4);
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    let back = one;
    while (back && /rgba\(0, 0, 0, 0\)|transparent/.test(getComputedStyle(back).backgroundColor))
      back = back.parentElement ?? back.getRootNode().host;
    return [getComputedStyle(one).color, back ? getComputedStyle(back).backgroundColor : "#fff"].map(rgb);
  },
};
window.shifts = [];
new PerformanceObserver((list) => shifts.push(...list.getEntries().filter((one) => !one.hadRecentInput).map(({ value }) => value)))
  .observe({ type: "layout-shift", buffered: true });
