"""`roaming demo`: this documentation as a site with the widget, built and served on this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from socket import socket

import click
import yaml

from mkdocs_roaming.cli.common import FOLDER
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.manifest.models import NavEntry

_BUNDLE = Path(__file__).parents[1] / "_docs"
_IMAGE = re.compile(r"!\[[^]]*\]\([^)]*\)")  # a bundle has none
_QUESTION = "How do I add it to a Sphinx site?"
_INTRODUCTION = """\
MkDocs built this documentation with two more lines:

    plugins:
      - roaming: {widget: true, page_menu: true}

Beside the pages there are now:
"""
_FILES = {
    "llms.txt": "the list of all pages",
    "llms-full.txt": "their full text",
    "{page}": "a page as Markdown, one of {pages}",
    "roaming/outline.md": "what a model reads first",
    "roaming/manifest.json": "{sections} sections with stable ids",
}


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True, help="Port of the site.")
@click.option("--model", help="Model that answers, as for roaming ask (default: search results).")
@click.option("--bundle", type=FOLDER, default=_BUNDLE, hidden=True, help="Another package's documentation.")
def demo(port: int, model: str | None, bundle: Path) -> None:
    """Show what mkdocs-roaming does to a site: its own documentation.

    The site is built in a temporary folder with MkDocs. On a terminal it is served until Ctrl-C.
    """
    with socket() as probe:
        if not probe.connect_ex(("127.0.0.1", port)):
            raise UsageError(f"port {port} is in use; choose another with --port")
    with tempfile.TemporaryDirectory(prefix="roaming-demo-") as name:
        config = _write_project(bundle, Path(name), f"http://127.0.0.1:{port}/", model)
        mkdocs = [sys.executable, "-W", "ignore", "-m", "mkdocs"]
        environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
        subprocess.run([*mkdocs, "build", "-q", "-f", config], env=environment, check=True)
        for line in _describe(Path(name) / "site"):
            click.echo(line)
        if not sys.stdout.isatty():
            return
        click.echo(f"\nThe site is at http://127.0.0.1:{port}/ now: press “Ask” there. Ctrl-C stops the server.")
        subprocess.run([*mkdocs, "serve", "-q", "-f", config, "-a", f"127.0.0.1:{port}"], env=environment, check=False)


def _write_project(bundle: Path, folder: Path, url: str, model: str | None) -> Path:
    """Write the documentation as a MkDocs project; return its configuration."""
    if not (bundle / MANIFEST_PATH).is_file():
        raise UsageError("this installation has no documentation; in a clone, run `make bundle` first")
    manifest = load_manifest((bundle / MANIFEST_PATH).read_bytes())
    site = manifest.site
    for page in bundle.rglob("*.md"):
        if page.parent != bundle / "roaming":
            target = folder / "docs" / page.relative_to(bundle)
            target.parent.mkdir(parents=True, exist_ok=True)
            _note, _, text = page.read_text("utf-8").partition("\n\n")  # where the page comes from
            text = _IMAGE.sub("", text).replace(site.url, "/").replace("/index.md", "/")
            target.write_text(text, "utf-8")
    roaming: dict[str, object] = {"widget": True, "page_menu": True} | ({"serve_model": model} if model else {})
    config = {
        "site_name": site.name,
        "site_url": url,
        "site_description": site.description,
        "theme": {"name": "material", "font": False} if find_spec("material") else "mkdocs",
        "nav": _list_nav(manifest.nav),
        "plugins": ["search", {"roaming": roaming}],
        "markdown_extensions": ["admonition", "fenced_code", "tables", "toc"],
        "validation": {"absolute_links": "ignore", "unrecognized_links": "ignore"},
    }
    file = folder / "mkdocs.yml"
    file.write_text(yaml.safe_dump(config, sort_keys=False), "utf-8")
    return file


def _list_nav(entries: Iterable[NavEntry]) -> list[object]:
    """Return the navigation as MkDocs has it."""
    return [{one.title: _list_nav(one.children) or f"{one.page}index.md"} for one in entries if not one.url]


def _describe(site: Path) -> Iterator[str]:
    """Yield lines about what was written, and about what a question finds."""
    library = open_library(site)
    pages = library.manifest.pages
    known = {"pages": len(pages), "page": pages[len(pages) // 3].markdown, "sections": len(library.sections)}
    yield _INTRODUCTION
    for file, what in _FILES.items():
        path = file.format(**known)
        yield f"  {path:<24}{(site / path).stat().st_size / 1000:>6.1f} KB   {what.format(**known)}"
    yield f"\n“{_QUESTION}”, without a model:\n"
    for hit in library.search(_QUESTION, limit=3):
        yield f"  {' › '.join(hit.breadcrumb)}\n    {hit.url}"
    yield "\nOn your own documentation: roaming init"
