// How long the finder takes for a keystroke: node benchmarks/find_in_browser.mjs SITE/roaming/manifest.json …
// Of sites with fewer sections the pages are repeated until there are 5,000.

import { readFileSync } from "node:fs";
import { Finder } from "../mkdocs_roaming/widget/roaming-find.js";

const WANTED = 5_000;
const TYPED = ["how do I configure the social cards plugin", "install on debian", "TemplateResponse timeout", "--strict mode"];

for (const file of process.argv.slice(2)) {
  const manifest = JSON.parse(readFileSync(file, "utf8"));
  const own = manifest.pages.reduce((sum, page) => sum + page.sections.length, 0);
  const times = Math.max(1, Math.ceil(WANTED / own));
  manifest.pages = Array.from({ length: times }, () => manifest.pages).flat();
  const finder = new Finder(manifest);
  let begun = performance.now();
  let longest = 0;
  for (let done = false; !done; ) {
    const slice = performance.now();
    done = finder.index();
    longest = Math.max(longest, performance.now() - slice);
  }
  const indexed = performance.now() - begun;
  const keys = [];
  for (const text of TYPED)
    for (let end = 1; end <= text.length; end++) {
      begun = performance.now();
      finder.find(text.slice(0, end));
      keys.push(performance.now() - begun);
    }
  keys.sort((one, other) => one - other);
  const at = (share) => keys[Math.floor(share * (keys.length - 1))].toFixed(1);
  console.log(
    `${file}: ${finder.sections.length} sections; indexed in ${indexed.toFixed(0)} ms, at most ${longest.toFixed(0)} ms at a time; ` +
      `a keystroke ${at(0.5)} ms (median), ${at(0.95)} ms (95 %), ${at(1)} ms (longest)`,
  );
}
