"""Selection of pages: include and exclude patterns in the dialect of `.gitignore`, and the pages that are left out.

A pattern matches the source of a page or its address. Where a build of an earlier version would have decided otherwise
on a page, because its patterns had another meaning, the build fails and names the page and the pattern to write.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mkdocs_roaming.errors import PublishError, UsageError
from mkdocs_roaming.manifest.lookup import PageName, match_name

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A page that a build does not publish."""

    path: str
    reason: str
    source: str | None = None
    """The source of the page below the docs folder."""

    def __str__(self) -> str:
        return f"{self.source or '/' + self.path}: {self.reason}"


class Pattern:
    """One pattern in the dialect of `.gitignore`.

    Args:
        text: The pattern; a `!` in front negates it.
        roots: Prefixes that stand for the root of the site: its URL, the path of the docs folder.

    Raises:
        UsageError: The pattern can never match.
    """

    def __init__(self, text: str, roots: Sequence[str] = ()) -> None:
        self.text = text
        body = unicodedata.normalize("NFC", text)
        self.is_negated = body.startswith("!")
        body = body.removeprefix("!")
        for root in roots:
            if body.removeprefix("/").startswith(root):
                below = body.removeprefix("/").removeprefix(root)
                body = "/" + (unquote(below) if "://" in root else below)
        if body == "/":
            body = "/**"  # the root itself
        spec = _compile(body)
        if spec is None:
            raise UsageError(f"`{text}` is not a pattern; {_explain_invalid(body)}")
        self._spec, self._is_below = spec, body.endswith("/**")
        self._body = re.sub(r"/\*\*$", "/*", body)
        # On sites whose addresses are folders, a mere `index.md` would match all pages.
        self._has_folder, self._is_index = "/" in body.rstrip("/"), re.search(r"/index\.\w+$", body) is not None

    def matches(self, page: PageName) -> bool:
        """Return whether the pattern matches a page, also if it is negated."""
        names = page.names()
        if self._is_below:  # a folder is not below itself
            names = tuple(name for name in names if not name.endswith("/"))
        if self._is_index or (self._has_folder and page.is_folder):
            names += page.index_names()
        return any(map(self._match, names))

    def _match(self, name: str) -> bool:
        if len(name) <= _MAX_REGEX_CHARS:
            return self._spec.match_file(name)
        return match_name(self._body, name)  # an address of a crawled site could keep the regular expression busy


def _compile(text: str) -> GitIgnoreSpec | None:
    """Return the compiled pattern; None if it is invalid, a comment or empty."""
    from pathspec import GitIgnoreSpec  # sites without patterns do not need it

    try:
        spec = GitIgnoreSpec.from_lines([text])
    except ValueError:
        return None
    return spec if any(pattern.include for pattern in spec.patterns) else None


def _explain_invalid(text: str) -> str:
    if text.startswith("#"):
        return f"it is a comment. To match a name with #, write `\\{text}`"
    if "[" in text:
        return f"a bracket is not closed. To match a bracket, write `{text.replace('[', chr(92) + '[')}`"
    return "name a file or a folder, such as `internal/`"


@dataclass(frozen=True, slots=True)
class OldDialect:
    """The meaning that patterns had in earlier versions.

    Attributes:
        matches: Returns whether a pattern matched a page.
        translate: Returns patterns that match the same pages today.
        matched_slash: Whether a pattern with a leading slash matched anything.
    """

    matches: Callable[[str, PageName], bool]
    translate: Callable[[str], list[str]]
    matched_slash: bool = False


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
"""The dialect of the plugin and of `roaming index`."""


class Selection:
    """The pages that a site publishes, by patterns.

    A page is published if the last matching pattern of `include` is not negated, and the last matching pattern of
    `exclude`, if any, is. Without patterns in `include`, or if the first one is negated, all pages are included.

    Args:
        include: Patterns of pages to publish.
        exclude: Patterns of pages to leave out.
        roots: See `Pattern`.
        option: Prefix of the options in messages: `--` on the command line.
        old: The dialect of earlier versions.

    Raises:
        UsageError: A pattern can never match.
    """

    def __init__(
        self,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        *,
        roots: Sequence[str] = (),
        option: str = "",
        old: OldDialect = FNMATCH,
    ) -> None:
        self._include = _compile_all(include, f"{option}include", roots)
        self._exclude = _compile_all(exclude, f"{option}exclude", roots)
        self._option, self._old, self._roots = option, old, roots
        self._used: set[int] = set()
        self._pages: dict[PageName, None] = {}

    def __bool__(self) -> bool:
        return bool(self._include or self._exclude)

    def find_reason(self, page: PageName) -> str | None:
        """Return why a page is left out, None if the patterns allow it."""
        if not self:
            return None
        if len(self._pages) < _MAX_COMPARED:
            self._pages[page] = None
        included, excluded = self._find_last(self._include, page), self._find_last(self._exclude, page)
        if included and included.is_negated:
            return f"excluded by `{included.text}` in {self._option}include"
        if not included and self._include and not self._include[0].is_negated:
            return f"not in {self._option}include"
        return f"excluded by `{excluded.text}`" if excluded and not excluded.is_negated else None

    def _find_last(self, patterns: Sequence[Pattern], page: PageName) -> Pattern | None:
        matching = [pattern for pattern in patterns if pattern.matches(page)]
        self._used.update(map(id, matching))
        return matching[-1] if matching else None

    # Unmatched patterns

    def unmatched(self, where: str = "") -> Iterator[str]:
        """Yield a message for each pattern that matches no page, with the nearest pattern that matches one."""
        for name, patterns in (("include", self._include), ("exclude", self._exclude)):
            for pattern in patterns:
                if id(pattern) not in self._used:
                    yield f"{self._option}{name} `{pattern.text}` matches no page{where}{self._suggest(pattern.text)}"

    def _suggest(self, text: str) -> str:
        sign, body = ("!", text[1:]) if text.startswith("!") else ("", text)
        for candidate in _iter_spellings(body):
            found = sum(map(Pattern(candidate, self._roots).matches, self._pages)) if _compile(candidate) else 0
            if 0 < found < max(2, len(self._pages)):
                return f"; write `{sign}{candidate}`"
        names = {name: None for page in self._pages for name in (str(page), page.path)}
        folders = {folder: None for name in names for folder in _parents(name)}
        known = {name.casefold(): name for name in (*folders, *names) if name}
        near = get_close_matches(body.strip("/").casefold(), known, _MAX_NAMED, _SIMILARITY)
        return f"; nearest: {', '.join(known[name] for name in near)}" if near else ""

    # Patterns of earlier versions

    def check_meaning(self, pages: Sequence[PageName], *, complete: bool = True) -> None:
        """Check that no page is published, or left out, only because patterns had another meaning before.

        Args:
            pages: Pages that are published unless a pattern leaves them out.
            complete: Whether these are all pages of the site.

        Raises:
            PublishError: There is such a page; the message names it and the pattern to write.
        """
        for page in pages if self else ():
            changed = self._find_changed(page, pages, complete=complete)
            if changed is not None:
                raise PublishError(self._explain_change(*changed, page, pages))

    def _find_changed(
        self, page: PageName, pages: Sequence[PageName], *, complete: bool
    ) -> tuple[str, Pattern, bool] | None:
        """Return the option, the pattern by which a page is treated otherwise, and whether it is published now."""

        def matched(pattern: Pattern, page: PageName) -> bool:
            return self._old.matches(pattern.text, page)

        is_published = self.find_reason(page) is None
        including = [pattern for pattern in self._include if matched(pattern, page)]
        excluding = [pattern for pattern in self._exclude if matched(pattern, page)]
        if is_published and excluding:
            return None if self._find_last(self._exclude, page) else ("exclude", excluding[0], True)
        if is_published and self._include and not including:
            patterns = [pattern for pattern in self._include if pattern.matches(page)]
            if not patterns or any(self._is_new(pattern.text) for pattern in patterns):
                return None
            # A pattern that matched no page at all is meant as it is read now.
            alive = (one for one in patterns if not complete or any(matched(one, other) for other in pages))
            return next((("include", pattern, True) for pattern in alive), None)
        if not is_published and including and not excluding:
            is_negated = self._find_last(self._include, page) or self._find_last(self._exclude, page)
            return None if is_negated else ("include", including[0], False)
        return None

    def _is_new(self, text: str) -> bool:
        """Return whether a pattern is certainly written in the dialect of `.gitignore`."""
        return text.startswith("!") or "://" in text or (text.startswith("/") and not self._old.matched_slash)

    def _explain_change(
        self, option: str, pattern: Pattern, is_published: bool, page: PageName, pages: Sequence[PageName]
    ) -> str:
        text, matched = pattern.text, self._old.matches
        before = matched(text, page)
        others = sum(1 for one in pages if matched(text, one) == before != pattern.matches(one)) - 1
        names, them = (f"{page} and {others} more", "them") if others > 0 else (str(page), "it")
        old, now = ("left out", f"publish {them}") if is_published else ("published", f"leave {them} out")
        replacement = _quote(self._find_replacement(text, pages, exact=option == "include"))
        does = "does not match" if before else "matches"
        today = self._find_unambiguous(text) if option == "include" or not self._old.matched_slash else ""
        keep = f", or `{today}` to {now}" if today else ""
        return (
            f"{self._option}{option} `{text}`: earlier versions {old} {names}, but in the dialect of .gitignore the "
            f"pattern {does} {them}. Write {replacement} to keep {them} {old}{keep}"
        )

    def _find_unambiguous(self, text: str) -> str:
        """Return a pattern with today's meaning that matched nothing, or the same, in earlier versions."""
        has_folder = "/" in text.rstrip("/")
        if self._old.matched_slash:
            return "" if has_folder else f"**/{text}"
        return _anchor(text) if has_folder else f"/**/{text}"

    def _find_replacement(self, text: str, pages: Sequence[PageName], *, exact: bool) -> list[str]:
        """Return patterns that match all pages that a pattern matched before and, if `exact`, no others.

        In `include`, a pattern without leading slash could again match other pages than before.
        """
        old = [page for page in pages if self._old.matches(text, page)]
        found = {
            one: [page for page in pages if Pattern(one).matches(page)]
            for one in map(_anchor if exact else str, self._old.translate(text))
            if _compile(one)
        }
        patterns = [one for one in found if found[one] or not old]
        matched = {page for one in patterns for page in found[one]}
        if exact and not matched <= set(old):
            patterns, matched = [], set()
        return [*patterns, *(_escape(page) for page in old if page not in matched)]


def _compile_all(patterns: Sequence[str], option: str, roots: Sequence[str]) -> tuple[Pattern, ...]:
    try:
        return tuple(Pattern(text, roots) for text in patterns)
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from None


def _iter_spellings(text: str) -> Iterator[str]:
    """Yield other spellings of a pattern that matches nothing."""
    slashes = text.replace("\\", "/")
    clean = unquote(slashes).strip().removeprefix("./")
    yield from (slashes, clean, clean.rstrip("/"))
    yield f"**/{clean.lstrip('/')}"
    names = clean.strip("/").split("/")
    for start in range(1, min(len(names), _MAX_PARENTS)):
        if not re.search(r"[*?[]", names[start]):  # `/*` would match far more
            yield "/" + "/".join(names[start:])
    stem = re.sub(r"(/index)?\.\w+$", "", clean)
    yield f"{stem}.md"
    if not stem.endswith("*"):
        yield from (f"{stem}/", stem)


def _parents(name: str) -> Iterator[str]:
    names = name.split("/")
    return ("/".join(names[:end]) + "/" for end in range(1, min(len(names), _MAX_PARENTS)))


def _escape(page: PageName) -> str:
    return "/" + re.sub(r"([*?\[\\]|\s+$)", r"\\\1", str(page).lstrip("/"))


def _anchor(text: str) -> str:
    return f"/{text.removeprefix('/')}"


def _quote(patterns: Sequence[str]) -> str:
    shown = " and ".join(f"`{pattern}`" for pattern in patterns[:_MAX_NAMED])
    return shown + (f" and {len(patterns) - _MAX_NAMED} more" if len(patterns) > _MAX_NAMED else "")


_MAX_REGEX_CHARS = 100
_MAX_NAMED = 3
_MAX_COMPARED = 2_000
_MAX_PARENTS = 20
_MAX_FORMS = 16
_SIMILARITY = 0.6
