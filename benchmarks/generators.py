"""Check `roaming index` on the output of site generators.

    python benchmarks/generators.py [NAME...] [--bin DIR]... [--keep DIR]

For each installed generator, the same project of four pages is written, built, indexed and validated, and its titles,
nav and anchors are compared with the source. `--bin` names folders with generators in addition to PATH: the `bin` of a
virtual environment, or `node_modules/.bin`, whose `node_modules` is then used by the projects. `--keep` writes the
projects to a folder. Generators that are not installed are skipped.

    uv venv tools && uv pip install --python tools zensical sphinx furo sphinx-rtd-theme pydata-sphinx-theme
    npm install --prefix tools-js vitepress astro @astrojs/starlight @docusaurus/core @docusaurus/preset-classic
    python benchmarks/generators.py --bin tools/bin --bin tools-js/node_modules/.bin

Exits with 1 if there are differences.
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
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.manifest.models import NavEntry
from mkdocs_roaming.sources.project import IndexOptions
from mkdocs_roaming.sources.publication import index_site

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
    """A generator: function to write its project, build command, and folder of the built site."""

    write: Callable[[Path], None]
    command: tuple[str, ...]
    output: str
    module: str | None = None
    """Module that has to be importable, e.g. a Sphinx theme."""
    groups: dict[str, list[str]] = field(default_factory=lambda: GROUPS)
    """Nav groups that the theme shows."""


def main() -> None:
    """Build with each installed generator and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "names",
        nargs="*",
        choices=[[], *GENERATORS],
        metavar="NAME",
        help=f"Generators (default: all): {', '.join(GENERATORS)}.",
    )
    parser.add_argument(
        "--bin", action="append", default=[], type=Path, metavar="DIR", help="Folder with generators (repeatable)."
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="Folder for the projects.")
    args = parser.parse_args()
    folders = [str(folder.absolute()) for folder in args.bin]
    path = os.pathsep.join([*folders, os.environ["PATH"]])
    with tempfile.TemporaryDirectory() as temporary:
        root = args.keep or Path(temporary)
        results = [_check_generator(name, GENERATORS[name], root / name, path) for name in args.names or GENERATORS]
    sys.exit(1 if any(results) else 0)


def _check_generator(name: str, generator: Generator, project: Path, path: str) -> int:
    """Build and index one project, print its faults, and return their number."""
    tool = shutil.which(generator.command[0], path=path)
    if tool is None or (generator.module and not _is_importable(Path(tool), generator.module)):
        print(f"{name:20} not installed")
        return 0
    project = project.absolute()
    shutil.rmtree(project, ignore_errors=True)
    project.mkdir(parents=True)
    generator.write(project)
    modules_folder = Path(tool).parent.parent
    if modules_folder.name == "node_modules":
        # some generators do not support a symbolic link
        shutil.copytree(modules_folder, project / "node_modules", symlinks=True, copy_function=os.link)
    started = time.perf_counter()
    environment = {"ASTRO_TELEMETRY_DISABLED": "1", "DOCUSAURUS_NO_UPDATE_NOTIFIER": "1", "CI": "1"}
    done = subprocess.run(
        [tool, *generator.command[1:]],
        cwd=project,
        env={**os.environ, **environment, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - started
    if done.returncode:
        print(f"{name:20} build failed:\n{(done.stdout + done.stderr)[-2000:]}")
        return 1
    site = project / generator.output
    try:
        # some generators do not write the URL of the site
        report = index_site(site, IndexOptions(url=URL), warn=lambda line: print(f"  {line}"))
    except RoamingError as error:
        print(f"{name:20} {error}")
        return 1
    library = open_library(site)
    faults = [
        *validate_site(library).faults,
        *validate_site(library).notes,
        *_find_differences(library.manifest.nav, generator.groups, site),
    ]
    source = library.manifest.nav_source
    print(
        f"{name:20} {report.pages} pages, {report.sections} sections, nav from {source}, built in {seconds:.1f} s, "
        f"{len(faults) or 'no'} faults"
    )
    for fault in faults:
        print(f"  {fault}")
    return len(faults)


def _is_importable(tool: Path, module: str) -> bool:
    python = tool.with_name("python")
    code = f"import {module}"
    return python.exists() and not subprocess.run([python, "-c", code], capture_output=True, check=False).returncode


def _find_differences(nav: Iterable[NavEntry], expected: dict[str, list[str]], site: Path) -> list[str]:
    """Return the differences between the manifest and the source."""
    data = json.loads((site / "roaming/manifest.json").read_text("utf-8"))
    pages = {page["title"]: page for page in data["pages"]}
    differences = [] if sorted(pages) == sorted(TITLES) else [f"titles: {sorted(pages)}"]
    sections = [section["title"] for page in data["pages"] for section in page["sections"]]
    if sorted(sections) != sorted(SECTIONS):
        differences.append(f"sections: {sections}")
    if missing := [
        section["title"] for page in data["pages"] for section in page["sections"][1:] if not section["anchor"]
    ]:
        differences.append(f"sections without anchor: {missing}")
    if data["site"]["name"] != "Ebb" or data["site"]["url"] != URL or data["site"]["language"] != "en":
        differences.append(f"site: {data['site']}")
    groups = {entry.title: [child.title for child in entry.children] for entry in nav if entry.children}
    if groups != expected:
        differences.append(f"nav: {groups}")
    markdown = (site / pages["Install"]["markdown"]).read_text("utf-8") if "Install" in pages else ""
    if "```sh\napt install ebb\n```" not in markdown and "```bash\napt install ebb\n```" not in markdown:
        differences.append("code: no fence with a language")
    if "> [!WARNING]" not in markdown and "> [!CAUTION]" not in markdown:
        differences.append("admonition: no quote with a kind")
    if f"]({URL}{pages['Commands']['markdown']}#ebb-read)" not in markdown:
        differences.append("link: target is not the Markdown of the other page")
    return differences


# Projects


def _write_markdown(folder: Path, note: str, *, front_matter: str = "", strip_title: bool = False) -> None:
    for name, text in PAGES.items():
        title, _, body = text.replace("{note}", note).partition("\n")
        file = folder / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        header = front_matter.replace("{title}", title[2:])
        file.write_text(header + (body if strip_title else f"{title}\n{body}"))


def _write_zensical(project: Path) -> None:
    _write_markdown(project / "docs", '!!! warning "Old gauges"\n    A gauge of 2009 has no room for it.')
    nav = (
        '[{"Ebb" = "index.md"}, {"Guide" = ["guide/install.md", "guide/use.md"]}, {"Reference" = ["reference/cli.md"]}]'
    )
    (project / "zensical.toml").write_text(f'[project]\nsite_name = "Ebb"\nsite_url = "{URL}"\nnav = {nav}\n')


def _write_sphinx(theme: str) -> Callable[[Path], None]:
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


def _write_docusaurus(project: Path) -> None:
    _write_markdown(project / "docs", CONTAINER)
    text = (project / "docs/index.md").read_text()
    (project / "docs/index.md").write_text(f"---\nslug: /\n---\n{text}")
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


def _write_vitepress(project: Path) -> None:
    _write_markdown(project, "::: warning Old gauges\nA gauge of 2009 has no room for it.\n:::")
    (project / ".vitepress").mkdir()
    (project / ".vitepress/config.mjs").write_text(
        'export default {title: "Ebb", base: "/ebb/", lang: "en", themeConfig: {sidebar: [{text: "Ebb", link: "/"},\n'
        '  {text: "Guide", items: [{text: "Install", link: "/guide/install"}, {text: "Use", link: "/guide/use"}]},\n'
        '  {text: "Reference", items: [{text: "Commands", link: "/reference/cli"}]}]}};\n'
    )
    (project / "package.json").write_text('{"name": "ebb", "private": true, "type": "module"}\n')


def _write_starlight(project: Path) -> None:
    docs = project / "src/content/docs"
    _write_markdown(
        docs, CONTAINER.replace("warning", "caution"), front_matter="---\ntitle: {title}\n---\n", strip_title=True
    )
    for file in docs.rglob("*.md"):  # links are URLs in Starlight
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


def _write_mdbook(project: Path) -> None:
    _write_markdown(project / "src", "> [!WARNING]\n> A gauge of 2009 has no room for it.")
    (project / "book.toml").write_text('[book]\ntitle = "Ebb"\nlanguage = "en"\n[output.html]\nsite-url = "/ebb/"\n')
    (project / "src/SUMMARY.md").write_text(
        "# Summary\n\n[Ebb](index.md)\n\n# Guide\n\n- [Install](guide/install.md)\n- [Use](guide/use.md)\n\n"
        "# Reference\n\n- [Commands](reference/cli.md)\n"
    )


_SPHINX_COMMAND = ("sphinx-build", "-q", "-b", "html", ".", "out")
GENERATORS = {
    "zensical": Generator(_write_zensical, ("zensical", "build"), "site"),
    "sphinx-alabaster": Generator(_write_sphinx("alabaster"), _SPHINX_COMMAND, "out", "alabaster"),
    "sphinx-furo": Generator(_write_sphinx("furo"), _SPHINX_COMMAND, "out", "furo"),
    "sphinx-rtd": Generator(_write_sphinx("sphinx_rtd_theme"), _SPHINX_COMMAND, "out", "sphinx_rtd_theme"),
    "sphinx-pydata": Generator(_write_sphinx("pydata_sphinx_theme"), _SPHINX_COMMAND, "out", "pydata_sphinx_theme", {}),
    "docusaurus": Generator(_write_docusaurus, ("docusaurus", "build"), "build"),
    "vitepress": Generator(_write_vitepress, ("vitepress", "build"), ".vitepress/dist"),
    "starlight": Generator(_write_starlight, ("astro", "build"), "dist"),
    "mdbook": Generator(_write_mdbook, ("mdbook", "build"), "book"),
}

if __name__ == "__main__":
    main()
