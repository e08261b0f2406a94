"""Patterns of earlier versions, which were not in the dialect of `.gitignore`.

Where an earlier version would have decided otherwise on a page, because a pattern had another meaning, the build fails
and names the page and the pattern to write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.manifest.lookup import PageName
from mkdocs_roaming.publish.selection import Pattern, Selection, compile_pattern, exact_pattern

_MAX_NAMED = 3
_MAX_FORMS = 16


@dataclass(frozen=True, slots=True)
class OldDialect:
    """The meaning that patterns had in earlier versions.

    Attributes:
        matches: Returns whether a pattern matched a page.
        translate: Returns patterns that match the same pages today.
    """

    matches: Callable[[str, PageName], bool]
    translate: Callable[[str], list[str]]


def match_fnmatch(pattern: str, page: PageName) -> bool:
    """Return whether `fnmatch` matches the source of a page, or its path if the source is unknown."""
    return fnmatchcase(page.sources[0] if page.sources else page.path, pattern)


def translate_fnmatch(pattern: str) -> list[str]:
    """Return patterns for what an `fnmatch` pattern matches, in which `*` matches `/` too."""
    names = re.sub(r"\*+", "**", pattern.replace("\\", "\\\\")).split("/")
    return translate_stars("/".join(["*/**" if name == "**" else name for name in names[:-1]] + names[-1:]))


def translate_stars(pattern: str) -> list[str]:
    """Return patterns for one in which `**` matches any text, also within a name: today it is a name of its own."""
    text = re.sub(r"(?<![^/])\*\*(?=[^/])", "**/*", pattern)  # at the start of a name
    text = re.sub(r"(?<=[^/*])\*\*/", "*/**/", text)
    head, *pieces = re.split(r"(?<=[^/])\*\*(?=[^/])", re.sub(r"(?<=[^/])\*\*$", "*", text))
    texts = [head]
    for piece in pieces:
        texts = [text + star + piece for text in texts for star in ("*", "*/**/*")][:_MAX_FORMS]
    texts = [re.sub(r"(\*\*/)+", "**/", text) for text in texts]
    return [text if "/" in text.strip("/") else f"/{text.lstrip('/')}" for text in texts]


FNMATCH = OldDialect(match_fnmatch, translate_fnmatch)
"""The dialect of the plugin."""


@dataclass(frozen=True, slots=True)
class MeaningCheck:
    """Checks that no page is published, or left out, only because patterns had another meaning before.

    Attributes:
        selection: The patterns as they are read now.
        pages: All pages that are published unless a pattern leaves them out.
        old: The dialect of earlier versions.
    """

    selection: Selection
    pages: Sequence[PageName]
    old: OldDialect = FNMATCH

    def run(self) -> None:
        """Check all pages.

        Raises:
            PublishError: There is such a page; the message names it and the pattern to write.
        """
        for page in self.pages:
            is_published = self.selection.find_reason(page) is None
            changed = self._find_published(page) if is_published else self._find_left_out(page)
            if changed is not None:
                raise PublishError(self._explain(*changed, page, is_published=is_published))

    def _find_published(self, page: PageName) -> tuple[str, Pattern] | None:
        """Return the option and the pattern by which a page is published that was left out before."""
        selection = self.selection
        if excluding := self._matching_before(selection.exclude, page):
            return None if selection.find_last(selection.exclude, page) else ("exclude", excluding[0])
        if not selection.include or self._matching_before(selection.include, page):
            return None
        patterns = [pattern for pattern in selection.include if pattern.matches(page)]
        if any(self._is_new(pattern.text) for pattern in patterns):
            return None
        for pattern in patterns:
            # A pattern that matched no page at all is meant as it is read now.
            if any(self.old.matches(pattern.text, other) for other in self.pages):
                return "include", pattern
        return None

    def _find_left_out(self, page: PageName) -> tuple[str, Pattern] | None:
        """Return the option and the pattern by which a page is left out that was published before."""
        selection = self.selection
        including = self._matching_before(selection.include, page)
        if not including or self._matching_before(selection.exclude, page):
            return None
        is_decided = selection.find_last(selection.include, page) or selection.find_last(selection.exclude, page)
        return None if is_decided else ("include", including[0])

    def _matching_before(self, patterns: Sequence[Pattern], page: PageName) -> list[Pattern]:
        return [pattern for pattern in patterns if self.old.matches(pattern.text, page)]

    def _is_new(self, text: str) -> bool:
        """Return whether a pattern is certainly written in the dialect of `.gitignore`."""
        return text.startswith(("!", "/")) or "://" in text

    def _explain(self, option: str, pattern: Pattern, page: PageName, *, is_published: bool) -> str:
        text, matched = pattern.text, self.old.matches
        before = matched(text, page)
        others = sum(1 for one in self.pages if matched(text, one) == before != pattern.matches(one)) - 1
        names, them = (f"{page} and {others} more", "them") if others > 0 else (str(page), "it")
        old, now = ("left out", f"publish {them}") if is_published else ("published", f"leave {them} out")
        replacement = _quote(self._find_replacement(text, exact=option == "include"))
        does = "does not match" if before else "matches"
        return (
            f"{self.selection.option}{option} `{text}`: earlier versions {old} {names}, but in the dialect of "
            f".gitignore the pattern {does} {them}. Write {replacement} to keep {them} {old}, "
            f"or `{_make_unambiguous(text)}` to {now}"
        )

    def _find_replacement(self, text: str, *, exact: bool) -> list[str]:
        """Return patterns that match all pages that a pattern matched before and, if `exact`, no others.

        In `include`, a pattern without leading slash could again match other pages than before.
        """
        old = [page for page in self.pages if self.old.matches(text, page)]
        found = {
            one: [page for page in self.pages if Pattern(one).matches(page)]
            for one in map(_anchor if exact else str, self.old.translate(text))
            if compile_pattern(one)
        }
        patterns = [one for one in found if found[one] or not old]
        matched = {page for one in patterns for page in found[one]}
        if exact and not matched <= set(old):
            patterns, matched = [], set()
        return [*patterns, *(exact_pattern(page) for page in old if page not in matched)]


def _make_unambiguous(text: str) -> str:
    """Return a pattern with today's meaning that matched nothing, or the same, in earlier versions."""
    return _anchor(text) if "/" in text.rstrip("/") else f"/**/{text}"


def _anchor(text: str) -> str:
    return f"/{text.removeprefix('/')}"


def _quote(patterns: Sequence[str]) -> str:
    shown = " and ".join(f"`{pattern}`" for pattern in patterns[:_MAX_NAMED])
    return shown + (f" and {len(patterns) - _MAX_NAMED} more" if len(patterns) > _MAX_NAMED else "")
