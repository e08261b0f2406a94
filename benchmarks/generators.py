"""Build the same small site with many site generators, and check what `roaming` publishes of it.

    python benchmarks/generators.py [NAME...] [--bin DIR]... [--keep DIR] [--require NAME]...

For each installed generator, a project of five pages is written, built, published and validated, and its titles, nav and
anchors are compared with the source. `--bin` names folders with generators in addition to PATH: the `bin` of a virtual
environment, or `node_modules/.bin`, whose `node_modules` is then used by the projects. `--keep` writes the projects to a
folder. Generators that are not installed are skipped; those of `--require` are missed then.

    uv venv tools && uv pip install --python tools zensical sphinx furo sphinx-rtd-theme pydata-sphinx-theme
    npm install --prefix tools-js vitepress astro @astrojs/starlight @docusaurus/core @docusaurus/preset-classic
    python benchmarks/generators.py --bin tools/bin --bin tools-js/node_modules/.bin

Exits with 1 if there are differences. `tests/browser/test_laboratory.py` looks at the same sites in a browser.
"""

from __future__ import annotations

import argparse
import json
import os
import re
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
from mkdocs_roaming.publish.options import PublishOptions
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
    "guide/tour": (
        "# Tour of a harbour with all of its gauges\n\n{prose}\n\n## The first gauge\n\n{prose}\n\n"
        "```sh\nebb read --station outer-harbour --every 60 --format json --output levels.json | tee --append levels.log | "
        "sort --unique --key 2\n```\n\n"
        "| station | level | datum | last reading | next tide | keeper | telephone |\n| - | - | - | - | - | - | - |\n"
        "| outer-harbour | 1.20 m | chart datum | 2026-03-01T10:00:00Z | 2026-03-01T16:12:00Z | Morgan | 5550100 |\n\n"
        "## The second gauge\n\n- {prose}\n- {prose}\n\n## The third gauge\n\n{prose}\n\n{prose}\n\n"
        "## The fourth gauge\n\n{prose}\n\n{prose}\n\n{prose}\n"
    ),
    "reference/cli": "# Commands\n\n## ebb read\n\n`ebb read` prints one level.\n\n### Quiet\n\nSay `--hush`.\n",
}
PROSE = (
    "The gauge at the pier has a float in a tube of steel, which the tide lifts and lowers without waves. Every minute the "
    "station reads the height of the float, compares it with the minute before, and sends both when a boat asks for them."
)
TOUR = "Tour of a harbour with all of its gauges"
ANNOUNCEMENT = "Ebb 2 is out: it reads gauges twice as fast, and needs half of the power."
TITLES = re.findall(r"^# (.*)", "\n".join(PAGES.values()), re.MULTILINE)
SECTIONS = re.findall(r"^#+ (.*)", "\n".join(PAGES.values()), re.MULTILINE)
GROUPS = {"Guide": ["Install", "Use", TOUR], "Reference": ["Commands"]}
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
    has_plugin: bool = False
    """Whether the build publishes the files, as the plugin of MkDocs does."""


class MissingGeneratorError(Exception):
    """A generator that is not installed."""


class FailedBuildError(Exception):
    """A generator that failed, with its output."""


def main() -> None:
    """Build with each installed generator and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    listed = ", ".join(GENERATORS)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"Generators (default: all): {listed}.")
    parser.add_argument(
        "--bin", action="append", default=[], type=Path, metavar="DIR", help="Folder with generators (repeatable)."
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="Folder for the projects.")
    parser.add_argument(
        "--require", action="append", default=[], metavar="NAME", help="Generator that must be installed (repeatable)."
    )
    args = parser.parse_args()
    if unknown := {*args.names, *args.require} - {*GENERATORS}:
        parser.error(f"unknown generator {unknown.pop()!r}; there are {listed}")
    path = search_path(args.bin)
    with tempfile.TemporaryDirectory() as temporary:
        root = args.keep or Path(temporary)
        names = args.names or list(GENERATORS)
        faults = [check_site(name, root / name, path, required=name in args.require) for name in names]
    sys.exit(1 if any(faults) else 0)


def search_path(folders: Iterable[Path]) -> str:
    """Return PATH with folders of generators before it."""
    return os.pathsep.join([*(str(folder.absolute()) for folder in folders), os.environ["PATH"]])


def check_site(name: str, project: Path, path: str, *, required: bool) -> int:
    """Build and publish one project, print its faults, and return their number."""
    generator, started = GENERATORS[name], time.perf_counter()
    try:
        site = build_site(name, project, path)
    except MissingGeneratorError:
        print(f"{name:20} not installed")
        return int(required)
    except (FailedBuildError, RoamingError) as error:
        print(f"{name:20} {error}")
        return 1
    seconds = time.perf_counter() - started
    library = open_library(site)
    faults = [
        *validate_site(library).faults,
        *validate_site(library).notes,
        *_find_differences(library.manifest.nav, generator.groups, site),
    ]
    counts = (
        f"{len(library.manifest.pages)} pages, {sum(len(page.sections) for page in library.manifest.pages)} sections"
    )
    source = library.manifest.nav_source
    print(f"{name:20} {counts}, nav from {source}, built in {seconds:.1f} s, {len(faults) or 'no'} faults")
    for fault in faults:
        print(f"  {fault}")
    return len(faults)


def build_site(name: str, project: Path, path: str, *, widget: bool = False) -> Path:
    """Write a project, build and publish it, and return the folder of its site.

    Args:
        name: A key of `GENERATORS`.
        project: Folder of the project; it is deleted first.
        path: Where generators are looked up.
        widget: Whether pages get the widget and the page menu; those of MkDocs always have them.

    Raises:
        MissingGeneratorError: The generator is not installed.
        FailedBuildError: The build failed.
    """
    generator = GENERATORS[name]
    command, modules = _find_command(generator, path)
    project = project.absolute()
    shutil.rmtree(project, ignore_errors=True)
    project.mkdir(parents=True)
    generator.write(project)
    if modules:  # some generators do not support a symbolic link
        shutil.copytree(modules, project / "node_modules", symlinks=True, copy_function=os.link)
    environment = {"ASTRO_TELEMETRY_DISABLED": "1", "DOCUSAURUS_NO_UPDATE_NOTIFIER": "1", "CI": "1"}
    environment |= {"NO_MKDOCS_2_WARNING": "1", "PATH": path}
    done = subprocess.run(
        command, cwd=project, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise FailedBuildError(f"build failed:\n{(done.stdout + done.stderr)[-2000:]}")
    site = project / generator.output
    if not generator.has_plugin:  # some generators do not write the URL of the site
        elements = PublishOptions(widget={"endpoint": "/"}, page_menu=True) if widget else PublishOptions()
        options = IndexOptions(url=URL, publish=elements)
        index_site(site, options, warn=lambda line: print(f"  {line}"))
    return site


def _find_command(generator: Generator, path: str) -> tuple[list[str], Path | None]:
    """Return the command of a generator, and its `node_modules`, if any."""
    if generator.has_plugin:
        return [sys.executable, "-m", *generator.command], None
    tool = shutil.which(generator.command[0], path=path)
    if tool is None or (generator.module and not _is_importable(Path(tool), generator.module)):
        raise MissingGeneratorError
    modules = Path(tool).parent.parent
    return [tool, *generator.command[1:]], modules if modules.name == "node_modules" else None


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
        title, _, body = text.replace("{note}", note).replace("{prose}", PROSE).partition("\n")
        file = folder / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        header = front_matter.replace("{title}", title[2:])
        file.write_text(header + (body if strip_title else f"{title}\n{body}"))


_NAV = '["index.md", {"Guide": ["guide/install.md", "guide/use.md", "guide/tour.md"]}, {"Reference": ["reference/cli.md"]}]'


def _write_mkdocs(theme: str, *, has_banner: bool = False) -> Callable[[Path], None]:
    def write(project: Path) -> None:
        _write_markdown(project / "docs", '!!! warning "Old gauges"\n    A gauge of 2009 has no room for it.')
        if has_banner:
            _write_overrides(project)
        (project / "mkdocs.yml").write_text(
            f"site_name: Ebb\nsite_url: {URL}\nnav: {_NAV}\ntheme: {theme}\n"
            "markdown_extensions: [admonition, tables, toc: {permalink: true}]\n"
            "plugins: [search, roaming: {widget: {endpoint: /}, page_menu: true}]\n"
        )

    return write


def _write_zensical(variant: str) -> Callable[[Path], None]:
    def write(project: Path) -> None:
        _write_markdown(project / "docs", '!!! warning "Old gauges"\n    A gauge of 2009 has no room for it.')
        _write_overrides(project)
        nav = _NAV.replace('"Guide":', '"Guide" =').replace('"Reference":', '"Reference" =')
        (project / "zensical.toml").write_text(
            f'[project]\nsite_name = "Ebb"\nsite_url = "{URL}"\nnav = {nav}\n'
            f'[project.theme]\nvariant = "{variant}"\ncustom_dir = "overrides"\nlanguage = "en"\n'
            '[[project.theme.palette]]\nmedia = "(prefers-color-scheme: light)"\nscheme = "default"\n'
            '[[project.theme.palette]]\nmedia = "(prefers-color-scheme: dark)"\nscheme = "slate"\n'
        )

    return write


def _write_overrides(project: Path) -> None:
    (project / "overrides").mkdir()
    block = f"{{% block announce %}}{ANNOUNCEMENT}{{% endblock %}}"
    (project / "overrides/main.html").write_text(f'{{% extends "base.html" %}}\n{block}\n')


def _write_sphinx(theme: str, *, has_banner: bool = False) -> Callable[[Path], None]:
    def write(project: Path) -> None:
        for name, text in RST.items():
            file = project / f"{name}.rst"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace("{prose}", PROSE))
        (project / "conf.py").write_text(
            f'project = "Ebb"\nhtml_title = "Ebb"\nhtml_theme = "{theme}"\nhtml_baseurl = "{URL}"\nlanguage = "en"\n'
            + f"html_theme_options = {{'announcement': {ANNOUNCEMENT!r}}}\n" * has_banner
        )

    return write


RST = {
    "index": (
        "Ebb\n===\n\nEbb reads tide gauges. Begin with the :doc:`installation <guide/install>`.\n\n"
        ".. toctree::\n   :caption: Guide\n\n   guide/install\n   guide/use\n   guide/tour\n\n"
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
    "guide/tour": (
        f"{TOUR}\n{'=' * len(TOUR)}\n\n"
        "{prose}\n\nThe first gauge\n---------------\n\n{prose}\n\n.. code-block:: sh\n\n"
        "   ebb read --station outer-harbour --every 60 --format json --output levels.json | tee --append levels.log | sort\n\n"
        ".. list-table::\n   :header-rows: 1\n\n   * - station\n     - level\n     - datum\n     - last reading\n"
        "     - next tide\n     - keeper\n     - telephone\n   * - outer-harbour\n     - 1.20 m\n     - chart datum\n"
        "     - 2026-03-01T10:00:00Z\n     - 2026-03-01T16:12:00Z\n     - Morgan\n     - 5550100\n\n"
        "The second gauge\n----------------\n\n- {prose}\n- {prose}\n\nThe third gauge\n---------------\n\n{prose}\n\n"
        "{prose}\n\nThe fourth gauge\n----------------\n\n{prose}\n\n{prose}\n\n{prose}\n"
    ),
    "reference/cli": (
        "Commands\n========\n\n.. _ebb-read:\n\nebb read\n--------\n\n``ebb read`` prints one level.\n\n"
        "Quiet\n~~~~~\n\nSay ``--hush``.\n"
    ),
}


def _write_docusaurus(trailing_slash: str = "") -> Callable[[Path], None]:
    def write(project: Path) -> None:
        _write_markdown(project / "docs", CONTAINER)
        text = (project / "docs/index.md").read_text()
        (project / "docs/index.md").write_text(f"---\nslug: /\n---\n{text}")
        (project / "sidebars.js").write_text(
            'module.exports = {docs: ["index", {type: "category", label: "Guide", collapsed: false, items: '
            '["guide/install", "guide/use", "guide/tour"]}, {type: "category", label: "Reference", items: ["reference/cli"]}]};\n'
        )
        (project / "docusaurus.config.js").write_text(
            'module.exports = {title: "Ebb", url: "https://docs.example", baseUrl: "/ebb/", onBrokenLinks: "throw",\n'
            '  plugins: [["@docusaurus/plugin-content-docs", {routeBasePath: "/", sidebarPath: "./sidebars.js"}]],\n'
            f'  themes: ["@docusaurus/theme-classic"],{trailing_slash}\n'
            f"  themeConfig: {{announcementBar: {{id: 'ebb2', content: '{ANNOUNCEMENT}'}},\n"
            '    navbar: {title: "Ebb", items: [{to: "/guide/use", label: "Guide"}, {to: "/reference/cli", label: "Reference", '
            'position: "right"}]},\n'
            '    colorMode: {respectPrefersColorScheme: true}, prism: {additionalLanguages: ["bash"]}}};\n'
        )
        (project / "package.json").write_text('{"name": "ebb", "private": true}\n')

    return write


def _write_vitepress(project: Path) -> None:
    _write_markdown(project, "::: warning Old gauges\nA gauge of 2009 has no room for it.\n:::")
    (project / ".vitepress/theme").mkdir(parents=True)
    (project / ".vitepress/theme/index.mjs").write_text(
        'import { h } from "vue";\nimport DefaultTheme from "vitepress/theme";\nimport "./banner.css";\n'
        "export default { extends: DefaultTheme, Layout: () => h(DefaultTheme.Layout, null, "
        f'{{ "layout-top": () => h("div", {{ class: "ebb-banner" }}, "{ANNOUNCEMENT}") }}) }};\n'
    )
    (project / ".vitepress/theme/banner.css").write_text(
        ":root { --vp-layout-top-height: 40px }\n.ebb-banner { position: fixed; inset: 0 0 auto; height: 40px; "
        "z-index: var(--vp-z-index-layout-top); line-height: 40px; text-align: center; background: #3451b2; color: #fff }\n"
    )
    (project / ".vitepress/config.mjs").write_text(
        'export default {title: "Ebb", base: "/ebb/", lang: "en", themeConfig: {nav: [{text: "Guide", link: "/guide/use"}], sidebar: [{text: "Ebb", link: "/"},\n'
        '  {text: "Guide", items: [{text: "Install", link: "/guide/install"}, {text: "Use", link: "/guide/use"},\n'
        f'    {{text: "{TOUR}", link: "/guide/tour"}}]}},\n'
        '  {text: "Reference", items: [{text: "Commands", link: "/reference/cli"}]}]}};\n'
    )
    (project / "package.json").write_text('{"name": "ebb", "private": true, "type": "module"}\n')


def _write_starlight(project: Path) -> None:
    docs = project / "src/content/docs"
    _write_markdown(
        docs,
        CONTAINER.replace("warning", "caution"),
        front_matter=f"---\ntitle: {{title}}\nbanner:\n  content: '{ANNOUNCEMENT}'\n---\n",
        strip_title=True,
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
        '  { label: "Guide", items: ["guide/install", "guide/use", "guide/tour"] },\n'
        '  { label: "Reference", items: ["reference/cli"] }] })] });\n'
    )
    (project / "package.json").write_text(
        '{"type": "module", "dependencies": {"astro": "*", "@astrojs/starlight": "*"}}\n'
    )


def _write_mdbook(project: Path) -> None:
    _write_markdown(project / "src", "> [!WARNING]\n> A gauge of 2009 has no room for it.")
    (project / "book.toml").write_text('[book]\ntitle = "Ebb"\nlanguage = "en"\n[output.html]\nsite-url = "/ebb/"\n')
    (project / "src/SUMMARY.md").write_text(
        "# Summary\n\n[Ebb](index.md)\n\n# Guide\n\n- [Install](guide/install.md)\n- [Use](guide/use.md)\n"
        f"- [{TOUR}](guide/tour.md)\n\n"
        "# Reference\n\n- [Commands](reference/cli.md)\n"
    )


_SPHINX_COMMAND = ("sphinx-build", "-q", "-b", "html", ".", "out")
_MKDOCS_COMMAND = ("mkdocs", "build", "-q")
_ZENSICAL_COMMAND = ("zensical", "build")
_DOCUSAURUS_COMMAND = ("docusaurus", "build")
GENERATORS = {
    "material": Generator(
        _write_mkdocs(
            "{name: material, custom_dir: overrides, font: false, palette: [{media: '(prefers-color-scheme: light)', "
            "scheme: default}, {media: '(prefers-color-scheme: dark)', scheme: slate}]}",
            has_banner=True,
        ),
        _MKDOCS_COMMAND,
        "site",
        has_plugin=True,
    ),
    "mkdocs": Generator(
        _write_mkdocs("{name: mkdocs, highlightjs: false, color_mode: auto}"), _MKDOCS_COMMAND, "site", has_plugin=True
    ),
    "readthedocs": Generator(
        _write_mkdocs("{name: readthedocs, highlightjs: false}"), _MKDOCS_COMMAND, "site", has_plugin=True
    ),
    "zensical": Generator(_write_zensical("modern"), _ZENSICAL_COMMAND, "site"),
    "zensical-classic": Generator(_write_zensical("classic"), _ZENSICAL_COMMAND, "site"),
    "sphinx-alabaster": Generator(_write_sphinx("alabaster"), _SPHINX_COMMAND, "out", "alabaster"),
    "sphinx-furo": Generator(_write_sphinx("furo", has_banner=True), _SPHINX_COMMAND, "out", "furo"),
    "sphinx-rtd": Generator(_write_sphinx("sphinx_rtd_theme"), _SPHINX_COMMAND, "out", "sphinx_rtd_theme"),
    "sphinx-pydata": Generator(
        _write_sphinx("pydata_sphinx_theme", has_banner=True), _SPHINX_COMMAND, "out", "pydata_sphinx_theme", {}
    ),
    "docusaurus": Generator(_write_docusaurus(), _DOCUSAURUS_COMMAND, "build"),
    "docusaurus-slash": Generator(_write_docusaurus(" trailingSlash: true,"), _DOCUSAURUS_COMMAND, "build"),
    "docusaurus-no-slash": Generator(_write_docusaurus(" trailingSlash: false,"), _DOCUSAURUS_COMMAND, "build"),
    "vitepress": Generator(_write_vitepress, ("vitepress", "build"), ".vitepress/dist"),
    "starlight": Generator(_write_starlight, ("astro", "build"), "dist"),
    "mdbook": Generator(_write_mdbook, ("mdbook", "build"), "book"),
}

if __name__ == "__main__":
    main()
