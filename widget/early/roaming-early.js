// Runs before the page is first painted, and loads <roaming-ask> after that: styles the button in the header of Material, and
// keeps the place of a panel that was open on the page before.
//
//   <script src="roaming/roaming-early.js"></script>      in the head, beside the style sheets, which are as urgent
//
// A classic script, since modules are executed too late. The smaller it is, the earlier the page is painted.

// The button that a build adds to the header of Material.
const BUTTON = ".md-header [data-roaming-open][aria-expanded]";
const RING = "box-shadow:inset 0 0 0 1px color-mix(in srgb,currentColor 36%,transparent)";
const STYLE = `${BUTTON}{z-index:0;display:flex;flex:none;align-items:center;gap:8px;height:36px;margin-inline-start:8px;padding-inline:12px 8px;border-radius:4px;font:700 14px/20px var(--md-text-font-family);${RING};transition:background .12s}
${BUTTON}:is(:hover,[aria-expanded=true]){opacity:1;background:color-mix(in srgb,currentColor 12%,transparent)}
${BUTTON} kbd{display:inline-block;min-width:38px;padding:0 5px;border-radius:4px;text-align:center;font:12px/16px var(--md-text-font-family);${RING};white-space:nowrap}
${BUTTON}[hidden]{display:none}
@media (max-width:59.98em){
${BUTTON}{width:44px;height:44px;justify-content:center;margin:0;padding:0;box-shadow:none}
${BUTTON} svg{width:22px;height:22px}
${BUTTON} :is(b,kbd){display:none}
}
@media (forced-colors:active){${BUTTON}{border:1px solid}}`;

if (!customElements.get("roaming-ask")) { // a theme may run the scripts of the next page
  const { documentElement: root, currentScript: script } = document;
  const { style, dataset } = root;
  const adopt = (text) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    document.adoptedStyleSheets.push(sheet);
  };
  const at = (name) => new URL(name, script.src);
  const recall = (store) => {
    try {
      return JSON.parse(window[store].getItem(`roaming:${at("../")}:panel`));
    } catch {} // forbidden
  };
  const load = () =>
    import(at("roaming-ask.js")).catch(() => {
      delete dataset.roamingFrame;
      delete dataset.roamingDocked;
    });
  adopt(STYLE);
  const before = recall("sessionStorage") ?? recall("localStorage");
  if (before?.open && innerWidth >= 600) {
    adopt(before.style);
    for (const name of ["inset", "frame", "begin"]) style.setProperty(`--roaming-${name}`, `${before[name]}px`);
    dataset.roamingFrame = "";
    if (before.inset) dataset.roamingDocked = before.level;
    for (const name of ["panel", "turn", "trail", "markdown", "result", "marks", "tools"]) {
      const link = document.createElement("link");
      link.rel = "modulepreload";
      link.href = at(`roaming-${name}.js`);
      document.head.append(link);
    }
    load();
  } else {
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
