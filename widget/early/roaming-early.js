// Runs before the page is first painted, and loads <roaming-ask> after that: styles the button in the header of Material, and
// keeps the place of a panel that was open on the page before.
//
//   <script src="roaming/roaming-early.js"></script>      in the head, beside the style sheets, which are as urgent
//
// A classic script, since modules are executed too late. The smaller it is, the earlier the page is painted.

// The page beside a docked panel. Headers and banners of known themes keep the whole width; others shrink with the page, and
// the panel is beside them. The table of contents leaves its place where the article would become narrow.
const DOCKED = ":root[data-roaming-docked]";
const NARROW = ":root[data-roaming-docked=narrow]";
// The button that a build adds to the header of Material.
const BUTTON = ".md-header [data-roaming-open][aria-expanded]";
const RING = "box-shadow:inset 0 0 0 1px color-mix(in srgb,currentColor 36%,transparent)";
const STYLE = `@media screen and (min-width:1100px){
${DOCKED} body{padding-inline-end:var(--roaming-inset)}
${DOCKED} :is(body>:is(.md-header,.navbar,[data-md-component=announce],.bd-header,.bd-header-announcement),#__docusaurus>:is(.navbar,.theme-announcement-bar)){width:auto;margin-inline-end:calc(-1*var(--roaming-inset))}
${DOCKED} .wy-grid-for-nav{width:calc(100% - var(--roaming-inset))}
${DOCKED} .wy-nav-content{padding-inline:1.618em}
${DOCKED} .md-sidebar{width:190px}
${DOCKED} .VPDoc .content{padding-inline:0}
${DOCKED} .nav-wide-wrapper{display:none}
${DOCKED} .nav-wrapper{display:block}
${DOCKED} :is(div.document,.page>.main,.main>.content,.VPDoc .content){box-sizing:border-box;min-width:0;max-width:100%}
${NARROW} :is(.md-sidebar--secondary,.VPDoc .aside,.toc-drawer,.bd-sidebar-secondary,.right-sidebar-container,.col:has(>.theme-doc-toc-desktop)){display:none}
${NARROW} .right-sidebar-container~.main-pane{width:100%}
${NARROW} .col[class*=docItemCol]{max-width:100%!important}
}
@media screen and (min-width:600px){
:root[data-roaming-frame] body::after{content:"";display:block;position:fixed;z-index:3;inset:var(--roaming-top) 0 0 auto;width:var(--roaming-frame);background:var(--md-default-bg-color,var(--pst-color-background,var(--bs-body-bg,Canvas)));box-shadow:0 0 0 1px color-mix(in srgb,currentColor 13%,transparent)}
:root[data-roaming-frame]:dir(rtl) body::after{inset-inline:auto 0}
}
${BUTTON}{z-index:0;display:flex;flex:none;align-items:center;gap:8px;height:36px;margin-inline-start:8px;padding-inline:12px 8px;border-radius:4px;font:700 14px/20px var(--md-text-font-family);${RING};transition:background .12s}
${BUTTON}:is(:hover,[aria-expanded=true]){opacity:1;background:color-mix(in srgb,currentColor 12%,transparent)}
${BUTTON} kbd{display:inline-block;min-width:38px;padding:0 5px;border-radius:4px;text-align:center;font:12px/16px var(--md-text-font-family);${RING};white-space:nowrap}
${BUTTON}[hidden]{display:none}
@media (max-width:59.98em){
${BUTTON}{width:44px;height:44px;justify-content:center;margin:0;padding:0;box-shadow:none}
${BUTTON} svg{width:22px;height:22px}
${BUTTON} :is(b,kbd){display:none}
}
@media (forced-colors:active){${BUTTON}{border:1px solid}}`;

const { documentElement: root, currentScript: script } = document;
if (!root.dataset.roaming) { // a theme may run the scripts of the next page
  root.dataset.roaming = "early";
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  document.adoptedStyleSheets.push(sheet);
  const at = (name) => new URL(name, script.src);
  const leave = () => delete root.dataset.roamingFrame;
  const load = () => import(at("roaming-ask.js")).catch(leave);
  const recall = (store) => {
    try {
      return JSON.parse(window[store].getItem(`roaming:${at("../")}:panel`));
    } catch {} // forbidden
  };
  const { open, size, inset, level, top, finding } = (script && (recall("sessionStorage") ?? recall("localStorage"))) || {};
  if (open && innerWidth >= 600) {
    const { style, dataset } = root;
    style.setProperty("--roaming-frame", `${size}px`);
    style.setProperty("--roaming-top", `${top}px`);
    dataset.roamingFrame = "";
    if (inset && innerWidth >= 1100) {
      style.setProperty("--roaming-inset", `${inset}px`);
      dataset.roamingDocked = level;
    }
    for (const name of finding ? [] : ["turn", "trail", "markdown", "result", "marks", "tools"]) {
      const link = document.createElement("link");
      link.rel = "modulepreload";
      link.href = at(`roaming-${name}.js`);
      document.head.append(link);
    }
    load();
  } else if (script) {
    requestAnimationFrame(() => setTimeout(load)); // the page is painted
    addEventListener("load", load);
    addEventListener("click", (event) => {
      const opener = event.target.closest?.("[data-roaming-open]");
      if (!opener || customElements.get("roaming-ask")) return;
      event.preventDefault();
      load().then(() => opener.click());
    });
  }
}
