"""Links of a published site, and requests that check whether a sample of them is alive."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from mkdocs_roaming._guard import PrivateAddressError, PublicTransport, check_host, split_host
from mkdocs_roaming._http import HttpClient, HttpResponse, parse_retry_after
from mkdocs_roaming.errors import LibraryError, RoamingError, UsageError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.validate import find_html_ids, parse_markdown
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.models import LLMS_TXT, path_to_url, url_to_path

_SECONDS = 30.0
_PAUSE, _MAX_WAIT, _MAX_PAUSES = 5.0, 60.0, 3
"""Pauses of a busy server: seconds if it names none, the longest one, and their number."""
_MAX_BYTES = 10_000_000
_ACCEPT = "text/html,text/markdown;q=0.9,*/*;q=0.5"
_BUSY = (429, 503)
_BARE_URL = re.compile(r"https?://[^\s<>\"'`()\[\]]+")
_HTML_LINK = re.compile(r"""\s(?:href|src)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


@dataclass(frozen=True, slots=True)
class Link:
    """A link in a published file, with its line; line 0 stands for the whole file."""

    url: str
    file: str
    line: int

    @property
    def place(self) -> str:
        """The file and the line."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class LinkFault:
    """An address that a request showed to be wrong, and the places that link to it."""

    url: str
    reason: str
    places: tuple[str, ...]

    def __str__(self) -> str:
        """Return the first place, the address and the reason."""
        count = len(self.places) - 1
        more = f" (and {count} more place{'' if count == 1 else 's'})" if count else ""
        return f"{self.places[0]}: {self.url}: {self.reason}{more}"


@dataclass(frozen=True, slots=True)
class LinkReport:
    """Result of the requests for a sample of a site's addresses."""

    addresses: int
    """Number of distinct addresses, without fragments."""
    checked: int
    """Number of addresses that were requested."""
    dead: tuple[LinkFault, ...]
    unchecked: tuple[LinkFault, ...]
    """Addresses of the sample without an answer: their server is busy, or at a private address."""
    anchors: tuple[LinkFault, ...]
    """Links to anchors that the HTML of the page does not have. A script may add them."""

    def __str__(self) -> str:
        """Return a summary in one line."""
        alive = self.checked - len(self.dead)
        share = f" ({100 * alive / self.checked:.1f} %)" if self.checked else ""
        unchecked = f", {len(self.unchecked)} not checked" if self.unchecked else ""
        missing = len(self.anchors)
        anchors = f", {missing} missing anchor{'' if missing == 1 else 's'}" if missing else ""
        return f"{self.checked} of {self.addresses} addresses requested: {alive} alive{share}{unchecked}{anchors}"


def is_web_url(text: str) -> bool:
    """Return whether a text is an http(s) URL."""
    return text.startswith(("http://", "https://"))


def find_links(library: Library) -> Iterator[Link]:
    """Yield the links of a published site: of its pages, their first lines, llms.txt and the manifest.

    Relative links, such as those between the files of a copy, are left out if the address of the files is not known.
    """
    manifest = library.manifest
    site_url = manifest.site.url
    for page in manifest.pages:
        url = page.url or path_to_url(site_url, page.path)
        yield Link(url, MANIFEST_PATH, 0)
        yield from (Link(f"{url}#{part.anchor}", MANIFEST_PATH, 0) for part in page.sections if part.anchor)
    root = library.where if is_web_url(library.where) else "" if manifest.crawled_from else site_url
    files = [*(page.markdown for page in manifest.pages), LLMS_TXT]
    for path in files:
        try:
            text = library.file(path).decode("utf-8", "replace")
        except LibraryError:
            continue  # the validation reports it
        for target, line in _parse_links(text):
            with suppress(ValueError):  # no URL
                url = urljoin(path_to_url(root, path), target)
                if is_web_url(url):
                    yield Link(url, path, line)
                if path.endswith(LLMS_TXT):
                    nested = url_to_path(site_url, urljoin(path_to_url(site_url, path), target)) or ""
                    files += [nested] if nested.endswith(f"/{LLMS_TXT}") and nested not in files else []


def _parse_links(markdown: str) -> Iterator[tuple[str, int]]:
    """Yield the target and the line of each link and image of a text."""
    for token in parse_markdown(markdown):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "html_block":
            yield from ((_join(found), line) for found in _HTML_LINK.findall(token.content))
        depth, children = 0, token.children or []
        for child, following in zip_longest(children, children[1:]):
            if child.type in ("softbreak", "hardbreak"):
                line += 1
            elif child.type in ("link_open", "image"):
                yield str(child.attrs.get("href") or child.attrs.get("src") or ""), line
            elif child.type == "html_inline":
                yield from ((_join(found), line) for found in _HTML_LINK.findall(child.content))
            elif child.type == "text" and not depth:
                for found in _BARE_URL.finditer(child.content):
                    is_cut = found.end() == len(child.content) and following and following.type == "html_inline"
                    if not is_cut:  # `roaming/sections/<id>.md` stands for many addresses
                        yield found[0].rstrip(".,;:"), line
            depth += child.nesting if child.type in ("link_open", "link_close") else 0


def _join(groups: Collection[str]) -> str:
    return "".join(groups).replace("&amp;", "&")


def check_links(
    library: Library,
    *,
    sample: int,
    private_urls: Collection[str] = (),
    delay: float = 1.0,
    external: bool = False,
    start_progress: Callable[[int], Callable[[], None]] = lambda count: lambda: None,
) -> LinkReport:
    """Request a sample of the addresses that a site publishes. The sample depends on the contents of the site alone.

    Args:
        library: The site.
        sample: Maximum number of addresses.
        private_urls: URLs whose hosts and ports may have private addresses.
        delay: Seconds between two requests to a host.
        external: Whether links to other sites are checked as well.
        start_progress: Called with the number of addresses; returns a function that is called after each.

    Raises:
        UsageError: The site has no URL.
        PrivateAddressError: The site is at a private address that `private_urls` do not name.
    """
    roots = tuple(filter(is_web_url, (library.manifest.site.url, library.where)))
    if not roots:
        raise UsageError(f"{library.where}: its manifest names no http(s) URL of the site; build it with a site URL")
    links: dict[str, dict[str, list[str]]] = {}
    for link in find_links(library):
        url, fragment = urldefrag(link.url)
        if external or url.startswith(roots):
            places = links.setdefault(url, {}).setdefault(unquote(fragment), [])
            if link.place not in places:
                places.append(link.place)
    urls = random.Random(library.manifest.digest).sample(sorted(links), min(sample, len(links)))
    named = [*private_urls, *([library.where] if is_web_url(library.where) else [])]
    checker = _Checker(library.manifest.site.url, [split_host(url) for url in named], delay)
    check_host(roots[0], checker.named)
    advance = start_progress(len(urls))
    for url in urls:
        checker.check(url, links[url])
        advance()
    return LinkReport(
        len(links),
        len(urls) - len(checker.unchecked),
        tuple(sorted(checker.dead, key=str)),
        tuple(sorted(checker.unchecked, key=str)),
        tuple(sorted(checker.anchors, key=str)),
    )


@dataclass(slots=True)
class _Checker:
    """Requests addresses one after the other, with a pause between two requests to a host."""

    site_url: str
    named: Collection[tuple[str, int]]
    delay: float
    dead: list[LinkFault] = field(default_factory=list)
    unchecked: list[LinkFault] = field(default_factory=list)
    anchors: list[LinkFault] = field(default_factory=list)
    client: HttpClient = field(init=False)
    ready: dict[str, float] = field(default_factory=dict)
    """Time of the next request to each host."""
    pauses: Counter[str] = field(default_factory=Counter)
    """Number of times that each host was busy."""

    def __post_init__(self) -> None:
        self.client = HttpClient(
            seconds=_SECONDS, headers={"Accept": _ACCEPT}, make_transport=lambda: PublicTransport(self.named)
        )

    def check(self, url: str, fragments: dict[str, list[str]]) -> None:
        """Request an address, and look for the anchors that links to it name."""
        places = tuple(dict.fromkeys(place for found in fragments.values() for place in found))
        anchors = {fragment: found for fragment, found in fragments.items() if fragment}
        try:
            response = None if anchors else self._request("HEAD", url)
            if anchors or (response and response.status >= 400):  # some servers answer GET only
                response = self._request("GET", url)
        except PrivateAddressError as error:
            faults = self.dead if url.startswith(self.site_url) else self.unchecked
            faults.append(LinkFault(url, str(error), places))
            return
        except (RoamingError, ValueError) as error:
            self.dead.append(LinkFault(url, str(error).removeprefix(f"{url}: "), places))
            return
        if response is None:
            self.unchecked.append(LinkFault(url, "its server is busy", places))
        elif not 200 <= response.status < 300:
            self.dead.append(LinkFault(url, f"status {response.status}", places))
        elif response.body.lstrip()[:1] == b"<":
            ids = find_html_ids(response.body)
            self.anchors += (
                LinkFault(f"{url}#{anchor}", "the page has no such anchor", tuple(found))
                for anchor, found in anchors.items()
                if anchor not in ids
            )

    def _request(self, method: str, url: str) -> HttpResponse | None:
        """Return the response, or None if the server is busy too often or for too long."""
        host = urlsplit(url).netloc
        while self.pauses[host] < _MAX_PAUSES:
            time.sleep(max(0.0, self.ready.get(host, 0.0) - time.monotonic()))
            response = self.client.get(url, _MAX_BYTES, method=method)
            self.ready[host] = time.monotonic() + self.delay
            if response.status not in _BUSY:
                return response
            pause = parse_retry_after(response.headers)
            pause = _PAUSE if pause is None else pause
            self.ready[host] += pause
            self.pauses[host] += 1 if pause <= _MAX_WAIT else _MAX_PAUSES
        return None
