// Formulas of answers, typeset by the KaTeX or MathJax that the page itself has loaded. roaming-markdown.js loads this module
// with the first formula. What either cannot typeset, or could do more than show a formula, stays source text.

// Commands that link, load, style, or change the commands of the page. KaTeX refuses them, as `trust` is off; MathJax does not.
const FORBIDDEN =
  /\\(?:href|url|html\w*|class|cssId|style|data|unicode|require|includegraphics|def|gdef|edef|xdef|let|global|futurelet|(?:re)?newcommand|providecommand|(?:re)?newenvironment|csname|label|mathtip|texttip|action|toggle|mmlToken|bbox)(?![a-z])/i;
const ACTIVE = "a, img, image, script, style, link, iframe, object, embed, form, input, button, foreignObject, [href]";
const LONGEST = 4_000;
const SETTINGS = { throwOnError: true, trust: false, strict: "ignore", maxExpand: 200, maxSize: 20 };
const sheet = new CSSStyleSheet(); // of MathJax, which adds the characters that were used

/** Replace the source of a formula in an element by the formula. */
export async function typeset(element, tex, isBlock, root) {
  if (tex.length > LONGEST || FORBIDDEN.test(tex)) return;
  const { katex, MathJax } = window;
  try {
    const drawn = katex?.render ? byKatex(katex, tex, isBlock, root) : await byMathJax(MathJax, tex, isBlock, root);
    if (!drawn || drawn.querySelector(ACTIVE)) return;
    element.replaceChildren(drawn);
    element.classList.add("typeset");
  } catch {} // unknown command, or another version of the renderer
}
function byKatex(katex, tex, displayMode, root) {
  const drawn = document.createElement("span");
  katex.render(tex, drawn, { ...SETTINGS, displayMode });
  for (const link of document.querySelectorAll('link[rel~="stylesheet"][href*="katex" i]')) {
    const isLinked = [...root.querySelectorAll("link")].some(({ href }) => href === link.href);
    if (!isLinked) root.prepend(link.cloneNode());
  }
  return drawn;
}
async function byMathJax(MathJax, tex, display, root) {
  await MathJax.startup.promise;
  const drawn = await (MathJax.tex2chtmlPromise ?? MathJax.tex2svgPromise)(tex, { display });
  if (drawn.querySelector("[data-mjx-error], mjx-merror")) return;
  MathJax.startup.document.clear();
  MathJax.startup.document.updateDocument(); // fonts count only in the document
  const style = (MathJax.chtmlStylesheet ?? MathJax.svgStylesheet)();
  const rules = [...(style.sheet?.cssRules ?? [])].map(({ cssText }) => cssText).join("\n"); // added one by one
  sheet.replaceSync(rules || style.textContent);
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
  const box = document.createElement("span");
  box.append(drawn);
  return box;
}
