"""What a link on a page becomes in its Markdown: absolute, percent-encoded, to the Markdown twin where there is one."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import quote, urljoin

from mkdocs_roaming.manifest.models import Site, markdown_path, path_to_url, url_to_path


class LinkResolver:
    """Resolves the links of one page. `paths` are those of all published pages."""

    def __init__(self, site_url: str, page_url: str, paths: Collection[str]) -> None:
        self._site_url, self._page_url, self._paths = site_url, page_url, paths
        self._pages: dict[str, str] = {}

    def link(self, href: str) -> str:
        """Give the address that the Markdown links to."""
        address, mark, fragment = href.strip().partition("#")
        if address not in self._pages:  # a page is linked to again and again, at other places in it
            self._pages[address] = self._page(address)
        return self._pages[address] + (mark + quote(fragment, safe=_KEPT) if fragment else "")

    def absolute(self, href: str) -> str:
        """Give an image's or a file's address."""
        href = href.strip()
        try:
            return quote(urljoin(self._page_url, href), safe=_KEPT)
        except ValueError:  # `http://[` and its kind: a broken link stays as broken as it was
            return quote(href, safe=_KEPT)

    def _page(self, address: str) -> str:
        url = self.absolute(address)
        if "?" in url or not url.startswith(("http:", "https:")):
            return url
        path = url_to_path(self._site_url, url)
        if path is None or (found := self._published(path)) is None:
            return url
        return path_to_url(self._site_url, markdown_path(found))

    def _published(self, path: str) -> str | None:
        """Give the page that a path leads to: static hosts serve `guide`, `guide/` and `guide/index.html` alike.

        The name of its Markdown leads to a page, too: whoever publishes that links to it.
        """
        forms = [path, path + "/", path.rstrip("/")]
        if path.endswith(".md"):
            stem = path.removesuffix(".md")
            forms += [re.sub(r"(^|/)index$", r"\1", stem), stem, stem + "/", stem + ".html"]
        return next((form for form in forms if form in self._paths), None)


def link_resolver_for(site: Site, path: str, url: str | None, paths: Collection[str]) -> LinkResolver:
    """Give the links of the page at a path."""
    return LinkResolver(site.url, url or path_to_url(site.url, path), paths)


_KEPT = "/-._~!$&'()*+,;=:@?#%[]"  # what is reserved or already encoded stays
