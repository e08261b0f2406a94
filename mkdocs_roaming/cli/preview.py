"""`roaming preview`: show what machines see of a site."""

from __future__ import annotations

import signal
import sys
import webbrowser
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import click

from mkdocs_roaming.cli.common import CONFIG, open_lib, progress, warn

if TYPE_CHECKING:
    from mkdocs_roaming.lint.runner import LintConfig
    from mkdocs_roaming.preview.server import PreviewSource
    from mkdocs_roaming.sources.project import IndexOptions


@click.command()
@click.argument("site")
@click.option(
    "--config-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Configuration of the site: zensical.toml, mkdocs.yml or roaming.toml (default: the one next to SITE).",
)
@click.option("--url", help="URL of a site that is not published (default: the home page's canonical link).")
@click.option("--include", multiple=True, metavar="PATTERN", help="Publish only matching pages. Repeatable.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out matching pages. Repeatable.")
@click.option("--port", type=click.IntRange(0, 65535), default=8060, show_default=True, help="Port; 0: a free one.")
@click.option("--open/--no-browser", "open_browser", default=True, help="Open the page in a browser (default: open).")
@CONFIG
def preview(
    site: str,
    config_file: Path | None,
    url: str | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    port: int,
    open_browser: bool,
    config: Path | None,
) -> None:
    """Show what machines see of a site.

    SITE is the folder of a built site, or the URL of a published one. A folder that is not published is converted into
    a temporary folder; the site itself is never changed. The page shows llms.txt, the outline, each page next to its
    Markdown, what is left out and why, lint findings, and search results. It is served on this machine only.
    """
    from mkdocs_roaming.config import load_settings
    from mkdocs_roaming.lint.runner import parse_config
    from mkdocs_roaming.preview.server import (
        BASE,
        PREVIEW_PATH,
        PreviewApp,
        SiteFiles,
        make_server,
    )
    from mkdocs_roaming.sources.project import IndexOptions, Project, find_project

    settings = load_settings(config)
    folder = None if "://" in site else Path(site)
    project = find_project(folder, config_file, warn) if folder else Project()
    given = {name: value for name, value in (("include", include), ("exclude", exclude)) if value}
    options = IndexOptions(url=url, project=project, publish=project.parse_options(given))
    lint = parse_config(settings.serving.get("lint", "warn"), f"{settings.where}: [lint]")
    if "lint" in (project.block or {}):
        lint = parse_config(options.publish.lint, f"{project.file}: lint")
    is_asked = bool(given or url or config_file)
    with ExitStack() as stack:
        if folder is None:
            source = _open_remote(site, lint)
        else:
            source = _open_folder(folder, options, lint, stack, BASE, convert=is_asked)
        shown = source.get()
        path = urlsplit(shown.library.manifest.site.url).path or "/"
        mount = unquote(path)
        app = PreviewApp(SiteFiles(folder, mount), mount, {"": source}.get)
        server = stack.enter_context(make_server(app, port))
        address = f"http://127.0.0.1:{server.server_port}{path}{PREVIEW_PATH}"
        click.echo(f"{address} (Ctrl-C stops the server)")
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # the temporary folder is removed
        if open_browser:
            _open_browser(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo()


def _open_browser(address: str) -> None:
    """Open a page in a graphical browser, if there is one. One in the terminal would block the command."""
    with suppress(webbrowser.Error):
        browser = webbrowser.get()
        if type(browser) is not webbrowser.GenericBrowser:
            browser.open(address)


def _open_folder(
    folder: Path, options: IndexOptions, lint: LintConfig, stack: ExitStack, base: str, *, convert: bool
) -> PreviewSource:
    """Return the preview of a folder: as it is published, unless `convert` is set or there is no manifest."""
    from mkdocs_roaming.manifest.io import MANIFEST_PATH
    from mkdocs_roaming.preview.server import PreviewSource, manifest_version
    from mkdocs_roaming.preview.source import is_published, open_built, open_published

    if is_published(folder) and not convert:
        opened = partial(open_published, folder, lint, base=base, docs=options.project.docs)
        return PreviewSource(opened, lambda: manifest_version(folder / MANIFEST_PATH))
    with progress("Converting") as steps:
        built = open_built(folder, options, lint, stack, base=base, warn=warn, start_progress=steps)
    return PreviewSource(lambda: built)


def _open_remote(url: str, lint: LintConfig) -> PreviewSource:
    """Return the preview of a published site at a URL; its HTML is not shown."""
    from mkdocs_roaming.cli.lint import create_context
    from mkdocs_roaming.lint.runner import lint_site
    from mkdocs_roaming.preview.data import Preview
    from mkdocs_roaming.preview.server import PreviewSource

    library = open_lib(url)
    shown = Preview(library, lint=lambda: lint_site(create_context(library), lint))
    return PreviewSource(lambda: shown)
