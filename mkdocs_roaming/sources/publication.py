"""Publication of the folder of a built site: Markdown, llms.txt and manifest, and the elements of its pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs_roaming.errors import PublishError, UsageError
from mkdocs_roaming.files import write_atomically
from mkdocs_roaming.html.themes import parse_classes
from mkdocs_roaming.library.readers import CRAWL_STATE
from mkdocs_roaming.locks import hold_folder
from mkdocs_roaming.manifest.descriptions import read_configured_descriptions
from mkdocs_roaming.manifest.models import NOT_FOUND_PAGE, canonicalize_path, root_path
from mkdocs_roaming.publish.cache import ConversionCache
from mkdocs_roaming.publish.elements.html import add_markdown_links, remove_own_elements
from mkdocs_roaming.publish.elements.page import ElementOptions, PageElements
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.ownership import PublishedFiles, check_llms_txt
from mkdocs_roaming.publish.pipeline import Batch, convert_pages
from mkdocs_roaming.publish.previous import read_previous
from mkdocs_roaming.publish.rules import RuleSet, load_rules
from mkdocs_roaming.publish.writer import PublishReport, publish_batch
from mkdocs_roaming.sources.built_site import BuiltSite, Warn, read_site
from mkdocs_roaming.sources.project import OWN_FILE, IndexOptions
from mkdocs_roaming.text.meta_tags import has_absolute_assets


def index_site(
    folder: Path,
    options: IndexOptions,
    *,
    warn: Warn,
    start_progress: Callable[[int], Callable[[], None]] = lambda total: lambda: None,
    target: Path | None = None,
) -> PublishReport:
    """Publish the folder of a built site in place: Markdown, llms.txt and the manifest.

    Args:
        folder: The folder.
        options: The options.
        warn: Called with a line for each problem.
        start_progress: Called with the number of pages; returns a function that is called after each page.
        target: Another folder to publish into. The folder of the site is not changed then.

    Raises:
        UsageError: The folder is not a built site.
        PublishError: There is nothing to publish.
    """
    publish = options.publish
    project = options.project
    warnings: list[str] = []

    def record(message: str) -> None:
        warnings.append(message)
        warn(message)

    parse_classes(publish.classes)
    element_options = ElementOptions.parse(publish)
    previous = read_previous(publish.previous, project.folder, record, inform=warn) if publish.previous else None
    with hold_folder(target or folder, warn):
        if target is None:
            check_folder(folder, publish)
        built = read_site(folder, options, record)
        rules = _load_rules(options, built)
        descriptions = None
        if publish.descriptions:
            descriptions = read_configured_descriptions(project.folder / publish.descriptions, record)
        cache = ConversionCache(options.cache)
        on_progress = start_progress(len(built.pages))
        batch = convert_pages(built.site, built.pages, cache=cache, warn=record, on_progress=on_progress)
        batch.left_out += built.left_out
        if options.strict and warnings:
            raise PublishError(
                f"{folder}: nothing is published, because there are warnings; fix them, or omit --strict"
            )
        elements = PageElements(element_options, batch, descriptions)
        report = publish_batch(
            batch,
            target or folder,
            publish,
            embeddings=options.embeddings,
            previous=previous,
            rules=rules,
            descriptions=descriptions,
            extra=elements.iter_files(),
        )
        if options.html and target is None:
            _update_html(folder, built, batch, elements, not_found=publish.similar_pages)
            if elements.menu and elements.menu.pages_without:
                warn(f"{elements.menu.pages_without} of {len(batch.pages)} pages get no page menu: they have no title")
        return report


def check_folder(folder: Path, options: PublishOptions) -> None:
    """Raise an error for a folder that another command has published, or that has an llms.txt of its own."""
    published = PublishedFiles(folder)
    check_llms_txt(published.author_text, folder, options)
    if options.overwrite:
        return
    if (folder / CRAWL_STATE).exists():
        raise UsageError(
            f"{folder}: was published by `roaming crawl`, which updates it; name the folder of a built site, or "
            "publish the HTML in this one with --overwrite"
        )
    if published.has_sources:
        raise UsageError(
            f"{folder}: was published by the MkDocs plugin or the Python API, which know what the HTML does not show, "
            "such as pages that are not to be published; build without the plugin, or publish the HTML with --overwrite"
        )


def _load_rules(options: IndexOptions, built: BuiltSite) -> RuleSet:
    """Return the rules of the options and of the pages' front matter."""
    sources = {page.path: page.source for page in built.pages}
    sources |= {page.path: page.source for page in built.left_out}
    front_matter: dict[str, Any] = {}
    for path, meta in built.meta.items():
        if "roaming" in meta:
            front_matter[sources.get(path) or path] = meta["roaming"]
    return load_rules(options.publish, options.project.file or Path(OWN_FILE), front_matter)


def _update_html(folder: Path, built: BuiltSite, batch: Batch, elements: PageElements, *, not_found: bool) -> None:
    """Add links and elements to the HTML of the published pages, and remove them from that of the others.

    Args:
        folder: The folder of the site.
        built: The site.
        batch: Its published pages.
        elements: The elements of the pages.
        not_found: Whether the 404 page links to similar pages.
    """
    for path in batch.pages:
        file = built.files[path]
        html = remove_own_elements(_read(file))
        root = _find_root(html, built.site.url, path, file.relative_to(folder).as_posix())
        html = add_markdown_links(html, path, has_llms_txt=batch.site.has_llms_txt, root=root)
        has_widget = built.meta.get(path, {}).get("ask") is not False
        _write(file, elements.add(html, path, has_widget=has_widget, root=root))
    for file in built.left_out_files:
        html = remove_own_elements(_read(file))
        if not_found and file == folder / NOT_FOUND_PAGE:
            html = elements.add_to_not_found(html)
        _write(file, html)


def _find_root(html: str, site_url: str, path: str, file: str) -> str:
    """Return the root of a page's URLs: the path of the site's URL, or nothing for URLs relative to the page.

    Hosts serve `guide/index.html` as `guide/`, and some as `guide`, too; `guide.html` also as `guide` or `guide/`. A
    page works at all of them if its own scripts and style sheets have absolute paths, and so must what is added to it.
    A page that names another address than that of its file is served at both.
    """
    root = root_path(site_url)
    has_other_address = path.rpartition("/")[0] != canonicalize_path(file).rpartition("/")[0]
    return root if has_other_address or has_absolute_assets(html, root) else ""


# Bytes that are not UTF-8 are written back unchanged.


def _read(file: Path) -> str:
    return file.read_bytes().decode("utf-8", "surrogateescape")


def _write(file: Path, html: str) -> None:
    write_atomically(file, html.encode("utf-8", "surrogateescape"))
