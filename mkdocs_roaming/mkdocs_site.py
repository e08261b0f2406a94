"""What MkDocs says of the site that it builds: its address, its languages and versions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mkdocs.config.defaults import MkDocsConfig

from mkdocs_roaming.manifest import PATH as MANIFEST
from mkdocs_roaming.page import Alternate, NavItem, Site
from mkdocs_roaming.publish.cache import cache_folder


def site_of(config: MkDocsConfig, description: str | None, nav: tuple[NavItem, ...]) -> Site:
    """Give the site, or the language of it, that is built."""
    folder, i18n = folder_of(config), i18n_of(config)
    language = config.theme.get("language") or config.theme.get("locale") or "en"
    return Site(
        name=config.site_name,
        url=url_of_site(config) + (f"{folder}/" if folder else ""),
        description=description or config.site_description or "",
        language=str(i18n.current_language if i18n else language).replace("_", "-"),
        version=os.environ.get(_MIKE_VERSION) if "mike" in config.plugins else None,
        alternates=tuple(_alternates(config, i18n)) if i18n else (),
        nav=nav,
        nav_source="mkdocs",
    )


_MIKE_VERSION = "MIKE_DOCS_VERSION"


def url_of_site(config: MkDocsConfig, given: str | None = None) -> str:
    """Give the address that is built for. With a canonical version, mike sets that one's on the pages of all."""
    url = (given or config.site_url or "").rstrip("/")
    canonical = config.plugins["mike"].config.get("canonical_version") if "mike" in config.plugins else None
    if canonical and os.environ.get(_MIKE_VERSION):
        url = url.removesuffix(f"/{canonical}") + "/" + os.environ[_MIKE_VERSION]
    return url + "/"


def path_of_dev_server(config: MkDocsConfig) -> str:
    """Give the path that `mkdocs serve` serves the site at, nothing in a build: it sets the address to its own."""
    url = urlsplit(config.site_url or "")
    return url.path if url.netloc == str(config.dev_addr) else ""


def i18n_of(config: MkDocsConfig) -> Any:
    """Give mkdocs-static-i18n, None where there is only one language."""
    plugin: Any = config.plugins.get("i18n")
    return plugin if getattr(plugin, "current_language", None) else None


def is_inner_build(config: MkDocsConfig) -> bool:
    """Tell whether this is a build inside the first language's."""
    return bool(getattr(config.plugins.get("i18n"), "building", False))


def folder_of(config: MkDocsConfig) -> str:
    """Give the folder of the language that is built: its locale, or nothing for the default language."""
    i18n = i18n_of(config)
    return "" if i18n is None or i18n.is_default_language_build else str(i18n.current_language)


def _alternates(config: MkDocsConfig, i18n: Any) -> Iterator[Alternate]:
    for locale in i18n.build_languages:
        if locale != i18n.current_language:
            own = i18n.get_language_config(locale).site_url or i18n.original_configs.get("site_url")
            folder = "" if locale == i18n.default_language else f"{locale}/"
            yield Alternate(f"{url_of_site(config, own)}{folder}{MANIFEST}", language=locale.replace("_", "-"))


def in_language(previous: str, folder: str) -> str:
    """Give where a language's previous manifest is, by where the default language's is."""
    if not folder:
        return previous
    site = previous.removesuffix(MANIFEST).rstrip("/")
    return f"{site}/{folder}" if site != previous or not previous.endswith(".json") else previous


def cache_folder_of(config: MkDocsConfig) -> Path:
    """Give the folder that the project's conversions are kept in."""
    return cache_folder(Path(config.config_file_path or ".").parent)


def forget_languages(config: MkDocsConfig) -> None:
    """Remove what was kept of languages that are built no longer: nothing else would look at it again."""
    i18n = i18n_of(config)
    living = i18n.build_languages if i18n else ()
    with suppress(OSError):
        for folder in cache_folder_of(config).iterdir():
            if folder.is_dir() and folder.name not in living:
                for file in folder.glob("*.json"):
                    file.unlink(missing_ok=True)
                folder.rmdir()
