"""A page's Markdown as sections: slices from one top-level heading to the next, and their stable ids.

A heading counts where CommonMark says it does, at the top level: fences, HTML blocks, quotes and lists hide `#`.
Slices joined are the file from its title to its end, byte for byte.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import unescape
from typing import TYPE_CHECKING

from mkdocs_roaming.page import Heading
from mkdocs_roaming.words import estimate_tokens

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

OPENING = 100
"""The most characters of a section's opening."""


@dataclass(frozen=True, slots=True)
class Section:
    """A slice of a page's Markdown; `start` and `end` are byte offsets into it, of the section's own text.

    `name` is what the id is made of, `parent` the position of the enclosing section on the page (None for the
    page's own), `opening` the beginning of its text, `targets` the URLs that it links to. `digest` is of the
    slice, `body` of its text below the heading (`""` where there is none), `tokens` an estimate.
    """

    level: int
    title: str
    anchor: str | None
    start: int
    end: int
    name: str = ""
    parent: int | None = None
    opening: str = ""
    targets: tuple[str, ...] = ()
    digest: str = ""
    body: str = ""
    tokens: int = 0


def split(markdown: str, *, title: str = "", headings: Sequence[Heading] | None = None) -> tuple[Section, ...]:
    """Give the page's sections in the order of the text, the page's own first.

    `headings` are those of the rendered page, for their anchors; None where there is no HTML. `title` names the
    page's own section where the text has no title.
    """
    body, lines = _body(markdown)
    marks = list(_marks(body))
    offset = len(markdown) - len(body)
    titled = bool(marks) and marks[0].level == 1
    begin = marks[0].line if titled and _only_pointer(body, lines[marks[0].line]) else 0
    if not titled:
        lead = next(iter(_marks(f"# Title\n\n{body[: lines[marks[0].line]] if marks else body}")))
        marks.insert(0, replace(lead, line=0, title=title, below=0))
    starts = [begin, *(mark.line for mark in marks[1:])]
    offsets = _byte_offsets(markdown, [offset + lines[line] for line in starts])
    anchors = _anchors(marks if titled else marks[1:], headings or ())
    if not titled:
        anchors = [None, *anchors]
    data = markdown.encode("utf-8", "surrogatepass")
    sections = [
        _section(mark, mark.title or title, anchor, data, start, end)
        for mark, anchor, start, end in zip(marks, anchors, offsets, offsets[1:], strict=False)
    ]
    return tuple(_with_openings(_with_names(_with_parents(sections))))


def github_slug(text: str) -> str:
    """Give the anchor that GitHub makes of a heading's text."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def hash_id(key: str) -> str:
    """Give the 8-hex id of a key such as `guide/install/#requirements`."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:8]


class Ids:
    """Hands out ids that are unique on a site; a hash that is taken is computed again with `~1`, `~2` … appended."""

    def __init__(self, digest: Callable[[str], str] = hash_id) -> None:
        self._digest = digest
        self._taken: set[str] = set()

    def new(self, key: str) -> str:
        """Give the key's id; the same keys in the same order get the same ids."""
        chosen, again = self._digest(key), 0
        while chosen in self._taken:
            again += 1
            chosen = self._digest(f"{key}~{again}")
        self._taken.add(chosen)
        return chosen

    def of_page(self, path: str, sections: Iterable[Section]) -> list[str]:
        """Give the ids of a page's sections, in order."""
        return [self.new(f"{path}#{section.name}") for section in sections]


def slice_digest(data: bytes) -> str:
    """Give the digest that the manifest keeps of a slice: 8 hex digits of SHA-256."""
    return hashlib.sha256(data).hexdigest()[:8]


def plain(inline: str) -> str:
    """Give the text of inline Markdown without its markup."""
    if not _MARKUP.search(inline):
        return " ".join(inline.split())
    tokens = _reader(inline=True).parseInline(inline)[0].children or []
    return " ".join("".join(_spoken(token) for token in tokens).split())


# What the text says of itself


@dataclass(frozen=True, slots=True)
class _Mark:
    """A top-level heading: where it stands, and what its section begins with."""

    line: int
    level: int
    title: str
    text: str
    targets: tuple[str, ...]
    below: int = 0


_LINE_END = re.compile(r"\r\n|\n|\r")
_FRONT_MATTER = re.compile(
    r"\A\ufeff?---[ \t]*(?:\r\n|\n|\r)(?:[^\r\n]*(?:\r\n|\n|\r))*?(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)"
)
_MARKUP = re.compile(r"[\\`*_\[\]<>&!~$\n]")
_TARGET = re.compile(r"\]\(\s*<?([^)>\s]+)")
_AUTOLINK = re.compile(r"<(https?://[^>\s]+)>")
_CALLOUT = re.compile(r"^\[![A-Z]+\][ \t]*\n?")


@cache
def _reader(*, inline: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt  # a tenth of a second, which a build that reuses all its pages need not pay

    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return reader if inline else reader.disable("inline")


def _body(markdown: str) -> tuple[str, list[int]]:
    front = _FRONT_MATTER.match(markdown)
    # An empty file between two rules is no front matter: a rule at the top needs a key below it.
    body = markdown[front.end() :] if front and ":" in front.group() else markdown.removeprefix("\ufeff")
    return body, [0, *(end.end() for end in _LINE_END.finditer(body))]


def _only_pointer(body: str, end: int) -> bool:
    """Tell whether what stands before the title is blank, or the quote that points to llms.txt."""
    before = body[:end].strip()
    return not before or (before.startswith(">") and "llms.txt" in before and len(_LINE_END.findall(before)) == 0)


def _marks(body: str) -> Iterable[_Mark]:
    # markdown-it reads \r as a line end, but only after normalising; it counts lines as we do.
    tokens = _reader(inline=False).parse(body)
    mark: _Mark | None = None
    text: list[str] = []
    targets: list[str] = []
    for at, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            if mark:
                yield replace(mark, text=_opening(text), targets=tuple(targets))
            title = tokens[at + 1].content
            mark = _Mark(token.map[0], int(token.tag[1]), plain(title), "", (), below=token.map[1])
            text, targets = [], _targets(title)
        elif mark and token.type == "inline" and not _is_title(tokens, at):
            text.append(_CALLOUT.sub("", token.content))
            targets += _targets(token.content)
        elif mark and token.type in ("fence", "code_block") and not text:
            text.append("\0" + token.content)
    if mark:
        yield replace(mark, text=_opening(text), targets=tuple(targets))


def _is_title(tokens: Sequence[Token], at: int) -> bool:
    return tokens[at - 1].type == "heading_open" and tokens[at - 1].level == 0


def _targets(inline: str) -> list[str]:
    return [*_TARGET.findall(inline), *_AUTOLINK.findall(inline)]


def _opening(texts: Sequence[str]) -> str:
    """Give the first ~100 characters, cut at a word."""
    gathered = ""
    for text in texts:
        code = text.startswith("\0")
        gathered = f"{gathered} {' '.join((text[1:600] if code else _nearly_plain(text[:600])).split())}".strip()
        if len(gathered) > OPENING:
            break
    return cut_at_word(gathered, OPENING)


def _nearly_plain(inline: str) -> str:
    """Give the text of inline Markdown by its commonest marks: an opening is cut anyway, and a parse costs more."""
    if not _MARKUP.search(inline):
        return inline
    return unescape(_INLINE_MARK.sub(lambda found: next(filter(None, found.groups()[1:]), ""), inline))


_ADDRESS = r"\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)"
_INLINE_MARK = re.compile(
    r"(`+)(?!`)(.+?)(?<!`)\1(?!`)"  # code keeps its stars
    rf"|!\[([^\]]*)\]{_ADDRESS}|\[\^[^\]]*\]:?"  # an image's words stay, a footnote's mark goes
    rf"|\[(?=!\[|[^\[\]]*\]\()|\]{_ADDRESS}"  # what stands around a link's words
    r"|<(https?://[^<>\s]+|[^<>\s@/]+@[^<>\s]+)>|</?[a-zA-Z][^<>]*>"
    r"|\\(?=\n)|\\([!-/:-@\[-`{-~])|\*+|~~|(?<![^\W_])_+(?=\w)|(?<=\w)_+(?![^\W_])",
    re.DOTALL,
)


def cut_at_word(text: str, most: int) -> str:
    """Give the text in at most that many characters, cut between words, with `…` where something is missing."""
    if len(text) <= most:
        return text
    head = text[:most]  # one more than fits beside the ellipsis, to see whether a word ends there
    cut = head.rfind(" ")
    kept = head[:cut] if cut > most // 2 else head[:-1]
    return kept.rstrip(" ,;:.–—-") + "…"


def _spoken(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    if token.type == "image":
        return "".join(_spoken(child) for child in token.children or [])
    return token.content if token.type in ("text", "code_inline", "text_special") else ""


def _section(mark: _Mark, title: str, anchor: str | None, data: bytes, start: int, end: int) -> Section:
    slice_ = data[start:end]
    text = slice_.decode("utf-8", "surrogatepass")
    body = _below(text, mark.below - mark.line).strip()
    return Section(
        mark.level,
        title,
        anchor,
        start,
        end,
        opening=mark.text,
        targets=mark.targets,
        digest=slice_digest(slice_),
        body=slice_digest(body.encode("utf-8", "surrogatepass")) if body else "",
        tokens=estimate_tokens(text),
    )


def _below(text: str, lines: int) -> str:
    return text[[0, *(end.end() for end in _LINE_END.finditer(text)), len(text)][lines] :]


# What the rendered page and the other sections add


def _anchors(marks: Sequence[_Mark], headings: Sequence[Heading]) -> list[str | None]:
    """Match the text's headings with the rendered page's: one by one, or by their words where they differ."""
    if [mark.level for mark in marks] == [heading.level for heading in headings]:
        return [heading.anchor for heading in headings]
    anchors: list[str | None] = []
    rest = list(headings)
    for mark in marks:
        slug = github_slug(mark.title)
        found = next((at for at, heading in enumerate(rest) if github_slug(heading.text) == slug), None)
        anchors.append(None if found is None else rest[found].anchor)
        if found is not None:
            del rest[: found + 1]
    return anchors


def _with_parents(sections: Sequence[Section]) -> list[Section]:
    stack: list[int] = []
    found: list[Section] = []
    for at, section in enumerate(sections):
        while len(stack) > 1 and sections[stack[-1]].level >= section.level:
            stack.pop()
        found.append(replace(section, parent=stack[-1] if stack else None))
        stack.append(at)
    return found


def _with_names(sections: Sequence[Section]) -> list[Section]:
    """Name what ids are made of: the anchor, or `<parent's name>/<slug>` where a heading's text is repeated."""
    slugs = [github_slug(section.title) for section in sections]
    times = Counter(slugs)
    named: list[Section] = []
    taken: set[str] = set()
    for section, slug in zip(sections, slugs, strict=True):
        if section.parent is None:
            name = ""
        elif times[slug] > 1:
            name = f"{named[section.parent].name}/{slug}"
        else:
            name = section.anchor or slug
        chosen, again = name, 1
        while chosen in taken:
            again += 1
            chosen = f"{name}~{again}"
        taken.add(chosen)
        named.append(replace(section, name=chosen))
    return named


def _with_openings(sections: Sequence[Section]) -> Iterable[Section]:
    """Give sections without text the opening of their first child."""
    openings = [section.opening for section in sections]
    for at in range(len(sections) - 2, -1, -1):
        if not openings[at] and sections[at + 1].parent == at:
            openings[at] = openings[at + 1]
    return (replace(section, opening=opening) for section, opening in zip(sections, openings, strict=True))


def _byte_offsets(markdown: str, starts: Sequence[int]) -> list[int]:
    """Turn character offsets into byte offsets, with the end of the file last."""
    offsets: list[int] = []
    at = size = 0
    for start in [*starts, len(markdown)]:
        size += len(markdown[at:start].encode("utf-8", "surrogatepass"))
        at = start
        offsets.append(size)
    return offsets
