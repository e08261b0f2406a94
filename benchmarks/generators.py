"""What `roaming index` makes of the real output of site generators.

    python benchmarks/generators.py [NAME...] [--bin DIR]... [--keep DIR]

Writes the same small project of four pages for each generator that is there, builds it, indexes it, validates it, and
compares titles, nav and anchors with what was written. `--bin` names folders to look for generators in, besides PATH: a
virtual environment's `bin`, or `node_modules/.bin`; the projects of those generators then use that `node_modules`.
`--keep` leaves the projects in a folder. A generator that is not found is passed over.

    uv venv tools && uv pip install --python tools zensical sphinx furo sphinx-rtd-theme pydata-sphinx-theme
    npm install --prefix tools-js vitepress astro @astrojs/starlight @docusaurus/core @docusaurus/preset-classic
    python benchmarks/generators.py --bin tools/bin --bin tools-js/node_modules/.bin

Exits with 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.library.library import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.models import NavEntry
from mkdocs_roaming.sources.built_site import IndexOptions, index_site

URL = "https://docs.example/ebb/"
PAGES = {
    "index": "# Ebb\n\nEbb reads tide gauges. Begin with the [installation](guide/install.md).\n",
    "guide/install": (
        "# Install\n\nCopy one file to the gauge.\n\n## From a package\n\n```sh\napt install ebb\n```\n\n{note}\n\n"
        "## From source\n\nSee [the command](../reference/cli.md#ebb-read).\n"
    ),
    "guide/use": (
        "# Use\n\n## Read a level\n\nRun it every minute.\n\n"
        "| level | means |\n| ----- | ----- |\n| 1     | low   |\n\n"
        "## Stop\n\nPress a key.\n"
    ),
    "reference/cli": "# Commands\n\n## ebb read\n\n`ebb read` prints one level.\n\n### Quiet\n\nSay `--hush`.\n",
}
TITLES = ["Ebb", "Install", "Use", "Commands"]
SECTIONS = [
    "Ebb",
    "Install",
    "From a package",
    "From source",
    "Use",
    "Read a level",
    "Stop",
    "Commands",
    "ebb read",
    "Quiet",
]
GROUPS = {"Guide": ["Install", "Use"], "Reference": ["Commands"]}
CONTAINER = ":::warning[Old gauges]\n\nA gauge of 2009 has no room for it.\n\n:::"


@dataclass(frozen=True)
class Generator:
    """How a generator's project is written and built; `output` is where the site then is."""

    write: Callable[[Path], None]
    command: tuple[str, ...]
    output: str
    module: str | None = None
    """What has to be importable besides: a Sphinx theme."""
    groups: dict[str, list[str]] = field(default_factory=lambda: GROUPS)
    """The groups that the theme shows."""


def main() -> None:
    """Build with each generator that is there, and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", choices=[[], *GENERATORS], metavar="NAME", help=", ".join(GENERATORS))
    parser.add_argument("--bin", action="append", default=[], type=Path, metavar="DIR")
    parser.add_argument("--keep", type=Path, metavar="DIR")
    args = parser.parse_args()
    folders = [str(folder.absolute()) for folder in args.bin]
    path = os.pathsep.join([*folders, os.environ["PATH"]])
    with tempfile.TemporaryDirectory() as temporary:
        root = args.keep or Path(temporary)
        results = [_run(name, GENERATORS[name], root / name, path) for name in args.names or GENERATORS]
    sys.exit(1 if any(results) else 0)


def _run(name: str, generator: Generator, project: Path, path: str) -> int:
    """Build and index one project; give how many faults there are, and print them."""
    tool = shutil.which(generator.command[0], path=path)
    if tool is None or (generator.module and not _importable(Path(tool), generator.module)):
        print(f"{name:20} not there")
        return 0
    project = project.absolute()
    shutil.rmtree(project, ignore_errors=True)
    project.mkdir(parents=True)
    generator.write(project)
    modules = Path(tool).parent.parent
    if modules.name == "node_modules":
        # a symbolic link would do for most, not for all
        shutil.copytree(modules, project / "node_modules", symlinks=True, copy_function=os.link)
    started = time.perf_counter()
    quiet = {"ASTRO_TELEMETRY_DISABLED": "1", "DOCUSAURUS_NO_UPDATE_NOTIFIER": "1", "CI": "1"}
    done = subprocess.run(
        [tool, *generator.command[1:]],
        cwd=project,
        env={**os.environ, **quiet, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - started
    if done.returncode:
        print(f"{name:20} does not build:\n{(done.stdout + done.stderr)[-2000:]}")
        return 1
    site = project / generator.output
    try:
        # generators without an address of their own are told it
        report = index_site(site, IndexOptions(url=URL), warn=lambda line: print(f"  {line}"))
    except RoamingError as error:
        print(f"{name:20} {error}")
        return 1
    library = open_library(site)
    found = [
        *validate_site(library).faults,
        *validate_site(library).notes,
        *_differences(library.manifest.nav, generator.groups, site),
    ]
    source = library.manifest.nav_source
    print(
        f"{name:20} {report.pages} pages, {report.sections} sections, nav from {source}, built in {seconds:.1f} s, "
        f"{len(found) or 'no'} faults"
    )
    for fault in found:
        print(f"  {fault}")
    return len(found)


def _importable(tool: Path, module: str) -> bool:
    python = tool.with_name("python")
    code = f"import {module}"
    return python.exists() and not subprocess.run([python, "-c", code], capture_output=True, check=False).returncode


def _differences(nav: Iterable[NavEntry], expected: dict[str, list[str]], site: Path) -> list[str]:
    """Give where the manifest is not what was written."""
    data = json.loads((site / "roaming/manifest.json").read_text("utf-8"))
    pages = {page["title"]: page for page in data["pages"]}
    found = [] if sorted(pages) == sorted(TITLES) else [f"titles: {sorted(pages)}"]
    sections = [section["title"] for page in data["pages"] for section in page["sections"]]
    if sorted(sections) != sorted(SECTIONS):
        found.append(f"sections: {sections}")
    if lost := [
        section["title"] for page in data["pages"] for section in page["sections"][1:] if not section["anchor"]
    ]:
        found.append(f"no anchors: {lost}")
    if data["site"]["name"] != "Ebb" or data["site"]["url"] != URL or data["site"]["language"] != "en":
        found.append(f"site: {data['site']}")
    groups = {entry.title: [child.title for child in entry.children] for entry in nav if entry.children}
    if groups != expected:
        found.append(f"nav: {groups}")
    markdown = (site / pages["Install"]["markdown"]).read_text("utf-8") if "Install" in pages else ""
    if "```sh\napt install ebb\n```" not in markdown and "```bash\napt install ebb\n```" not in markdown:
        found.append("code: no fence with its language")
    if "> [!WARNING]" not in markdown and "> [!CAUTION]" not in markdown:
        found.append("admonition: no quote that is marked")
    if f"]({URL}{pages['Commands']['markdown']}#ebb-read)" not in markdown:
        found.append("link: does not lead to the other page's Markdown")
    return found


# The projects


def _markdown(folder: Path, note: str, *, front: str = "", strip_title: bool = False) -> None:
    for name, text in PAGES.items():
        title, _, body = text.replace("{note}", note).partition("\n")
        file = folder / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        head = front.replace("{title}", title[2:])
        file.write_text(head + (body if strip_title else f"{title}\n{body}"))


def _zensical(project: Path) -> None:
    _markdown(project / "docs", '!!! warning "Old gauges"\n    A gauge of 2009 has no room for it.')
    nav = (
        '[{"Ebb" = "index.md"}, {"Guide" = ["guide/install.md", "guide/use.md"]}, {"Reference" = ["reference/cli.md"]}]'
    )
    (project / "zensical.toml").write_text(f'[project]\nsite_name = "Ebb"\nsite_url = "{URL}"\nnav = {nav}\n')


def _sphinx(theme: str) -> Callable[[Path], None]:
    def write(project: Path) -> None:
        for name, text in RST.items():
            file = project / f"{name}.rst"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        (project / "conf.py").write_text(
            f'project = "Ebb"\nhtml_title = "Ebb"\nhtml_theme = "{theme}"\nhtml_baseurl = "{URL}"\nlanguage = "en"\n'
        )

    return write


RST = {
    "index": (
        "Ebb\n===\n\nEbb reads tide gauges. Begin with the :doc:`installation <guide/install>`.\n\n"
        ".. toctree::\n   :caption: Guide\n\n   guide/install\n   guide/use\n\n"
        ".. toctree::\n   :caption: Reference\n\n   reference/cli\n"
    ),
    "guide/install": (
        "Install\n=======\n\nCopy one file to the gauge.\n\nFrom a package\n--------------\n\n.. code-block:: sh\n\n"
        "   apt install ebb\n\n.. warning::\n\n   A gauge of 2009 has no room for it.\n\n"
        "From source\n-----------\n\nSee :ref:`the command <ebb-read>`.\n"
    ),
    "guide/use": (
        "Use\n===\n\nRead a level\n------------\n\nRun it every minute.\n\n===== =====\nlevel means\n===== =====\n"
        "1     low\n===== =====\n\nStop\n----\n\nPress a key.\n"
    ),
    "reference/cli": (
        "Commands\n========\n\n.. _ebb-read:\n\nebb read\n--------\n\n``ebb read`` prints one level.\n\n"
        "Quiet\n~~~~~\n\nSay ``--hush``.\n"
    ),
}


def _docusaurus(project: Path) -> None:
    _markdown(project / "docs", CONTAINER)
    front = (project / "docs/index.md").read_text()
    (project / "docs/index.md").write_text(f"---\nslug: /\n---\n{front}")
    (project / "sidebars.js").write_text(
        'module.exports = {docs: ["index", {type: "category", label: "Guide", collapsed: false, items: '
        '["guide/install", "guide/use"]}, {type: "category", label: "Reference", items: ["reference/cli"]}]};\n'
    )
    (project / "docusaurus.config.js").write_text(
        'module.exports = {title: "Ebb", url: "https://docs.example", baseUrl: "/ebb/", onBrokenLinks: "throw",\n'
        '  plugins: [["@docusaurus/plugin-content-docs", {routeBasePath: "/", sidebarPath: "./sidebars.js"}]],\n'
        '  themes: ["@docusaurus/theme-classic"],\n'
        '  themeConfig: {prism: {additionalLanguages: ["bash"]}}};\n'
    )
    (project / "package.json").write_text('{"name": "ebb", "private": true}\n')


def _vitepress(project: Path) -> None:
    _markdown(project, "::: warning Old gauges\nA gauge of 2009 has no room for it.\n:::")
    (project / ".vitepress").mkdir()
    (project / ".vitepress/config.mjs").write_text(
        'export default {title: "Ebb", base: "/ebb/", lang: "en", themeConfig: {sidebar: [{text: "Ebb", link: "/"},\n'
        '  {text: "Guide", items: [{text: "Install", link: "/guide/install"}, {text: "Use", link: "/guide/use"}]},\n'
        '  {text: "Reference", items: [{text: "Commands", link: "/reference/cli"}]}]}};\n'
    )
    (project / "package.json").write_text('{"name": "ebb", "private": true, "type": "module"}\n')


def _starlight(project: Path) -> None:
    docs = project / "src/content/docs"
    _markdown(docs, CONTAINER.replace("warning", "caution"), front="---\ntitle: {title}\n---\n", strip_title=True)
    for file in docs.rglob("*.md"):  # here, links are addresses
        text = file.read_text().replace("guide/install.md", "guide/install/")
        file.write_text(text.replace("../reference/cli.md", "/ebb/reference/cli/"))
    (project / "src/content.config.ts").write_text(
        'import { defineCollection } from "astro:content";\nimport { docsLoader } from "@astrojs/starlight/loaders";\n'
        'import { docsSchema } from "@astrojs/starlight/schema";\n'
        "export const collections = { docs: defineCollection({ loader: docsLoader(), schema: docsSchema() }) };\n"
    )
    (project / "astro.config.mjs").write_text(
        'import { defineConfig } from "astro/config";\nimport starlight from "@astrojs/starlight";\n'
        'export default defineConfig({ site: "https://docs.example", base: "/ebb", integrations: [starlight({\n'
        '  title: "Ebb", pagefind: false, sidebar: [{ label: "Ebb", link: "/" },\n'
        '  { label: "Guide", items: ["guide/install", "guide/use"] },\n'
        '  { label: "Reference", items: ["reference/cli"] }] })] });\n'
    )
    (project / "package.json").write_text(
        '{"type": "module", "dependencies": {"astro": "*", "@astrojs/starlight": "*"}}\n'
    )


def _mdbook(project: Path) -> None:
    _markdown(project / "src", "> [!WARNING]\n> A gauge of 2009 has no room for it.")
    (project / "book.toml").write_text('[book]\ntitle = "Ebb"\nlanguage = "en"\n[output.html]\nsite-url = "/ebb/"\n')
    (project / "src/SUMMARY.md").write_text(
        "# Summary\n\n[Ebb](index.md)\n\n# Guide\n\n- [Install](guide/install.md)\n- [Use](guide/use.md)\n\n"
        "# Reference\n\n- [Commands](reference/cli.md)\n"
    )


_SPHINX = ("sphinx-build", "-q", "-b", "html", ".", "out")
GENERATORS = {
    "zensical": Generator(_zensical, ("zensical", "build"), "site"),
    "sphinx-alabaster": Generator(_sphinx("alabaster"), _SPHINX, "out", "alabaster"),
    "sphinx-furo": Generator(_sphinx("furo"), _SPHINX, "out", "furo"),
    "sphinx-rtd": Generator(_sphinx("sphinx_rtd_theme"), _SPHINX, "out", "sphinx_rtd_theme"),
    "sphinx-pydata": Generator(_sphinx("pydata_sphinx_theme"), _SPHINX, "out", "pydata_sphinx_theme", {}),
    "docusaurus": Generator(_docusaurus, ("docusaurus", "build"), "build"),
    "vitepress": Generator(_vitepress, ("vitepress", "build"), ".vitepress/dist"),
    "starlight": Generator(_starlight, ("astro", "build"), "dist"),
    "mdbook": Generator(_mdbook, ("mdbook", "build"), "book"),
}

if __name__ == "__main__":
    main()
