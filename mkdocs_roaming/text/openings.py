"""Openings of sections: the first sentence of prose in a section's Markdown.

An opening says what a section is about, on a line of the outline, in llms.txt and in search results. Text that serves
another purpose is skipped: code, badges, labels, signatures, notes about versions, navigation. A section without prose
is described by the names in its list or table, and a section without text by nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from enum import IntEnum
from functools import cache
from html import unescape
from itertools import chain, islice
from typing import NamedTuple

from mkdocs_roaming.text.blocks import FENCE, MAX_BLOCK_CHARS, SKIPPED_LINE, Block, iter_blocks, iter_items
from mkdocs_roaming.text.markdown import (
    ends_sentence,
    first_sentence,
    iter_sentences,
    shorten,
    split_lines,
    to_single_line,
)

_MAX_LIST_CHARS = 200  # of names in an opening
_MAX_READ_CHARS = 6_000
_MAX_LIST_LINES = 60
_MAX_DEPTH = 3
_MIN_LEAD_WORDS = 5  # of a lead-in that says something without what it introduces
_MIN_PROSE_WORDS = 4  # of a line that is prose although no sentence ends in it
_MIN_SENTENCE_WORDS = 3  # of a sentence that needs no second one
_MAX_LABEL_WORDS = 3
_PURPOSE_BLOCKS = 4  # after the first prose of a page
_MIN_PURPOSE_WORDS = 7
_MAX_NAMES_PER_WORD = 4  # words in links and code for each other word, above which a line is no prose


def make_opening(
    markdown: str, *, limit: int = 200, subsections: int | None = None, skipped: Set[str] = frozenset()
) -> str:
    """Return the opening of a section on a single line; empty if no text says what the section is about.

    Args:
        markdown: The section's Markdown, below its heading.
        limit: Maximum number of characters.
        subsections: Their number if the section is a page's own: lead-ins to code say little about a page, and its
            subsections say more than its admonitions and tables.
        skipped: Openings that are not returned.
    """

    def finish(text: str) -> str:
        return shorten(to_single_line(_unmask(text)), limit)

    is_page = subsections is not None
    if is_page and "---" in markdown[:_MAX_LIST_CHARS]:
        markdown = UNPARSED_FRONT_MATTER.sub("", markdown, count=1)
    blocks = iter_blocks(split_lines(markdown[:_MAX_READ_CHARS]))
    if subsections:  # callouts, epigraphs and tables say less than the titles of subsections
        blocks = (block for block in blocks if block.kind not in ("quote", "table"))
    chooser = _Chooser(lambda text: not skipped or finish(text) not in skipped, is_page=is_page)
    best = chooser.choose(blocks) if markdown else None
    return finish(best.text) if best else ""


def join_names(names: Sequence[str], lead: str = "") -> str:
    """Return names, separated by commas, as many as an opening has room for; empty without names."""
    if not names:
        return ""
    separator = "; " if any("," in name or ends_sentence(name) for name in names) else ", "
    names = [name.rstrip(".。:;, ") for name in names] if len(names) > 1 else names
    text = f"{lead} {names[0]}".lstrip()
    for name in names[1:]:
        if len(text) + len(separator) + len(name) >= _MAX_LIST_CHARS - len(separator):
            return f"{text}{separator}…"
        text += separator + name
    return text


def leads_elsewhere(opening: str) -> bool:
    """Return whether an opening only refers to another page."""
    return _REFERENCE.match(opening) is not None


def find_sentences(description: str, title: str = "") -> list[str]:
    """Return the sentences of a description without markup; none if it is no prose, such as a directive.

    A word describes nothing, nor one beside a title or the variables of a template. Sentences that say nothing about a
    page are left out: dates, notes about versions, and what ends in mid-thought.
    """
    description = description[:MAX_BLOCK_CHARS]
    own = _TEMPLATE_VARIABLE.sub("", description.replace(title, ""))
    words = max(len(own.split()), _count_words(own))  # some languages have no spaces
    is_word = words <= 1 and not ends_sentence(description)
    if is_word or SKIPPED_LINE.match(description) or FENCE.match(description):
        return []
    text = _plain(description) if _WRITTEN_MARKUP.search(description) else description
    sentences = iter_sentences(to_single_line(_unmask(text)))
    return [one for one in sentences if not _is_noise(one) and not _UNFINISHED.search(one)]


UNPARSED_FRONT_MATTER = re.compile(
    r"\A(?:# [^\n]*\n)?\s*-{3,}[ \t]*\n\s*(?P<text>#+[ \t]+[a-z_][\w\\-]*:[ \t][^\n]*"
    r"|[a-z_][\w\\-]*:(?:[ \t][^\n]*)?(?:\n(?!-{3,}[ \t]*$)[^\n]*){0,60}\n-{3,}[ \t]*)$",
    re.MULTILINE,
)
"""Front matter that its site's generator did not parse, and so shows as text between two rules."""
_TEMPLATE_VARIABLE = re.compile(r"\{[^{}]*\}|<[^<>]*>")
_WRITTEN_MARKUP = re.compile(r"\]\(|`|\*\*|</?[a-z][^<>]*>")
_UNFINISHED = re.compile(r"(?:[,;:：(–—…-]|\.\.\.|\s(?:an?|the|of|to|and|or|with|for|from|in|on|at|by|is|are))$")


# Choice


class _Rank(IntEnum):
    """What an opening is made from, the best first."""

    PROSE = 0
    ASIDE = 1  # before the subject: “Consider a gate of two tons.”
    LIST = 2  # of links or terms
    ADMONITION = 3
    LEAD = 4  # of a page, such as “Install it with:”
    PHRASE = 5  # a few words without the end of a sentence
    FIELDS = 6  # the names of parameters
    TABLE = 7
    QUOTE = 8  # of somebody
    REFERENCE = 9  # a sentence that only leads elsewhere
    NOTE = 10  # about a version


class _Choice(NamedTuple):
    rank: _Rank
    text: str


class _Chooser:
    """The best text of a section so far, and a lead-in that the next block completes."""

    def __init__(self, accepts: Callable[[str], bool] = bool, *, is_page: bool, depth: int = 0) -> None:
        self._accepts, self._is_page = accepts, is_page
        self._depth = depth  # of quotes
        self._best: _Choice | None = None
        self._lead = ""  # a text that ends with a colon

    def choose(self, blocks: Iterator[Block]) -> _Choice | None:
        """Return the best text: the first prose, or else the best of the rest."""
        for block in blocks:
            if self._lead and block.kind not in ("list", "table"):
                self._add_lead()
            if block.kind == "text":
                self._add_text(block.text)
            elif block.kind == "list":
                self._add_list(block.lines)
            elif block.kind == "table":
                self._add_table(block.lines)
            elif block.kind == "quote":
                self._add_quote(block.lines)
            if self._best and self._best.rank is _Rank.PROSE:
                return self._find_purpose(chain([block], islice(blocks, _PURPOSE_BLOCKS))) or self._best
        if self._lead:
            self._add_lead()
        return self._best

    def _find_purpose(self, blocks: Iterable[Block]) -> _Choice | None:
        """Return the sentence that says what a page is for. It often follows a sentence that sets the scene."""
        for block in blocks if self._is_page else ():
            for sentence in iter_sentences(_plain(block.text)) if block.kind == "text" else ():
                is_purpose = _PURPOSE.match(sentence) and sentence[-1] in ".!"
                if is_purpose and _count_words(sentence) >= _MIN_PURPOSE_WORDS and self._accepts(sentence):
                    return _Choice(_Rank.PROSE, sentence)
        return None

    def _add(self, rank: _Rank, text: str) -> None:
        if text and (self._best is None or rank < self._best.rank) and self._accepts(text):
            self._best = _Choice(rank, text)

    def _add_text(self, raw: str) -> None:
        raw = _RUN_IN.sub(r"\1: ", raw, count=1)
        text = _plain(raw)
        words = _count_words(text)
        if not words or _is_noise(text):
            self._add(_Rank.NOTE, "".join(_VERSION_NOTE.findall(text)))
            return
        # Words that are neither code nor links.
        outside = _count_words(_SPAN.sub(" ", raw)) if _MARKUP.search(raw) else words
        if text.endswith((":", "：", "...")) and first_sentence(text) == text:
            self._lead = text
        elif outside <= words // _MAX_NAMES_PER_WORD:
            if words >= _MIN_PROSE_WORDS and ends_sentence(text):
                self._add(_Rank.REFERENCE, text)
        elif _BOLD.fullmatch(raw.strip()) and not ends_sentence(text):
            pass  # the label of a tab or of a file
        elif ends_sentence(text) or words >= _MIN_PROSE_WORDS:
            self._add_prose(raw, text)
        else:
            self._add(_Rank.PHRASE, text)

    def _add_prose(self, raw: str, text: str) -> None:
        sentence = ""
        for following in iter_sentences(text):
            if _count_words(sentence) >= _MIN_SENTENCE_WORDS and not sentence.endswith(("!", "?")):
                break
            if _ASIDE.match(following):
                self._add(_Rank.ASIDE, following)
            elif not _is_noise(following):
                sentence = f"{sentence} {following}".lstrip()
        if _REFERENCE.match(sentence) and "](" in raw:
            self._add(_Rank.REFERENCE, sentence)
        elif self._is_page and _LABELLED_NOTE.match(sentence):
            self._add(_Rank.ADMONITION, sentence)
        elif sentence:
            is_short = _count_words(sentence) < _MIN_SENTENCE_WORDS or _CONTINUATION.match(sentence)
            self._add(_Rank.PHRASE if is_short else _Rank.PROSE, sentence)

    def _add_lead(self) -> None:
        """Add a lead-in to a block that is not shown. That of a page ends as a sentence, or is the last choice."""
        lead, words, self._lead = self._lead, _count_words(self._lead), ""
        if words >= _MIN_LEAD_WORDS and not _CONDITION.match(lead):
            points = not self._is_page or _POINTING.search(lead)
            lead = lead if points else lead.rstrip(":：.") + ("。" if lead[-1] == "：" else ".")
            has_aside = self._best is not None and self._best.rank is _Rank.ASIDE
            self._add(_Rank.LEAD if has_aside or (self._is_page and points) else _Rank.PROSE, lead)
        elif words > 1 and lead[0].isupper():
            self._add(_Rank.PHRASE, lead)

    def _add_list(self, lines: Sequence[str]) -> None:
        items = list(iter_items(lines[:_MAX_LIST_LINES]))
        links = all(_is_label(text, below) for text, below in items)
        is_code = all(_BOLD.fullmatch(text) and below and FENCE.match(below[0]) for text, below in items)  # in tabs
        if is_code or (links and self._is_page):  # titles of other pages do not say what a page is about
            self._add_lead()
            return
        lead, self._lead = self._lead, ""
        label = _unmask(lead).rstrip(":： ").casefold()
        is_labelled = _count_words(lead) <= _MAX_LABEL_WORDS
        described = _drop_facts(items) if is_labelled else items
        if not described or _SKIPPED_LABEL.match(label) or _ROOT_CLASS.fullmatch(_plain(items[0][0])):
            return
        rank = _Rank.LIST if is_labelled and (lead or links) else _Rank.PROSE
        names = _item_names(items, described, lead)
        self._add(_Rank.FIELDS if _FIELD_LABEL.match(label) else rank, join_names(names, lead))

    def _add_table(self, lines: Sequence[str]) -> None:
        lead, self._lead = self._lead, ""
        rank = _Rank.PROSE if _count_words(lead) > _MAX_LABEL_WORDS else _Rank.TABLE
        self._add(rank, join_names(_table_names(lines, links=not self._is_page), lead) or lead)

    def _add_quote(self, lines: Sequence[str]) -> None:
        callout = _CALLOUT.match(lines[0]) if lines else None
        if callout:
            lines = [lines[0][callout.end() :], *lines[1:]]
        elif any("llms.txt" in line for line in lines) or self._depth >= _MAX_DEPTH:
            return
        inner = _Chooser(is_page=self._is_page, depth=self._depth + 1).choose(iter_blocks(lines))
        if inner:
            attributed = any(_ATTRIBUTION.match(line) for line in lines)
            rank = _Rank.ADMONITION if callout else _Rank.QUOTE if attributed else _Rank.PROSE
            self._add(max(rank, inner.rank), inner.text)


# Lists and tables

_Item = tuple[str, list[str]]  # the first paragraph of an item, and the lines below it


def _describe_item(text: str, below: Sequence[str]) -> str:
    """Return the name of the only item of a list, and the first sentence about it."""
    name = _item_name(text)
    about = _plain(text)[len(name) :].lstrip(" :–—-") if not below else ""
    paragraph = next(
        (block.text for block in iter_blocks([line.strip() for line in below]) if block.kind == "text"), ""
    )
    about = about or first_sentence(_plain(paragraph))
    return f"{name}: {about}" if about and _NAMED.match(text) else first_sentence(_plain(text))


def _drop_facts(items: list[_Item]) -> list[_Item]:
    """Return items without facts, such as a default value, if half of them are; none of those about a post."""
    if _DATED.fullmatch(items[0][0]):
        return []
    described = [item for item in items if not _FIELD.match(item[0])]
    return items if 2 * len(described) > len(items) else described


def _item_names(items: list[_Item], described: list[_Item], lead: str) -> list[str]:
    """Return what items are about: their names, or first sentences if some are facts or begin with the same label."""
    if len(items) == 1 and not lead:
        return [_describe_item(*items[0])]
    names = _limit_names(_item_name(text) for text, _ in items)
    if described is items and len(set(names)) == len(names):
        return names
    return _limit_names(first_sentence(_plain(text)) for text, _ in described)


def _item_name(text: str) -> str:
    """Return what an item is about: the name at its start, or else its first sentence."""
    if found := _NAMED.match(text):
        name = _plain(found[1]).rstrip(":： ")
        if "`" in found[1] or _count_words(name):
            return name
        text = text[found.end() :].lstrip(" :–—-")  # the number of an issue
    sentence = first_sentence(_plain(text))
    separator = _SEPARATOR.search(sentence)
    head = sentence[: separator.start()] if separator else sentence
    return head if len(head) <= _MAX_NAME_CHARS and not re.search(r"[#(]", head) else sentence


def _table_names(lines: Sequence[str], *, links: bool) -> list[str]:
    """Return the names in the first column of a table, those that are links on request."""
    cells = (_CELL_END.split(line.strip().strip("|"))[0].strip().replace("\\|", "|") for line in lines[2:])
    named = (cell for cell in cells if "`" in cell or _count_words(cell))
    names = [_item_name(cell) for cell in named if links or not _LINK_ITEM.match(cell)]
    distinct = dict.fromkeys(names)  # a column of kinds says little
    return _limit_names(distinct) if 2 * len(distinct) > len(names) else []


def _limit_names(names: Iterable[str]) -> list[str]:
    """Return as many names as an opening has room for, and one more."""
    limited: list[str] = []
    room = _MAX_LIST_CHARS
    for name in filter(_NAME.search, names):
        limited.append(name)
        room -= len(name)
        if room < 0:
            break
    return limited


_MAX_NAME_CHARS = 50
_NAME = re.compile(r"[^\s,;.]")
_NAMED = re.compile(
    r"(\*\*(?:[^*\n]++|\*(?!\*))+\*\*|`+[^`\n]+`+|!?\[(?:[^\[\]\n`]++|`[^`\n]*`)+\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\))"
    r"(?=\s*(?:$|[:：–—(\n]|-\s|\\$))",
    re.MULTILINE,
)
_LINK_ITEM = re.compile(r"\s*\[[^\[\]]*\]\(\S*\)\s*$")
_SEPARATOR = re.compile(r":\s|\s[–—-]\s")
_CELL_END = re.compile(r"(?<!\\)\|")
_FIELD_LABEL = re.compile(r"(?:(?:keyword |other |type )?parameters|arguments|args|attributes)$")
_FIELD = re.compile(
    r"\**[^\W\d_]\w*(?: \w+){0,2}\**:\**[ \t]+"
    r"(?:(?:`+[^`]+`+|\*?(?:yes|no|none|n/a|true|false|required|optional|v?[\d.]+)\*?)[,/ ]*)+$",
    re.IGNORECASE,
)
_SKIPPED_LABEL = re.compile(
    r"(?:returns?|return type|yields|raises|receives|warns|type|bases|(?:inherits|overrides)(?: from)?|\w+ed by"
    r"|subclasses|(?:table of )?contents|[oi]n this (?:page|section)|see also|references)$"
)


# Text


def _plain(inline: str) -> str:
    """Return the text of inline Markdown on one line, with the punctuation of code masked."""
    if "![" in inline and (images := _LEADING_IMAGES.match(inline)):
        inline = inline[images.end() :]
    if _MARKUP.search(inline):
        inline = unescape(_INLINE_MARK.sub(_replace_mark, inline))
    return " ".join(inline.split()).lstrip(" –—-:·•|>,;")


def _replace_mark(found: re.Match[str]) -> str:
    if found["text"]:
        return found["text"]
    if found["code"]:
        return _START + found["code"].translate(_MASK)
    return next((kept for kept in found.groups()[3:] if kept), "")


def _unmask(text: str) -> str:
    return text if text.isprintable() else text.translate(_UNMASK)


def _count_words(text: str) -> int:
    """Count the first words, which begin with a letter; two ideographs, kana or syllables count as one."""
    text = text[:_MAX_COUNTED_CHARS]
    if text.isascii():
        return len(_WORD.findall(text))
    ideograph, word = _compile_ideographs()
    return len(word.findall(text)) + (len(ideograph.findall(text)) + 1) // 2


# The punctuation of code does not end sentences, and its first letter starts them whatever its case.
# Control characters stand for it, because patterns are faster on ASCII.
_START = "\x0e"
_MASK = str.maketrans({mark: chr(0x10 + number) for number, mark in enumerate(".!?…:,;()")})
_UNMASK = {ord(value): chr(key) for key, value in _MASK.items()} | {ord(_START): None}

_MAX_COUNTED_CHARS = 200
_WORD = re.compile(r"[^\W\d_][\w'’-]*")


@cache
def _compile_ideographs() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of an ideograph, and of a word in text with ideographs; they take 10 ms to compile."""
    ideographs = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
    return re.compile(f"[{ideographs}]"), re.compile(rf"[^\W\d_{ideographs}][\w'’-]*")


_MARKUP = re.compile(r"[\\`*_\[\]<>&!~$]")
_ADDRESS = r"(?:\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)|\[[^\[\]]*\])"
_IMAGE = rf"!\[[^\[\]]*\]{_ADDRESS}"
_STARS = r"\*+(?=[^\W_]|[`\[(\"“‘<\\-]|[^\x00-\x7f])|(?<=[\w`\])\"”’.!?,:;…>])\*+|(?<=[^\x00-\x7f])\*+"
_INLINE_MARK = re.compile(
    r"(?P<text>[^\\`*_\[\]<:!~$]+)"  # keep text, in one piece: no other alternative is tried within it
    r"|(?P<mark>`+)(?!`)(?P<code>.+?)(?<!`)(?P=mark)(?!`)"
    r"|(\$\$?(?!\s)[^$\n]+(?<!\s)\$)(?!\w)"  # keep math
    r"|:[a-z][\w:-]*:(?=`)"  # drop the roles of reStructuredText
    rf"|!\[([^\[\]]*)\]{_ADDRESS}|\[\^[^\[\]]*\]:?"  # keep the text of images, drop footnote marks
    rf"|\[(?=!\[|[^\[\]]*\]{_ADDRESS})|\]{_ADDRESS}"  # keep the text of links
    r"|<(https?://[^<>\s]+|[^<>\s@/]+@[^<>\s]+)>|<!--.*?-->|</?[a-zA-Z][^<>]*>"
    r"|\\(?=\n|$)|\\([!-/:-@\[-`{-~])|~~|" + _STARS + r"|(?<![^\W_])_+(?=\w)|(?<=\w)_+(?![^\W_])",
    re.DOTALL,
)
_LEADING_IMAGES = re.compile(rf"(?:[\s\\]*(?:{_IMAGE}|\[\s*{_IMAGE}\s*\]{_ADDRESS}))+")
_SPAN = re.compile(
    r"(?=[`!\[<])(?:(`+)(?!`).+?(?<!`)\1(?!`)|!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]" + _ADDRESS + r"|<[a-zA-Z/!][^<>]*>)",
    re.DOTALL,
)
_BOLD = re.compile(r"\*\*[^*]+\*\*:?")
_RUN_IN = re.compile(r"\A\*\*((?:[\w-]+ )+[\w-]+)\*\*\s+(?=[A-Z])")  # a title at the beginning of a paragraph

# Text that is not about the section

_DATE = (
    r"(?:\w{3,9}\.?,?\ )?(?:\d{1,2}(?:st|nd|rd|th|\.)?\ \w{3,9}\.?,?\ (?:19|20)\d\d"
    r"|\w{3,9}\.?\ \d{1,2}(?:st|nd|rd|th)?,?\ (?:19|20)\d\d|(?:19|20)\d\d[-/.]\d{1,2}[-/.]\d{1,2}"
    r"|\d{1,2}[/.]\d{1,2}[/.](?:19|20)?\d\d|(?:19|20)\d\d年\d{1,2}月\d{1,2}日)"
)
_VERSION = r"""(?:new|added|changed|deprecated|removed|introduced|modified|updated|available)
    \s(?:in|since|as\sof|from)\s(?:[a-z]+\s)?v?\d[\w.+-]*"""
_VERSION_NOTE = re.compile(rf"\A{_VERSION}\s*[:,]\s*\S+\s\S+\s\S.*", re.VERBOSE | re.IGNORECASE)
_ROOT_CLASS = re.compile(r"java\.lang\.Object|builtins\.object")  # of a list of inherited classes
_DOTTED = re.compile(r"\w+(?:\.\w+)+")
_NESTED_MARKERS = re.compile(r"\A(?:[-*+] )+")
_NOISE = re.compile(
    rf"""
    bases:\s | declaration:\ package:\s
    # versions
    | {_VERSION}(?:\s*[:,]|\W*$) | v\d[\w.+-]*\W*$
    | (?:minimum\ |required\ )?(?:version|since)(?:\ (?:added|changed))?:?\ v?\d[\w.+-]*(?:\W*$|\ [^.!?]*$)
    # dates and authors
    | (?:(?:first\ |last\ )?(?:published|posted|updated|modified|reviewed|released|created|date)[:\ ]+(?:on\ )?)?
        {_DATE}\W*(?:$|[^.!?]{{0,60}}$)
    | (?:last\ )?updated?:?\ (?:on\ )?{_DATE}
    | (?:written\ )?by:?\ (?-i:[A-Z])[\w.'-]*(?:[ ,&]+(?-i:[A-Z])[\w.'-]*){{,6}}$
    | authors?:\s[^.]*$ | (?:copyright\ |\(c\)\ |©\ ?)+\d{{4}}.* | \d+\ min(?:utes?)?\ read\b
    # navigation
    | (?:on\ this\ page|in\ this\ (?:page|section|article)|edit\ (?:this\ page|on\ \w+)|back\ to\ (?:the\ )?top|contents
        |table\ of\ contents|skip\ to\ [\w ]{{1,30}}|copy\ (?:page|as\ markdown|link)|view\ (?:source|on\ github)
        |(?:view\ |full\ )?source(?:\ code)?(?:\ in\ .*)?|(?:previous|next)(?:\ (?:page|topic))?(?::.{{0,80}})?
        |(?:open|run|view)\ (?:this\ \w+\ )?(?:in|on)\ .{{1,40}}|was\ this\ (?:page|article)\ helpful.*
        |(?:improve|report)\ .{{0,20}}(?:page|issue)|suggest\ (?:an\ )?edits?|loading|none|tbd|todo|coming\ soon
        |let['’]s\ (?:get\ started|begin|start|go))\W*$
    | (?=[^.!?:,›»→/>]{{2,41}}+[›»→/>])[^.!?:,›»→/>]{{1,40}}(?:\ [›»→/>]\ [^.!?:,›»→/>]{{1,40}})+$
    # facts, also in a row
    | (?>(?:[^.!?:|·•]{{1,30}}+:(?:\ [^\s|·•]+){{1,3}}\ [|·•]\ )*)[^.!?:]{{1,30}}+:(?:\ \S+){{1,3}}(?<![.!?…])$
    | (?:https?://\S+(?:\s+|$))+$
    # text that waits for another, and the program that made the page
    | lorem\ ipsum\b
    | (?:generated|built|created|made|powered)\ (?:by|with|using)\ .{{1,40}}$
    # code that its page shows as text
    | `{{3}} | \w+\ \w+=["'] | (?-i:title|description):\ | (?:[\w./-]+:\ (?:[\w./\#"'-]+\ )?){{3}}
    """,
    re.VERBOSE | re.IGNORECASE,
)
_DATED = re.compile(_DATE, re.VERBOSE | re.IGNORECASE)
_CALLOUT = re.compile(r"\[![A-Za-z]+\][+-]?[ \t]*")
_ATTRIBUTION = re.compile(r"\s*(?:[–—]|--)\s*\S")
_CONDITION = re.compile(r"(?:if|when|given|suppose|imagine|consider)\b[^,]*$", re.IGNORECASE)
_CONTINUATION = re.compile(r"[(（]|(?:(?i:and|or|but)|so|then|which|where)\b")  # of a sentence above code
_SUPPOSE = "consider|imagine|suppose|assume"
_ASIDE = re.compile(rf"(?:{_SUPPOSE}|(?:now )?let['’]?s (?:now )?(?:{_SUPPOSE}|say|(?:take a )?look))\b", re.IGNORECASE)
_PURPOSE = re.compile(
    r"(?:(?P<in>in )?this (?:page|document|guide|section|chapter|tutorial|article|post|example|notebook|lesson)\b"
    r"(?(in),? (?:we|you|I)\b)(?! (?:is (?!about|for)|was|has|requires|assumes))|(?:here|today),? (?:we|you|I)\b)"
    r"(?!.*\b(?:them|these|those|ones)\b)",  # which are in the sentence before
    re.IGNORECASE,
)
_LABELLED_NOTE = re.compile(
    r"(?:note|warning|caution|important|attention|experimental|tip|requires)\b[: ]", re.IGNORECASE
)
_POINTING = re.compile(
    r"\b(?:follow(?:s|ing)(?: \w+){0,3}|(?:like|as|with|by|is|are|be|to|using|run|use|do|below)(?: this| these)?)\W*$",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"(?:please )?(?:also )?(?:see|refer to|consult|check out|(?:read|learn|find out) more"
    r"|for (?:more|further|additional|full|complete|detailed|the full)\b|more (?:information|details|info)"
    r"|(?:for|to) [^,.]{1,80}, (?:please )?(?:also )?(?:see|refer to|read|visit|check)"
    r"|continue (?:reading|to|with)|head over)\b",
    re.IGNORECASE,
)


def _is_label(item: str, below: Sequence[str]) -> bool:
    """Return whether a list item is a link, the title of what is below it, or a class that one inherits from."""
    item = _NESTED_MARKERS.sub("", item)
    links = (_LINK_ITEM.match(_NESTED_MARKERS.sub("", line.strip())) for line in below)
    is_title = bool(below) and (_BOLD.fullmatch(item) is not None or all(links))
    return is_title or _LINK_ITEM.match(item) is not None or _DOTTED.fullmatch(item) is not None


def _is_noise(text: str) -> bool:
    return _NOISE.match(text) is not None
