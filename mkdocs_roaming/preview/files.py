"""The files of a preview by name: the page, its style sheet and scripts, and the data that it loads on demand.

Data files are scripts that pass JSON to a function, because a page that is opened from a disk may load nothing else.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html import escape
from importlib import resources
from pathlib import Path

import msgspec

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.files import write_atomically
from mkdocs_roaming.preview.data import Preview

HTML_FOLDER = "site"
"""The folder of a written preview with the HTML of the site."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
"""The content security policy of the page: nothing inline, nothing of other hosts."""

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_ASSETS = ("preview.css", "preview.js")
_INDEX = "index.html"
_MARK = "data/site.js"
_PAGE = re.compile(r"data/page-([0-9a-f]{8})\.js")
_NOT_COPIED = (".js", ".map", ".md", ".txt", ".xml", ".gz", ".json", ".inv")
"""Scripts do not run in the preview, and the others are not shown."""


def render_file(preview: Preview, name: str, *, live: bool = False) -> bytes | None:
    """Return the content of a file, None if there is no such file.

    Args:
        preview: The data.
        name: The path of the file below the preview.
        live: Whether a server answers searches and reports new versions.
    """
    if name == _INDEX:
        return _render_index(preview)
    if name in (*_ASSETS, "finder.js"):
        return (resources.files(__package__) / name).read_bytes()
    if page := _PAGE.fullmatch(name):
        data = preview.page(page[1])
        return None if data is None else _encode(f"page-{page[1]}", data)
    if name == "data/site.js":
        return _encode("site", preview.site(live=live))
    if name == "data/files.js":
        return _encode("files", preview.files())
    if name == "data/lint.js":
        return _encode("lint", preview.lint())
    if name == "data/sections.js":
        return _encode("sections", preview.sections())
    return None


def content_type(name: str) -> str:
    """Return the content type of a file of the preview."""
    return f"{_TYPES[Path(name).suffix]}; charset=utf-8"


def check_output(folder: Path, site: Path | None) -> None:
    """Check that a preview can be written to a folder.

    Args:
        folder: The folder to write.
        site: The folder of the site.

    Raises:
        UsageError: The folder is a part of the site, or contains other files than an earlier preview.
    """
    if site is not None and folder.resolve().is_relative_to(site.resolve()):
        raise UsageError(
            f"{folder}: lies in the site, but the preview names excluded pages and must not be published; "
            "choose a folder outside of it"
        )
    if folder.exists() and any(folder.iterdir()) and not (folder / _MARK).is_file():
        raise UsageError(f"{folder}: is not empty and not an earlier preview; choose another folder")


def write_preview(preview: Preview, folder: Path, site: Path | None) -> int:
    """Write a preview that needs no server, with a copy of the site's HTML.

    Args:
        preview: The data.
        folder: The folder to write; that of an earlier preview is replaced.
        site: The folder with the HTML of the site.

    Returns:
        The size in bytes.

    Raises:
        UsageError: The folder cannot be written; see `check_output`.
    """
    check_output(folder, site)
    try:
        for part in ("data", HTML_FOLDER):
            shutil.rmtree(folder / part, ignore_errors=True)
        for name in _iter_names(preview):
            write_atomically(folder / name, render_file(preview, name) or b"")
        if site is not None:
            shutil.copytree(site, folder / HTML_FOLDER, ignore=_select_ignored)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written ({error.strerror or error})") from None
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _iter_names(preview: Preview) -> Iterator[str]:
    yield _MARK  # the first file, so that an interrupted preview can be written again
    yield from ("data/files.js", "data/lint.js", "data/sections.js")
    for page in preview.library.manifest.pages:
        yield f"data/page-{page.id}.js"
    yield from ("finder.js", *_ASSETS, _INDEX)


def _select_ignored(folder: str, names: list[str]) -> list[str]:
    """Return the names that are not copied: hidden files, scripts and data, links, and this package's own files."""
    return [
        name
        for name in names
        if name.startswith(".") or name == "roaming" or name.endswith(_NOT_COPIED) or (Path(folder) / name).is_symlink()
    ]


def _render_index(preview: Preview) -> bytes:
    html = (resources.files(__package__) / "preview.html").read_text("utf-8")
    title = escape(preview.library.manifest.site.name)
    return html.replace("{title}", title).replace("{policy}", escape(POLICY)).encode("utf-8", "replace")


def _encode(name: str, data: object) -> bytes:
    return b'roamingPreview("%s", %s);\n' % (name.encode(), _encode_json(data))


def _encode_json(data: object) -> bytes:
    """Return JSON; lone surrogates, which msgspec refuses, become question marks."""
    try:
        return msgspec.json.encode(data)
    except UnicodeEncodeError:
        import json

        return json.dumps(msgspec.to_builtins(data), ensure_ascii=False).encode("utf-8", "replace")
