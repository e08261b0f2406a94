// Measure the time of the widget's finder per keystroke: node benchmarks/find_in_browser.mjs SITE/roaming/manifest.json …
// The pages of a site are repeated up to 5,000 sections.

import { readFileSync } from "node:fs";
import { Finder } from "../mkdocs_roaming/widget/roaming-find.js";

const SECTIONS = 5_000;
const QUESTIONS = ["how do I configure the social cards plugin", "install on debian", "TemplateResponse timeout", "--strict mode"];

for (const file of process.argv.slice(2)) {
  const manifest = JSON.parse(readFileSync(file, "utf8"));
  const count = manifest.pages.reduce((sum, page) => sum + page.sections.length, 0);
  const times = Math.max(1, Math.ceil(SECTIONS / count));
  manifest.pages = Array.from({ length: times }, () => manifest.pages).flat();
  const finder = new Finder(manifest);
  let started = performance.now();
  let longest = 0;
  for (let done = false; !done; ) {
    const slice = performance.now();
    done = finder.index();
    longest = Math.max(longest, performance.now() - slice);
  }
  const indexing = performance.now() - started;
  const keystrokes = [];
  for (const text of QUESTIONS)
    for (let end = 1; end <= text.length; end++) {
      started = performance.now();
      finder.find(text.slice(0, end));
      keystrokes.push(performance.now() - started);
    }
  keystrokes.sort((one, other) => one - other);
  const percentile = (share) => keystrokes[Math.floor(share * (keystrokes.length - 1))].toFixed(1);
  console.log(
    `${file}: ${finder.sections.length} sections; indexing ${indexing.toFixed(0)} ms, longest slice ${longest.toFixed(0)} ms; ` +
      `keystroke, median ${percentile(0.5)} ms, 95 % ${percentile(0.95)} ms, longest ${percentile(1)} ms`,
  );
}
