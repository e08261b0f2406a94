"""Compare search with the searches that a site has otherwise, on the same HTML.

    python benchmarks/other_searches.py SITE_DIR=QUESTIONS.jsonl … [--zensical SITE_DIR=BUILT_DIR …]

A question file has one JSON object with `ask`, `kind` and `sections`, the ids of all right sections, in each line. Each site
is published HTML. Compared are:

- roaming: `Search.find`;
- Material: the search of Material for MkDocs in Chromium, results as they are shown: the best section of each page, or the
  page; and `all by score`, also what is folded behind "more on this page";
- Zensical: its search in Chromium, on the HTML that Zensical builds from the same sources (`--zensical`);
- Pagefind: `npx pagefind` on the same HTML, as its interface shows results: a page and its three best sections, in the order
  of the page; and `best section first`, the sections of each page in the order of their scores.

The heading of a group of results counts only if the page itself matches. For each kind of question, the share with a right
section among the first and the first five results is printed, and for all questions the same of a right page; then the means
over the sites that have a search. Addresses are mapped to sections by the manifest; `lost` are those without a section.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from playwright.sync_api import Browser, sync_playwright
from question_files import Question, read_questions

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import open_library

DEPTHS = (1, 5)
ARGUMENTS = ("--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
UNTIL = """const until = async (ready) => { while (!ready()) await new Promise(requestAnimationFrame); };"""
MATERIAL = f"""async ({{ query, all }}) => {{
    {UNTIL}
    const find = (name) => document.querySelector(name);
    const [input, meta, list] = [".md-search__input", ".md-search-result__meta", ".md-search-result__list"].map(find);
    const type = (text) => {{
        input.value = text;
        input.dispatchEvent(new KeyboardEvent("keyup", {{ bubbles: true }}));
    }};
    input.focus();
    type("");
    await until(() => !list.children.length && !/^\\d/.test(meta.textContent));
    const idle = meta.textContent;
    type(query);
    await until(() => meta.textContent !== idle && (list.children.length || !/^\\d/.test(meta.textContent)));
    const score = (link) => Number(link.querySelector("[data-md-score]").dataset.mdScore);
    const links = [...list.querySelectorAll("a")].filter((link) => score(link) && (all || !link.closest("details")));
    return (all ? links.sort((a, b) => score(b) - score(a)) : links).map((link) => link.href);
}}"""
ZENSICAL = f"""async ({{ query }}) => {{
    {UNTIL}
    const roots = () => [...document.querySelectorAll("*")].map((each) => each.shadowRoot);
    const root = () => roots().find((each) => each?.querySelector("input"));
    if (!root()) document.querySelector(".md-search__button").click();
    await until(() => root());
    const [input, status] = ["input", "[role=status]"].map((name) => root().querySelector(name));
    const type = (text) => {{
        input.value = text;
        input.dispatchEvent(new InputEvent("input", {{ bubbles: true }}));
    }};
    type("");
    await until(() => !status.textContent);
    type(query);
    await until(() => status.textContent);
    await new Promise((next) => setTimeout(next, 300));
    return [...root().querySelectorAll("[role=option]")].map((link) => link.href);
}}"""
PAGEFIND = """async ({ query, all, limit }) => {
    const pagefind = await import("/pagefind/pagefind.js");
    const found = await pagefind.search(query);
    const pages = await Promise.all(found.results.slice(0, limit).map((result) => result.data()));
    const score = (part) => part.weighted_locations.reduce((sum, each) => sum + each.balanced_score, 0);
    const links = pages.map(({ url, sub_results: parts }) => {
        const best = [...parts].sort((a, b) => score(b) - score(a));
        const few = parts.filter((part) => part.url === url || best.slice(0, 3).includes(part));
        return (all ? best : few).map((part) => part.url);
    });
    return links.flat().map((link) => new URL(link, location).href);
}"""
Find = Callable[[str], list[str]]
"""Returns addresses of results, relative to the site, best first."""


@dataclass(slots=True)
class Score:
    """Numbers of questions with a right section, and a right page, among the first results, and of addresses."""

    sections: dict[tuple[str, int], list[bool]] = field(default_factory=lambda: defaultdict(list))
    pages: dict[int, list[bool]] = field(default_factory=lambda: defaultdict(list))
    addresses: list[bool] = field(default_factory=list)

    def shares(self, kinds: Sequence[str]) -> list[float]:
        """Return the shares in the order of the columns."""
        values = [self.sections[kind, depth] for kind in kinds for depth in DEPTHS]
        values += [*(self.pages[depth] for depth in DEPTHS), [not known for known in self.addresses]]
        return [sum(each) / (len(each) or 1) for each in values]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+", metavar="SITE_DIR=QUESTIONS.jsonl")
    parser.add_argument("--zensical", action="append", default=[], metavar="SITE_DIR=BUILT_DIR")
    options = parser.parse_args()
    zensical = dict(each.split("=", 1) for each in options.zensical)
    shares: dict[str, list[list[float]]] = defaultdict(list)
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        for folder, file in (each.split("=", 1) for each in options.sets):
            library = open_library(folder)
            questions = read_questions(Path(file), library)
            kinds = list(dict.fromkeys(question.kind for question in questions))
            print_header(f"{library.manifest.site.name}, {len(questions)} questions", kinds)
            for name, find in iter_searches(browser, library, Path(folder), zensical.get(folder)):
                shares[name].append(rate(find, library, questions).shares(kinds))
                print_row(name, shares[name][-1])
        browser.close()
    print_header("means", kinds)
    for name, rows in shares.items():
        print_row(f"{name} ({len(rows)})", [sum(column) / len(rows) for column in zip(*rows, strict=True)])


def iter_searches(browser: Browser, library: Library, site: Path, zensical: str | None) -> Iterator[tuple[str, Find]]:
    """Yield the searches of a site with their names."""
    search = Search(library)
    yield "roaming", lambda query: [hit.section.id for hit in search.find(query, limit=max(DEPTHS))]
    with tempfile.TemporaryDirectory() as temporary, served(site, Path(temporary)) as url:
        if (site / "search" / "search_index.json").exists():
            yield "Material", in_browser(browser, url, MATERIAL)
            yield "Material, all by score", in_browser(browser, url, MATERIAL, everything=True)
        command = ["npx", "--yes", "pagefind", "--site", str(site), "--output-path", f"{temporary}/pagefind"]
        subprocess.run(command, check=True, capture_output=True)
        yield "Pagefind", in_browser(browser, url, PAGEFIND)
        yield "Pagefind, best section first", in_browser(browser, url, PAGEFIND, everything=True)
    if zensical:
        with served(Path(zensical)) as url:
            yield "Zensical", in_browser(browser, url, ZENSICAL)


def in_browser(browser: Browser, url: str, script: str, *, everything: bool = False) -> Find:
    """Return the search of a script in a new tab."""
    tab = browser.new_page()
    tab.goto(url)

    def find(query: str) -> list[str]:
        links = tab.evaluate(script, {"query": query, "all": everything, "limit": max(DEPTHS)})
        return [re.sub(r"\?[^#]*", "", link.removeprefix(url)) for link in links]

    return find


def rate(find: Find, library: Library, questions: Sequence[Question]) -> Score:
    """Return the score of a search."""
    score = Score()
    for question in questions:
        sections = [library.sections.resolve(address) for address in find(question.text)[: max(DEPTHS)]]
        score.addresses += [section is not None for section in sections]
        golds = [section for id_ in question.gold if (section := library.sections.get(id_))]
        pages = {section.page.path for section in golds}
        for depth in DEPTHS:
            first = [section for section in sections[:depth] if section]
            score.sections[question.kind, depth].append(any(section.id in question.gold for section in first))
            score.pages[depth].append(any(section.page.path in pages for section in first))
    return score


def print_header(title: str, kinds: Sequence[str]) -> None:
    """Print the names of the columns."""
    columns = [f"{kind} @{depth}" for kind in (*kinds, "page") for depth in DEPTHS]
    print(f"\n{title[:40]:40}" + "".join(f"{column:>14}" for column in [*columns, "lost"]))


def print_row(name: str, shares: Sequence[float]) -> None:
    """Print the shares of a search as percentages."""
    print(f"{name:40}" + "".join(f"{100 * share:13.0f}%" for share in shares), flush=True)


@contextmanager
def served(site: Path, pagefind: Path | None = None) -> Iterator[str]:
    """Serve a site, with the index of Pagefind in its folder `pagefind`, and yield its URL."""

    class Handler(SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            self.directory = str(pagefind if pagefind and path.startswith("/pagefind/") else site)
            return super().translate_path(path)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


if __name__ == "__main__":
    main()
