"""Languages and versions of a site: one of each is crawled, others are left out if their signals are clear."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import nlargest
from itertools import chain
from typing import NamedTuple

from roaming_crawler.config import ScopeConfig
from roaming_crawler.page import PageRef
from roaming_crawler.parser import ParsedPage
from roaming_crawler.scope import Scope, loose_key, scope_url, url_origin

_Rank = tuple[int, tuple[int, ...]]
_NO_RANK: _Rank = (-1, ())

ALL = "all"
"""Value of `--language` and `--version` that leaves nothing out."""


@dataclass(frozen=True, slots=True)
class OtherVariant:
    """A language or version of the site that is not crawled."""

    option: str
    """The option that selects it: `language` or `version`."""
    name: str
    """Value of the option."""
    pages: int
    """Number of known pages; 0 if only the manifest of the site names it."""


class _Folder(NamedTuple):
    """A folder that may contain another language or version; its URL ends with a slash."""

    url: str
    option: str
    name: str

    @property
    def parent(self) -> str:
        """The URL of the folder that contains it."""
        return self.url[: -len(self.name) - 1]


@dataclass(slots=True)
class VariantFilter:
    """Leaves out the pages of other languages and versions; all other pages stay.

    A folder named after a language is left out if one of its first pages declares that language. A folder named after
    a version is left out if most of its known pages exist in the crawled version, too. Many plain numbers in one folder
    are not versions, but pages: `/kb/1/` to `/kb/400/`.

    Attributes:
        scope: Scope of the crawl.
        start: URL of the start page.
        config: What the user asked for.
        language: Language of the start page. If it is empty, no language is left out.
    """

    scope: Scope
    start: str
    config: ScopeConfig
    language: str
    _known: set[str] = field(default_factory=set)
    """Loose keys of all known pages."""
    _decided: dict[_Folder, bool] = field(default_factory=dict)
    """Whether a folder is left out."""
    _checked: dict[_Folder, int] = field(default_factory=dict)
    """Number of known pages when a version was last compared with others."""
    _best: dict[tuple[str, str], _Rank] = field(default_factory=dict)
    """Rank of the best version that has a page, by the folder of the versions and the loose key without the version."""
    _numbers: dict[str, set[str]] = field(default_factory=dict)
    """Plain numbers by the URL of the folder that contains them."""
    _left_out: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Option and name of what was left out, by loose key of the page."""

    async def select(
        self, refs: Sequence[PageRef], read: Callable[[PageRef], Awaitable[ParsedPage]]
    ) -> tuple[list[PageRef], list[PageRef]]:
        """Return the pages to visit, and pages in versions of which too little is known, to be selected later.

        Args:
            refs: Known pages.
            read: Fetches and parses a page.
        """
        for ref in refs:
            self._add_known(ref.url)
        groups: dict[_Folder | None, list[PageRef]] = {}
        self._group(refs, groups)
        for folder, pages in groups.items():
            if folder is None or folder in self._decided:
                continue
            if folder.option == "language":
                self._decided[folder] = await self._has_language(folder, pages, read)
            elif self._checked.get(folder) != len(self._known):
                self._checked[folder] = len(self._known)
                if self._has_twins(folder, pages):
                    self._decided[folder] = True
        chosen = self._take_decided(groups)
        if not chosen:
            # Four times as many as before: thousands of folders such as `v1`, or of releases, may have one page each.
            count = max(1, 3 * len(self._decided))
            folders = [folder for folder in groups if folder is not None]
            for folder in nlargest(count, folders, key=lambda folder: _rank_version(folder.name)):
                self._decided[folder] = False
            chosen = self._take_decided(groups)
        return [ref for ref in refs if ref.url in chosen], list(chain.from_iterable(groups.values()))

    def _group(self, refs: Iterable[PageRef], groups: dict[_Folder | None, list[PageRef]]) -> None:
        for ref in refs:
            groups.setdefault(self._find_folder(ref.url), []).append(ref)

    def _take_decided(self, groups: dict[_Folder | None, list[PageRef]]) -> set[str]:
        """Remove decided folders from groups, record what is left out, and return the URLs of the pages to visit."""
        for folder in [folder for folder in groups if folder and self._decided.get(folder) is False]:
            self._group(groups.pop(folder), groups)
        for folder in [folder for folder in groups if folder and self._decided.get(folder)]:
            for ref in groups.pop(folder):
                self._left_out[loose_key(ref.url)] = folder.option, folder.name
        return {ref.url for ref in groups.pop(None, ())}

    def _add_known(self, url: str) -> None:
        if (key := loose_key(url)) in self._known:
            return
        self._known.add(key)
        for folder in find_variant_folders(url, self.scope.url):
            if folder.option == "version":
                twin = folder.parent, loose_key(folder.parent + url[len(folder.url) :])
                self._best[twin] = max(_rank_version(folder.name), self._best.get(twin, _NO_RANK))
                if folder.name.isdigit():
                    self._numbers.setdefault(folder.parent, set()).add(folder.name)

    @property
    def count(self) -> int:
        """The number of pages that were left out."""
        return len(self._left_out)

    def summary(self) -> tuple[OtherVariant, ...]:
        """Return the languages and versions that were left out, largest first."""
        counts = Counter(self._left_out.values())
        found = (OtherVariant(option, name, pages) for (option, name), pages in counts.items())
        return tuple(sorted(found, key=lambda other: (other.option, -other.pages, other.name)))

    def _find_folder(self, url: str) -> _Folder | None:
        """Return the first folder on the path that is named after another language or version."""
        for folder in find_variant_folders(url, self.scope.url):
            if f"{self.start}/".startswith(folder.url) or self._decided.get(folder) is False:
                continue
            if folder.option == "version":
                is_page = folder.name.isdigit() and len(self._numbers.get(folder.parent, ())) > _MAX_NUMBERS
                is_other = self.config.selects_version and not is_page
            else:
                is_other = bool(self.language) and not match_language(folder.name, self.language)
            if is_other and getattr(self.config, folder.option) != ALL:
                return folder
        return None

    async def _has_language(
        self, folder: _Folder, refs: Sequence[PageRef], read: Callable[[PageRef], Awaitable[ParsedPage]]
    ) -> bool:
        """Return whether one of the first pages of a folder declares the language that the folder is named after."""
        for ref in sorted(refs, key=lambda ref: (ref.url.count("/"), ref.url))[:_MAX_SAMPLE]:
            page = await read(ref)
            if match_language(page.language, folder.name) and not match_language(page.language, self.language):
                return True
        return False

    def _has_twins(self, folder: _Folder, refs: Sequence[PageRef]) -> bool:
        """Return whether most pages of a version exist outside of its folder, too.

        That is without a version, in the version of the start page, or else in one that users prefer.
        """
        parent = folder.parent
        rank = _rank_version(folder.name)
        folders = find_variant_folders(self.start, self.scope.url)
        own = next((one.url for one in folders if one.option == "version" and one.parent == parent), "")
        paths = [ref.url[len(folder.url) :] for ref in refs if len(ref.url) > len(folder.url)]

        def has_twin(path: str) -> bool:
            key = loose_key(parent + path)
            if key in self._known:
                return True
            return loose_key(own + path) in self._known if own else self._best.get((parent, key), _NO_RANK) > rank

        twins = sum(map(has_twin, paths))
        return twins >= _MIN_TWINS and twins >= len(paths) / 2


@lru_cache(maxsize=2**17)  # twice the pages in a sitemap
def find_variant_folders(url: str, base: str) -> tuple[_Folder, ...]:
    """Return the folders on the path of a URL below `base` that are named after a language or a version."""
    found: list[_Folder] = []
    segments = url[len(base) :].split("/") if url.startswith(base) else []
    for at, segment in enumerate(segments[:_MAX_DEPTH]):
        option = "language" if _LANGUAGE.fullmatch(segment) else "version" if _VERSION.fullmatch(segment) else ""
        if option and not (option == "version" and at == len(segments) - 1 and "." in segment):
            found.append(_Folder(base + "/".join(segments[: at + 1]) + "/", option, segment))
    return tuple(found)


def find_language_start(language: str, page: ParsedPage, base: str) -> tuple[str, str]:
    """Return a page in another language, and the URL of its folder, by the alternates and links of a page.

    Args:
        language: What the user asked for.
        page: The page.
        base: Prefix of the crawl.

    Returns:
        Empty strings if there is none.
    """
    for other, target in page.alternates:
        if match_language(other, language) and url_origin(target) == url_origin(base):
            return target, scope_url(target)
    for link in sorted(page.all_links, key=lambda link: (link.count("/"), link)):
        for folder in find_variant_folders(link, base):
            if folder.option == "language" and match_language(folder.name, language):
                return link, folder.url
    return "", ""


def find_version_folder(url: str, base: str) -> str:
    """Return the URL of the version at the start of a path, with a preceding language, such as `en/latest/`."""
    parent = base
    for folder in find_variant_folders(url, base):
        if folder.parent != parent or not url.startswith(folder.url):
            break
        if folder.option == "version":
            return folder.url
        parent = folder.url
    return ""


def match_language(one: str, other: str) -> bool:
    """Return whether two tags are one language, such as `en` and `en-US`, but not `zh-CN` and `zh-TW`."""
    parts = _split_tag(one)
    other_parts = _split_tag(other)
    shorter = min(len(parts), len(other_parts))
    return bool(one and other) and parts[:shorter] == other_parts[:shorter]


def match_version(name: str, used: str) -> int:
    """Return how well a name matches a version.

    Returns:
        3 for the same name or release, 2 for the series of the release, such as `3.1` of 3.1.4, 1 for the series of a
        major version, such as `3.x`, 0 for another version.
    """
    own = _RELEASE.match(name[:_MAX_NAME_CHARS].lower())
    wanted = _RELEASE.match(used[:_MAX_NAME_CHARS].lower())
    if name == used or own is None or wanted is None:
        return 3 if name == used != "" else 0
    numbers, stage = _split_release(own)
    wanted_numbers, wanted_stage = _split_release(wanted)
    length = len(numbers)
    is_series = bool(own["any"]) or length < len(wanted_numbers) or bool(wanted_stage)
    padded = [*wanted_numbers, *[0] * (length - len(wanted_numbers))]
    if stage == wanted_stage and not own["any"] and numbers == padded:
        return 3
    return min(length, 2) if is_series and not stage and numbers == wanted_numbers[:length] else 0


def _split_release(match: re.Match[str]) -> tuple[list[int], str]:
    """Return the numbers of a version and its stage, such as `rc1`; it is empty for final and post releases."""
    stage = re.sub(r"[-_.]", "", match["stage"] or "")
    for short, names in _STAGES.items():
        stage = re.sub(rf"^({names})(?=\d*$)", short, stage)
    return split_numbers(match["numbers"]), re.sub(r"^\d+$", "", stage)


def split_numbers(name: str) -> list[int]:
    """Return the numbers in the name of a version."""
    return [int(number) for number in re.findall(r"\d{1,18}", name)]


@lru_cache(maxsize=2**16)
def _rank_version(name: str) -> _Rank:
    """Return the sort key of a version: `stable` and `latest` before numbers, numbers before development versions."""
    named = {"stable": 4, "latest": 3, "current": 2}.get(name.lower(), 0)
    is_final = bool(re.fullmatch(r"v?[\d.x]+", name, re.IGNORECASE))
    return named or is_final, tuple(split_numbers(name))


def _split_tag(tag: str) -> list[str]:
    tag = tag.strip().lower().replace("_", "-")
    return _SCRIPTS.get(tag, tag).split("-")[:2]


_MAX_DEPTH = 4
_MAX_SAMPLE = 3
_MIN_TWINS = 2
_MAX_NUMBERS = 30
"""Largest number of versions in one folder that are plain numbers."""
_VERSION = re.compile(
    r"latest|stable|current|next|canary|main|master|trunk|dev(?:el(?:op)?)?|nightly|edge|release"
    r"|v?\d+(?:\.(?:\d+|x))*(?:[-.]?(?:a|b|rc|dev|alpha|beta|post|lts)[-.]?\d*)?",
    re.IGNORECASE,
)
_RELEASE = re.compile(
    r"(?:(?:release|version|branch|maint|rel|docs|v|r)[-_ ]?){0,2}(?:\d+!)?"
    r"(?P<numbers>\d{1,18}(?:[._]\d{1,18})*)(?P<any>(?:[._]x)*)"
    r"(?:[-_.]?(?P<stage>[a-z][0-9a-z._-]*))?(?:\+\S*)?(?:[\s(\[].*)?$"
)
_STAGES = {"a": "alpha", "b": "beta", "rc": "c|pre|preview", "": "post|rev|r|lts|stable|final|line"}
"""Spellings of pre-releases; an empty key is for releases that are documented like the final one."""
_MAX_NAME_CHARS = 100
_LANGUAGE = re.compile(r"[a-z]{2}(?:[-_](?:[a-z]{4}|[a-z]{2}|\d{3})){0,2}", re.IGNORECASE)
"""Any two letters: a folder is left out only if its pages declare that language."""
_SCRIPTS = {"zh-hans": "zh-cn", "zh-sg": "zh-cn", "zh-hans-cn": "zh-cn", "zh-hant": "zh-tw", "zh-hant-tw": "zh-tw"}
