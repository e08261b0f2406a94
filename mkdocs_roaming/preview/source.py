"""Open a site for a preview: as it is published, or converted into a temporary folder as it would be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from mkdocs_roaming.errors import PublishError, UsageError
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.lint.runner import LintConfig, lint_folder
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.models import LLMS_TXT, Manifest, canonicalize_path
from mkdocs_roaming.preview.data import Preview
from mkdocs_roaming.publish.ownership import PublishedFiles
from mkdocs_roaming.publish.pipeline import LeftOut
from mkdocs_roaming.sources import decode_text, is_ignored
from mkdocs_roaming.sources.built_site import is_special
from mkdocs_roaming.sources.project import IndexOptions
from mkdocs_roaming.sources.publication import check_folder, index_site
from mkdocs_roaming.text.meta_tags import exclusion_reason

Warn = Callable[[str], None]

BASE = "../../"
"""URL of the site, relative to the preview."""


def open_published(
    folder: Path,
    lint: LintConfig,
    *,
    html: Path | None = None,
    docs: Path | None = None,
    known_left_out: Iterable[LeftOut] = (),
    note: str = "",
) -> Preview:
    """Open the folder of a published site.

    Args:
        folder: The folder.
        lint: The configuration of the linter.
        html: The folder with the HTML of the site, if it is another one.
        docs: The folder of the sources, for the lines of findings.
        known_left_out: Pages that are not published, as far as their reason is known from a build.
        note: How the site was made, in a sentence.
    """
    library = open_library(folder)
    html = html or folder
    return Preview(
        library,
        lint=lambda: lint_folder(folder, lint, docs),
        html=lambda path: find_html(html, path),
        left_out=find_left_out(html, library.manifest, known_left_out),
        base=BASE,
        note=note,
    )


def open_built(
    folder: Path,
    options: IndexOptions,
    lint: LintConfig,
    stack: ExitStack,
    *,
    warn: Warn,
    start_progress: Callable[[int], Callable[[], None]] = lambda total: lambda: None,
) -> Preview:
    """Convert a built site as `roaming index` does, but into a temporary folder, and open it.

    Args:
        folder: The folder of the built site, which is not changed.
        options: The options of the conversion.
        lint: The configuration of the linter.
        stack: Removes the temporary folder when it is closed.
        warn: Called with a line for each problem.
        start_progress: Called with the number of pages; returns a function that is called after each page.

    Raises:
        UsageError: The folder is not a built site.
        PublishError: There is nothing to publish.
    """
    note = f"{folder} is not changed: this is what `roaming index` would write."
    try:
        check_folder(folder, options.publish)
    except (PublishError, UsageError) as error:
        note += f" It would stop first: {error}."
    target = Path(stack.enter_context(TemporaryDirectory(prefix="roaming-preview-", ignore_cleanup_errors=True)))
    if options.publish.llms_txt is not True and (text := PublishedFiles(folder).author_text):
        (target / LLMS_TXT).write_bytes(text)
    report = index_site(folder, options, warn=warn, start_progress=start_progress, target=target)
    return open_published(
        target, lint, html=folder, docs=options.project.docs, known_left_out=report.left_out, note=note
    )


def find_html(folder: Path, path: str) -> str:
    """Return the HTML file of a page below a folder; empty if there is none."""
    if path.startswith("/") or ".." in path.split("/"):
        return ""
    names = [f"{path}index.html"] if path.endswith("/") or not path else [path, f"{path}.html", f"{path}/index.html"]
    return next((name for name in names if (folder / name).is_file()), "")


def find_left_out(folder: Path, manifest: Manifest, known: Iterable[LeftOut] = ()) -> Iterator[LeftOut]:
    """Yield the pages of a site that are not published: known ones, then HTML without Markdown.

    Args:
        folder: The folder with the HTML.
        manifest: The manifest of the site.
        known: Pages with the reason that a build had. For others, the HTML tells the reason as far as it can.
    """
    seen = {_strip_suffix(page.path) for page in manifest.pages}
    for page in known:
        seen.add(_strip_suffix(page.path))
        yield page
    others = {file.parents[1] for file in folder.rglob(MANIFEST_PATH)} - {folder}  # languages and versions
    for file in sorted(folder.rglob("*.html")):
        name = file.relative_to(folder)
        path = canonicalize_path(name.as_posix())
        if not is_ignored(name) and _strip_suffix(path) not in seen and others.isdisjoint(file.parents):
            yield LeftOut(path, _find_reason(path, decode_text(file.read_bytes())))


def _strip_suffix(path: str) -> str:
    return path.removesuffix(".html").rstrip("/")


def _find_reason(path: str, html: str) -> str:
    if is_special(path):
        return "a page that the generator adds"
    if "<head" not in html[:100_000].lower():
        return "a fragment of a page"
    return exclusion_reason(html) or "not in the manifest: excluded, or a copy of another page"


def is_published(folder: Path) -> bool:
    """Return whether a folder has a manifest."""
    return (folder / MANIFEST_PATH).is_file()
