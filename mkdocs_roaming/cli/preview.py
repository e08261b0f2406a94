"""`roaming preview`: show what machines see of a site."""

from __future__ import annotations

import webbrowser
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import click

from mkdocs_roaming.cli.common import (
    CONFIG,
    CONFIG_FILE,
    SITE_URL,
    given_settings,
    progress,
    setting_options,
    warn,
)
from mkdocs_roaming.cli.lint import create_context
from mkdocs_roaming.cli.sites import open_lib
from mkdocs_roaming.config import Settings, load_settings
from mkdocs_roaming.lint.runner import LintConfig, lint_site, parse_config
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.preview.data import Preview
from mkdocs_roaming.preview.server import (
    PREVIEW_PATH,
    PreviewApp,
    PreviewSource,
    SiteFiles,
    make_server,
    manifest_version,
)
from mkdocs_roaming.preview.source import is_published, open_built, open_published
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.sources.project import IndexOptions, Project, find_project


@click.command()
@click.argument("site")
@CONFIG_FILE
@SITE_URL
@setting_options(PublishOptions, "include", "exclude")
@click.option("--port", type=click.IntRange(0, 65535), default=8060, show_default=True, help="Port; 0: a free one.")
@click.option("--open/--no-browser", "open_browser", default=True, help="Open the page in a browser (default: open).")
@CONFIG
def preview(site: str, port: int, open_browser: bool, config: Path | None, **given: Any) -> None:
    """Show what machines see of a site.

    SITE is the folder of a built site, or the URL of a published one. A folder that is not published is converted into
    a temporary folder; the site itself is never changed. The page shows llms.txt, the outline, each page next to its
    Markdown, what is left out and why, lint findings, and search results. It is served on this machine only.
    """
    folder = None if "://" in site else Path(site)
    project = find_project(folder, given["config_file"], warn) if folder else Project()
    patterns = given_settings(PublishOptions, given)
    options = IndexOptions(url=given["url"], project=project, publish=project.parse_options(patterns))
    lint = _find_lint(project, options.publish, load_settings(config))
    with ExitStack() as stack:
        if folder is None:
            source = _open_remote(site, lint)
        else:
            convert = bool(patterns or given["url"] or given["config_file"])
            source = _open_folder(folder, options, lint, stack, convert=convert)
        _serve(source, folder, port, open_browser=open_browser)


def _find_lint(project: Project, options: PublishOptions, settings: Settings) -> LintConfig:
    """Return the configuration of the linter: that of the site, if it has one."""
    if "lint" in (project.block or {}):
        return parse_config(options.lint, f"{project.file}: lint")
    return parse_config(settings.serving.get("lint", "warn"), f"{settings.where}: [lint]")


def _serve(source: PreviewSource, folder: Path | None, port: int, *, open_browser: bool) -> None:
    """Serve a preview until Ctrl-C."""
    path = urlsplit(source.get().library.manifest.site.url).path or "/"
    mount = unquote(path)
    app = PreviewApp(SiteFiles(folder, mount), mount, {"": source}.get)
    with make_server(app, port) as server:
        address = f"http://127.0.0.1:{server.server_port}{path}{PREVIEW_PATH}"
        click.echo(f"{address} (Ctrl-C stops the server)")
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
    folder: Path, options: IndexOptions, lint: LintConfig, stack: ExitStack, *, convert: bool
) -> PreviewSource:
    """Return the preview of a folder: as it is published, unless `convert` is set or there is no manifest."""
    if is_published(folder) and not convert:
        opened = partial(open_published, folder, lint, docs=options.project.docs)
        return PreviewSource(opened, lambda: manifest_version(folder / MANIFEST_PATH))
    with progress("Converting") as steps:
        built = open_built(folder, options, lint, stack, warn=warn, start_progress=steps)
    return PreviewSource(lambda: built)


def _open_remote(url: str, lint: LintConfig) -> PreviewSource:
    """Return the preview of a published site at a URL; its HTML is not shown."""
    library = open_lib(url)
    shown = Preview(library, lint=lambda: lint_site(create_context(library), lint))
    return PreviewSource(lambda: shown)
