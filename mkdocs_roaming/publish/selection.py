"""Selection of pages: include and exclude patterns in the dialect of `.gitignore`.

A pattern matches the source of a page or its address.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from urllib.parse import unquote

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.lookup import PageName, match_name

_ESCAPED = re.compile(r"\\.")
r"""A character that has no meaning of its own: `\[` in `\[draft`."""
_BRACKET = r"\["
_SPECIAL = re.compile(r"[*?\[\\]|\s+$")
"""What a pattern for one name escapes: `*` in `guide/*.md`, and spaces at the end."""

_MAX_NAMED = 3
"""Number of similar names in a message."""
_MAX_COMPARED = 2_000
"""Number of pages whose names are compared with a pattern that matches none."""
_MAX_PARENTS = 20
_SIMILARITY = 0.6


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
        body = body.removeprefix("!").replace("[^", "[!")
        if not body.rstrip().endswith("\\"):
            body = body.rstrip()
        for root in roots:
            if body.removeprefix("/").startswith(root):
                below = body.removeprefix("/").removeprefix(root)
                body = "/" + (unquote(below) if "://" in root else below)
        if body == "/":
            body = "/**"  # the root itself
        if problem := _explain_invalid(body):
            raise UsageError(f"`{text}` is not a pattern; {problem}")
        self._is_folder = body.endswith("/")
        self._is_below = body.endswith("/**")
        # On sites whose addresses are folders, a mere `index.md` would match all pages.
        self._has_folder = "/" in body.rstrip("/")
        stem, _, suffix = body.rpartition("/")[2].partition(".")
        self._is_index = "/" in body and stem == "index" and suffix.isalnum()
        self._body = body.removesuffix("*") if self._is_below else body

    def matches(self, page: PageName) -> bool:
        """Return whether the pattern matches a page, also if it is negated."""
        names = page.names()
        if self._is_below:  # a folder is not below itself
            names = tuple(name for name in names if not name.endswith("/"))
        if self._is_index or (self._has_folder and page.is_folder):
            names += page.index_names()
        if self._is_folder:
            folders = (name.rpartition("/")[0] for name in names)
            names = tuple(filter(None, folders))
        return any(match_name(self._body, name) for name in names)


def _explain_invalid(text: str) -> str:
    """Return why a pattern can never match; empty if it can."""
    bare = _ESCAPED.sub("", text)
    if text.startswith("#"):
        return f"it is a comment. To match a name with #, write `\\{text}`"
    if "[" in bare and "]" not in bare.rpartition("[")[2]:
        return f"a bracket is not closed. To match a bracket, write `{text.replace('[', _BRACKET)}`"
    if not text.strip() or bare.endswith("\\"):
        return "name a file or a folder, such as `internal/`"
    return ""


class Selection:
    """The pages that a site publishes, by patterns.

    A page is published if the last matching pattern of `include` is not negated, and the last matching pattern of
    `exclude`, if any, is. Without patterns in `include`, or if the first one is negated, all pages are included.

    Args:
        include: Patterns of pages to publish.
        exclude: Patterns of pages to leave out.
        roots: See `Pattern`.
        option: Prefix of the options in messages: `--` on the command line.

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
    ) -> None:
        self.include = _compile_all(include, f"{option}include", roots)
        self.exclude = _compile_all(exclude, f"{option}exclude", roots)
        self.option = option
        self._used: set[int] = set()
        self._pages: dict[PageName, None] = {}

    def __bool__(self) -> bool:
        return bool(self.include or self.exclude)

    def find_reason(self, page: PageName) -> str | None:
        """Return why a page is left out, None if the patterns allow it."""
        if not self:
            return None
        if len(self._pages) < _MAX_COMPARED:
            self._pages[page] = None
        included = self.find_last(self.include, page)
        excluded = self.find_last(self.exclude, page)
        if included and included.is_negated:
            return f"excluded by `{included.text}` in {self.option}include"
        if not included and self.include and not self.include[0].is_negated:
            return f"not in {self.option}include"
        return f"excluded by `{excluded.text}`" if excluded and not excluded.is_negated else None

    def is_exception(self, page: PageName) -> bool:
        """Return whether a negated pattern in `exclude` names a page."""
        pattern = self.find_last(self.exclude, page)
        return pattern is not None and pattern.is_negated

    def find_last(self, patterns: Sequence[Pattern], page: PageName) -> Pattern | None:
        """Return the last of the patterns that match a page, or None; all of them count as used."""
        matching = [pattern for pattern in patterns if pattern.matches(page)]
        self._used.update(map(id, matching))
        return matching[-1] if matching else None

    # Unmatched patterns

    def unmatched(self, where: str = "") -> Iterator[str]:
        """Yield a message for each pattern that matches no page, with the nearest names of pages and folders."""
        for name, patterns in (("include", self.include), ("exclude", self.exclude)):
            for pattern in patterns:
                if id(pattern) in self._used:
                    continue
                hint = self._suggest(pattern.text)
                yield f"{self.option}{name} `{pattern.text}` matches no page{where}{hint}"

    def _suggest(self, text: str) -> str:
        names: dict[str, None] = {}
        folders: dict[str, None] = {}
        for page in self._pages:
            for name in (str(page), page.path):
                names[name] = None
                folders |= dict.fromkeys(_parents(name))
        known = {name.casefold(): name for name in (*folders, *names) if name}
        wanted = unquote(text.replace("\\", "/")).strip(" !./*").casefold()
        near = get_close_matches(wanted, known, _MAX_NAMED, _SIMILARITY)
        return f"; nearest: {', '.join(known[name] for name in near)}" if near else ""


def _compile_all(patterns: Sequence[str], option: str, roots: Sequence[str]) -> tuple[Pattern, ...]:
    try:
        return tuple(Pattern(text, roots) for text in patterns)
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from None


def exact_pattern(page: PageName) -> str:
    """Return a pattern for one page."""
    name = str(page).lstrip("/") or "index.html"
    return "/" + _SPECIAL.sub(lambda match: f"\\{match[0]}", name)


def _parents(name: str) -> Iterator[str]:
    names = name.split("/")
    for end in range(1, min(len(names), _MAX_PARENTS)):
        yield "/".join(names[:end]) + "/"
