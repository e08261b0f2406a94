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

ALL = "all"
"""Value of `--language` and `--version` that leaves nothing out."""

SAME_VERSION = 3
"""The rate of a name that names the version itself."""

_Rank = tuple[int, tuple[int, ...]]
_NO_RANK: _Rank = (-1, ())
_RANKS = {"stable": 4, "latest": 3, "current": 2}
_FINAL_RANK = 1
_DATE_RANK: _Rank = (_FINAL_RANK, (10_000,))
_YEARS = range(1900, 2100)
_CACHED_URLS = 2**17
"""Twice the number of pages in a sitemap."""
_CACHED_NAMES = 2**16
_MAX_DEPTH = 4
"""Number of folders on a path that are looked at: `docs/en/latest/` has three."""
_MAX_SAMPLE = 3
"""Number of pages of a folder whose language is read."""
_GROWTH = 3
"""How many times as many folders are decided at once as before: thousands, such as `v1`, may have one page each."""
_MIN_TWINS = 2
_MAX_NUMBERS = 30
"""Largest number of versions in one folder that are plain numbers."""
_MAX_NAME_CHARS = 100
_VERSION = re.compile(
    r"latest|stable|current|next|canary|main|master|trunk|dev(?:el(?:op)?)?|nightly|edge|release"
    r"|v?\d+(?:\.(?:\d+|x))*(?:[-.]?(?:a|b|rc|dev|alpha|beta|post|lts)[-.]?\d*)?",
    re.IGNORECASE,
)
"""A folder that may contain a version, such as `v3.1`, `2.x` or `stable`."""
_RELEASE = re.compile(
    r"(?:(?:release|version|branch|maint|rel|docs|v|r)[-_ ]?){0,2}(?:\d+!)?"
    r"(?P<numbers>\d{1,18}(?:[._]\d{1,18})*)(?P<any>(?:[._]x)*)"
    r"(?:[-_.]?(?P<stage>[a-z][0-9a-z._-]*))?(?:\+\S*)?(?:[\s(\[].*)?$"
)
"""The name of a release, such as `release-3_1`, `2.x` or `v4.0.0-rc.1 (next)`; `packaging` reads few of them."""
_NUMBER = re.compile(r"\d{1,18}")
"""A part of a version, such as `12` in `v3.12`; longer ones are no versions."""
_STAGES = {
    "alpha": "a",
    "beta": "b",
    **dict.fromkeys(("c", "pre", "preview"), "rc"),
    **dict.fromkeys(("post", "rev", "r", "lts", "stable", "final", "line"), ""),
}
"""Short spellings of pre-releases; empty for releases that are documented like the final one."""
_LANGUAGE = re.compile(r"[a-z]{2}(?:[-_](?:[a-z]{4}|[a-z]{2}|\d{3})){0,2}", re.IGNORECASE)
"""A folder such as `en` or `zh-Hans`; any two letters, because its pages have to declare that language."""
_SCRIPTS = {"zh-hans": "zh-cn", "zh-sg": "zh-cn", "zh-hans-cn": "zh-cn", "zh-hant": "zh-tw", "zh-hant-tw": "zh-tw"}


@dataclass(frozen=True, slots=True)
class OtherVariant:
    """A language or version of the site that is not crawled, or a folder above the scope with linked pages."""

    option: str
    """The option that selects it: `language`, `version` or `prefix`."""
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
        read: Fetches and parses a page.
    """

    scope: Scope
    start: str
    config: ScopeConfig
    language: str
    read: Callable[[PageRef], Awaitable[ParsedPage]]
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
    left_out: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Option and name of what was left out, by loose key of the page."""

    async def select(self, refs: Sequence[PageRef]) -> tuple[list[PageRef], list[PageRef]]:
        """Return the known pages to visit, and those in versions of which too little is known, to be selected later."""
        for ref in refs:
            self._add_known(ref.url)
        _, groups = self._sort(refs)
        for folder, pages in groups.items():
            if folder.option == "language":
                self._decided[folder] = await self._has_language(folder, pages)
            elif self._checked.get(folder) != len(self._known):
                self._checked[folder] = len(self._known)
                if self._has_twins(folder, pages):
                    self._decided[folder] = True
        chosen, groups = self._sort(refs)
        if not chosen:
            count = max(1, _GROWTH * len(self._decided))
            for folder in nlargest(count, groups, key=lambda folder: rank_version(folder.name)):
                self._decided[folder] = False
            chosen, groups = self._sort(refs)
        return chosen, list(chain.from_iterable(groups.values()))

    def _sort(self, refs: Iterable[PageRef]) -> tuple[list[PageRef], dict[_Folder, list[PageRef]]]:
        """Return the pages to visit, and those in folders that are not decided yet; record what is left out."""
        chosen: list[PageRef] = []
        undecided: dict[_Folder, list[PageRef]] = {}
        for ref in refs:
            folder = self._find_folder(ref.url)
            if folder is None:
                chosen.append(ref)
            elif self._decided.get(folder):
                self.left_out[loose_key(ref.url)] = folder.option, folder.name
            else:
                undecided.setdefault(folder, []).append(ref)
        return chosen, undecided

    def _add_known(self, url: str) -> None:
        key = loose_key(url)
        if key in self._known:
            return
        self._known.add(key)
        for folder in find_variant_folders(url, self.scope.url):
            if folder.option != "version":
                continue
            twin = folder.parent, loose_key(folder.parent + url[len(folder.url) :])
            self._best[twin] = max(rank_version(folder.name), self._best.get(twin, _NO_RANK))
            if folder.name.isdigit():
                self._numbers.setdefault(folder.parent, set()).add(folder.name)

    def summary(self) -> tuple[OtherVariant, ...]:
        """Return the languages and versions that were left out, largest first."""
        counts = Counter(self.left_out.values())
        variants = (OtherVariant(option, name, pages) for (option, name), pages in counts.items())
        return tuple(sorted(variants, key=lambda variant: (variant.option, -variant.pages, variant.name)))

    def _find_folder(self, url: str) -> _Folder | None:
        """Return the first folder on the path that is named after another language or version."""
        for folder in find_variant_folders(url, self.scope.url):
            if f"{self.start}/".startswith(folder.url) or self._decided.get(folder) is False:
                continue
            if folder.option == "version":
                is_page = folder.name.isdigit() and len(self._numbers.get(folder.parent, ())) > _MAX_NUMBERS
                is_other = self.config.selects_version and self.config.version != ALL and not is_page
            else:
                is_known = bool(self.language) and self.config.language != ALL
                is_other = is_known and not match_language(folder.name, self.language)
            if is_other:
                return folder
        return None

    async def _has_language(self, folder: _Folder, refs: Sequence[PageRef]) -> bool:
        """Return whether one of the first pages of a folder declares the language that the folder is named after."""
        for ref in sorted(refs, key=lambda ref: (ref.url.count("/"), ref.url))[:_MAX_SAMPLE]:
            page = await self.read(ref)
            if match_language(page.language, folder.name) and not match_language(page.language, self.language):
                return True
        return False

    def _has_twins(self, folder: _Folder, refs: Sequence[PageRef]) -> bool:
        """Return whether most pages of a version exist outside of its folder, too.

        That is without a version, in the version of the start page, or else in one that users prefer. Of folders that
        are named after dates, which archives have, too, it is in `stable` or `latest`.
        """
        parent = folder.parent
        is_date = _is_date(folder)
        rank = _DATE_RANK if is_date else rank_version(folder.name)
        own = ""
        for start_folder in find_variant_folders(self.start, self.scope.url):
            if start_folder.option == "version" and start_folder.parent == parent:
                own = start_folder.url
        paths = [ref.url[len(folder.url) :] for ref in refs if len(ref.url) > len(folder.url)]
        twins = 0
        for path in paths:
            key = loose_key(parent + path)
            if key in self._known and not is_date:
                twins += 1
            elif own and not is_date:
                twins += loose_key(own + path) in self._known
            else:
                twins += self._best.get((parent, key), _NO_RANK) > rank
        return twins >= _MIN_TWINS and twins >= len(paths) / 2


def _is_date(folder: _Folder) -> bool:
    """Return whether a folder is named after a year, or is a number below one, such as a month."""
    numbers = filter(str.isdigit, folder.url.split("/"))
    return folder.name.isdigit() and any(int(number) in _YEARS for number in numbers)


@lru_cache(maxsize=_CACHED_URLS)
def find_variant_folders(url: str, base: str) -> tuple[_Folder, ...]:
    """Return the folders on the path of a URL below `base` that are named after a language or a version."""
    folders: list[_Folder] = []
    segments = url[len(base) :].split("/") if url.startswith(base) else []
    for count, segment in enumerate(segments[:_MAX_DEPTH], 1):
        if _LANGUAGE.fullmatch(segment):
            option = "language"
        elif _VERSION.fullmatch(segment) and (count < len(segments) or "." not in segment):  # else a file
            option = "version"
        else:
            continue
        folders.append(_Folder(base + "/".join(segments[:count]) + "/", option, segment))
    return tuple(folders)


def find_language_start(language: str, page: ParsedPage, base: str) -> tuple[str, str]:
    """Return a page in another language, and the URL of its folder, by the alternates and links of a page.

    Args:
        language: What the user asked for.
        page: The page.
        base: Prefix of the crawl.

    Returns:
        Empty strings if there is none.
    """
    for tag, target in page.alternates:
        if match_language(tag, language) and url_origin(target) == url_origin(base):
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


def match_language(tag: str, used: str) -> bool:
    """Return whether two tags are one language, such as `en` and `en-US`, but not `zh-CN` and `zh-TW`."""
    parts = _split_tag(tag)
    used_parts = _split_tag(used)
    shorter = min(len(parts), len(used_parts))
    return bool(tag and used) and parts[:shorter] == used_parts[:shorter]


def match_version(name: str, used: str) -> int:
    """Return how well a name matches a version.

    Returns:
        3 for the same name or release, 2 for the series of the release, such as `3.1` of 3.1.4, 1 for the series of a
        major version, such as `3.x`, 0 for another version.
    """
    if name == used != "":
        return SAME_VERSION
    own = _RELEASE.match(name[:_MAX_NAME_CHARS].lower())
    wanted = _RELEASE.match(used[:_MAX_NAME_CHARS].lower())
    if own is None or wanted is None:
        return 0
    numbers = split_numbers(own["numbers"])
    stage = _normalize_stage(own["stage"] or "")
    wanted_numbers = split_numbers(wanted["numbers"])
    wanted_stage = _normalize_stage(wanted["stage"] or "")
    length = len(numbers)
    padded = wanted_numbers + [0] * (length - len(wanted_numbers))
    if stage == wanted_stage and not own["any"] and numbers == padded:
        return SAME_VERSION
    is_shorter = bool(own["any"]) or length < len(wanted_numbers) or bool(wanted_stage)
    is_series = is_shorter and not stage and numbers == wanted_numbers[:length]
    return min(length, 2) if is_series else 0


def _normalize_stage(stage: str) -> str:
    """Return the stage of a version in short, such as `rc1`; it is empty for final and post releases."""
    for separator in "-_.":
        stage = stage.replace(separator, "")
    word = stage.rstrip("0123456789")
    number = stage[len(word) :]
    word = _STAGES.get(word, word)
    return word + number if word else ""


def split_numbers(name: str) -> list[int]:
    """Return the numbers in the name of a version."""
    return [int(number) for number in _NUMBER.findall(name)]


@lru_cache(maxsize=_CACHED_NAMES)
def rank_version(name: str) -> _Rank:
    """Return the sort key of a version: `stable` and `latest` before numbers, numbers before development versions."""
    name = name.lower()
    numbers = tuple(split_numbers(name))
    is_final = bool(numbers) and not name.removeprefix("v").strip("0123456789.x")
    return _RANKS.get(name, _FINAL_RANK if is_final else 0), numbers


def _split_tag(tag: str) -> list[str]:
    tag = tag.strip().lower().replace("_", "-")
    return _SCRIPTS.get(tag, tag).split("-")[:2]
