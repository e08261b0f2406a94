"""The sites that a preview shows: published folders, and built ones, which are converted into a temporary folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mkdocs_roaming.errors import PublishError, UsageError
from mkdocs_roaming.files import read_inside
from mkdocs_roaming.lint.runner import LintConfig, LintReport, lint_folder
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.models import LLMS_TXT
from mkdocs_roaming.publish.ownership import PublishedFiles
from mkdocs_roaming.publish.pipeline import LeftOut
from mkdocs_roaming.sources import decode_text
from mkdocs_roaming.sources.built_site import Warn
from mkdocs_roaming.sources.project import IndexOptions
from mkdocs_roaming.sources.publication import check_folder, index_site


@dataclass(frozen=True, slots=True)
class PreviewedSite:
    """A site with the files that are published, or would be.

    Attributes:
        folder: The folder of the published files.
        report: The findings of the linter.
        read_html: Returns the HTML of a page by its path and its URL; empty if there is none.
        left_out: Pages that are not published.
        note: How the files were made, in a sentence.
    """

    folder: Path
    report: LintReport
    read_html: Callable[[str, str], str]
    left_out: Sequence[LeftOut] = ()
    note: str = ""


def is_published(folder: Path) -> bool:
    """Return whether a folder has a manifest."""
    return (folder / MANIFEST_PATH).is_file()


def open_published(folder: Path, lint: LintConfig, docs: Path | None) -> PreviewedSite:
    """Return the site in a published folder.

    Args:
        folder: The folder.
        lint: The configuration of the linter.
        docs: The folder of the sources, for the lines of findings.
    """
    return PreviewedSite(folder, lint_folder(folder, lint, docs), partial(find_html, folder))


def convert_built(
    folder: Path,
    options: IndexOptions,
    lint: LintConfig,
    target: Path,
    *,
    warn: Warn,
    start_progress: Callable[[int], Callable[[], None]] = lambda total: lambda: None,
) -> PreviewedSite:
    """Convert a built site as `roaming index` does, but into another folder.

    Args:
        folder: The folder of the built site, which is not changed.
        options: The options of the conversion.
        lint: The configuration of the linter.
        target: An empty folder.
        warn: Called with a line for each problem.
        start_progress: Called with the number of pages; returns a function that is called after each page.

    Raises:
        UsageError: The folder is not a built site.
        PublishError: There is nothing to publish.
    """
    note = f"{folder} is not changed: this is what roaming index would write."
    try:
        check_folder(folder, options.publish)
    except (PublishError, UsageError) as error:
        note += f" It would stop first: {error}."
    if options.publish.llms_txt is not True and (text := PublishedFiles(folder).author_text):
        (target / LLMS_TXT).write_bytes(text)
    report = index_site(folder, options, warn=warn, start_progress=start_progress, target=target)
    findings = lint_folder(target, lint, options.project.docs)
    return PreviewedSite(target, findings, partial(find_html, folder), report.left_out, note)


def find_html(folder: Path, path: str, url: str) -> str:
    """Return the HTML of a page below a folder; empty if there is none."""
    names = [path, f"{path}.html", f"{path}/index.html"]
    if not path or path.endswith("/"):
        names = [f"{path}index.html"]
    for name in names:
        data = read_inside(folder, name)
        if data is not None:
            return decode_text(data)
    return ""
