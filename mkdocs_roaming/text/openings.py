"""Openings of sections: the first sentence of prose in a section's Markdown.

An opening says what a section is about, on a line of the outline, in llms.txt and in search results. Text that serves
another purpose is skipped: code, badges, labels, signatures, notes about versions, navigation. A section without prose
is described by the names in its list or table, and a section without text by nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from enum import IntEnum, auto
from html import unescape
from string import punctuation

from msgspec.structs import replace

from mkdocs_roaming.text.blocks import FENCE, Block, parse_blocks
from mkdocs_roaming.text.markdown import ends_sentence, first_sentence, iter_sentences, shorten, to_single_line

_MAX_READ_CHARS = 6_000
_MAX_BLOCK_CHARS = 2_000
_MIN_LEAD_WORDS = 5  # of a lead-in that says something without what it introduces
_MIN_PROSE_WORDS = 4  # of a line that is prose although no sentence ends in it
_MIN_SENTENCE_WORDS = 3  # of a sentence that needs no second one
_MAX_LABEL_WORDS = 3
_PURPOSE_BLOCKS = 5  # at the beginning of a page
_MIN_PURPOSE_WORDS = 7
_MAX_NAMES_PER_WORD = 4  # words in links and code for each other word, above which a line is no prose
_OPENING_CHARS = 200


def make_opening(
    markdown: str, *, limit: int = _OPENING_CHARS, subsections: int | None = None, skipped: Set[str] = frozenset()
) -> str:
    """Return the opening of a section on a single line; empty if no text says what the section is about.

    Args:
        markdown: The section's Markdown, below its heading.
        limit: Maximum number of characters.
        subsections: Their number if the section is a page's own: lead-ins to code say little about a page, and its
            subsections say more than its admonitions and tables.
        skipped: Openings that are not returned.
    """
    blocks = list(_iter_read(parse_blocks(markdown[:_MAX_READ_CHARS]).blocks))
    if subsections:  # callouts, epigraphs and tables say less than the titles of subsections
        blocks = [block for block in blocks if block.kind not in ("quote", "table")]
    candidates = _iter_candidates(blocks) if subsections is None else _iter_page_candidates(blocks)
    best_rank = _Rank.NONE
    best = ""
    for rank, text in candidates:
        if rank >= best_rank:
            continue
        opening = shorten(to_single_line(text.translate(_UNMASK)), limit)
        if opening and opening not in skipped:
            best_rank = rank
            best = opening
        if best_rank is _Rank.PROSE:
            break
    return best


def leads_elsewhere(opening: str) -> bool:
    """Return whether an opening only refers to another page."""
    return _REFERENCE.match(opening) is not None


def find_sentences(description: str, title: str = "") -> list[str]:
    """Return the sentences of a description without markup; none if it is no prose, such as a directive.

    A word describes nothing, nor one beside a title or the variables of a template. Sentences that say nothing about a
    page are left out: dates, notes about versions, and what ends in mid-thought.
    """
    description = description[:_MAX_BLOCK_CHARS]
    own = _TEMPLATE_VARIABLE.sub("", description.replace(title, ""))
    words = max(len(own.split()), _count_words(own))  # some languages have no spaces
    if words <= 1 and not ends_sentence(description):
        return []
    if _NO_PROSE.match(description) or FENCE.match(description):
        return []
    text = _plain(description) if _WRITTEN_MARKUP.search(description) else description
    sentences = iter_sentences(to_single_line(text.translate(_UNMASK)))
    return [sentence for sentence in sentences if not (_NOISE.match(sentence) or _UNFINISHED.search(sentence))]


_TEMPLATE_VARIABLE = re.compile(r"\{[^{}]*\}|<[^<>]*>")
"""A variable of a template: `{site}`, `<project>`."""
_WRITTEN_MARKUP = re.compile(r"\]\(|`|\*\*|</?[a-z][^<>]*>")
"""A sign of Markdown or HTML in a description."""
_UNFINISHED = re.compile(r"(?:[,;:：(–—…-]|\.\.\.|\s(?:an?|the|of|to|and|or|with|for|from|in|on|at|by|is|are))$")
"""The end of a sentence that ends in mid-thought: `Install it with:`, `A tool for`."""


# Blocks

_DIRECTIVE = (
    r"(?:!!!|\?\?\?|===[ \t]|\.\. |:::|\{[%:#*!{]|\[TOC\]|--8<--|\[[^\]\n]+\]:|import[ \t].*[\"'];?$|export[ \t])"
)
_NO_PROSE = re.compile(
    rf"(?:\|[\s\S]*|{_DIRECTIVE}[^\n]*|[ \t]*(?:</?[a-zA-Z][^<>\n]*>[ \t]*)+)(?:\n(?: {{4}}|\t)[^\n]*)*(?:\n|\Z)",
    re.MULTILINE,
)
"""A line that is no prose, with indented ones below: a directive, the definition of a footnote, MDX, tags alone."""


def _iter_read(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks that say or separate something, paragraphs without lines of directives."""
    for block in blocks:
        if block.kind == "paragraph":
            text = block.text[:_MAX_BLOCK_CHARS]
            while skipped := _NO_PROSE.match(text):
                text = text[skipped.end() :]
            if text:
                yield replace(block, text=text)
        elif block.kind not in ("heading", "rule", "html"):
            yield block


# Candidates


class _Rank(IntEnum):
    """What an opening is made from, the best first."""

    PROSE = auto()
    LIST = auto()  # of links or terms
    ADMONITION = auto()
    LEAD = auto()  # of a page, such as “Install it with:”
    PHRASE = auto()  # a few words without the end of a sentence
    TABLE = auto()
    REFERENCE = auto()  # a sentence that only leads elsewhere
    NONE = auto()


_Candidates = Iterator[tuple[_Rank, str]]


def _iter_page_candidates(blocks: Sequence[Block]) -> _Candidates:
    """Yield the sentence that says what a page is for, which often follows one that sets the scene, and the others."""
    for block in blocks[:_PURPOSE_BLOCKS]:
        if block.kind != "paragraph":
            continue
        for sentence in iter_sentences(_plain(block.text)):
            if _PURPOSE.match(sentence) and sentence[-1] in ".!" and _count_words(sentence) >= _MIN_PURPOSE_WORDS:
                yield _Rank.PROSE, sentence
    yield from _iter_candidates(blocks, is_page=True)


def _iter_candidates(blocks: Iterable[Block], *, is_page: bool = False) -> _Candidates:
    """Yield what may be the opening of a section, in its order."""
    lead = ""  # a text that introduces the next block
    for block in blocks:
        if block.kind in ("list", "table"):
            yield _rank_names(block, lead, is_page=is_page)
            lead = ""
            continue
        yield _rank_lead(lead, is_page=is_page)
        text = _plain(block.text) if block.kind == "paragraph" else ""
        is_lead = text.endswith((":", "：", "...")) and first_sentence(text) == text and not _NOISE.match(text)
        lead = text if is_lead else ""
        if block.kind == "quote":
            yield from _iter_quoted(block)
        elif text and not is_lead:
            yield _rank_text(block.text, text)
    yield _rank_lead(lead, is_page=is_page)


def _rank_text(raw: str, text: str) -> tuple[_Rank, str]:
    words = _count_words(text)
    if _NOISE.match(text):
        return _Rank.NONE, ""
    if _count_words(_SPAN.sub(" ", raw)) <= words // _MAX_NAMES_PER_WORD:  # only links and code
        return _Rank.REFERENCE, text if words >= _MIN_PROSE_WORDS and ends_sentence(text) else ""
    if words < _MIN_PROSE_WORDS and not ends_sentence(text):
        return _Rank.PHRASE, "" if _BOLD.fullmatch(raw.strip()) else text  # the label of a tab or of a file
    opening = ""
    for sentence in iter_sentences(text):
        if _count_words(opening) >= _MIN_SENTENCE_WORDS and not opening.endswith(("!", "?")):
            break
        if not _NOISE.match(sentence):
            opening = f"{opening} {sentence}".lstrip()
    if leads_elsewhere(opening):
        return _Rank.REFERENCE, opening
    is_short = _count_words(opening) < _MIN_SENTENCE_WORDS
    return _Rank.PHRASE if is_short or _CONTINUATION.match(opening) else _Rank.PROSE, opening


def _rank_lead(lead: str, *, is_page: bool) -> tuple[_Rank, str]:
    """Return a lead-in to a block that is not shown. On a page it is prose if it does not point to the block."""
    if _count_words(lead) < _MIN_LEAD_WORDS:
        return _Rank.NONE, ""
    if not is_page:
        return _Rank.PROSE, lead
    if _POINTING.search(lead):
        return _Rank.LEAD, lead
    return _Rank.PROSE, lead.rstrip(":：.") + ("。" if lead.endswith("：") else ".")


def _iter_quoted(quote: Block) -> _Candidates:
    is_callout = any(_CALLOUT.match(block.text) for block in quote.children[:1])
    blocks = [replace(block, text=_CALLOUT.sub("", block.text, count=1)) for block in _iter_read(quote.children)]
    for rank, text in _iter_candidates(block for block in blocks if block.kind != "quote"):
        if "llms.txt" not in text:
            yield max(rank, _Rank.ADMONITION if is_callout else _Rank.PROSE), text


# Names in lists and tables


def _rank_names(block: Block, lead: str, *, is_page: bool) -> tuple[_Rank, str]:
    items: list[tuple[str, Sequence[Block]]]
    rank = _Rank.TABLE
    if block.kind == "table":
        cells = [row.text.partition("\n")[0].strip() for row in block.children[1:]]
        items = [(cell, ()) for cell in cells if "`" in cell or _count_words(cell)]
    else:
        items = [(_read_item(item), item.children[1:]) for item in block.children if item.children]
        if not items:
            return _Rank.NONE, ""
        has_labels = all(_LINK_ITEM.match(text) or (below and _BOLD.fullmatch(text)) for text, below in items)
        if has_labels and (is_page or any(below.kind == "fence" for below in items[0][1][:1])):  # of pages, or of code
            return _rank_lead(lead, is_page=is_page)
        if _DATED.fullmatch(items[0][0]):  # facts about a post
            return _Rank.NONE, ""
        rank = _Rank.LIST if lead or has_labels else _Rank.PROSE
    if _count_words(lead) > _MAX_LABEL_WORDS:
        rank = _Rank.PROSE
    names = [_find_name(text) for text, _ in items]
    has_repeated = len(set(names)) < len(names)
    if has_repeated or (len(names) == 1 and not lead):
        beginnings = ("\n".join((text, *(block.text for block in below[:1]))) for text, below in items)
        names = [first_sentence(_plain(beginning)) for beginning in beginnings]
    if len(names) > 1:
        names = list(dict.fromkeys(name.rstrip(".。:;, ") for name in names))
    needs_semicolon = any("," in name or ends_sentence(name) for name in names)
    return rank, f"{lead} {('; ' if needs_semicolon else ', ').join(names)}".strip()


def _read_item(item: Block) -> str:
    """Return the first text of an item, which may be in a list of its own."""
    block = item
    while block.children:
        block = block.children[0]
    return _TASK_BOX.sub("", block.text[:_MAX_BLOCK_CHARS])


def _find_name(item: str) -> str:
    """Return the name at the beginning of an item, or else its first sentence."""
    named = _NAMED.match(item)
    name = _plain(named[1]).rstrip(":： ") if named else ""
    if _START in name or _count_words(name):
        return name
    sentence = first_sentence(_plain(item))
    head = _SEPARATOR.split(sentence)[0]
    is_name = len(head) <= _MAX_NAME_CHARS and "#" not in head and "(" not in head
    return head if is_name else sentence


_MAX_NAME_CHARS = 50
_NAMED = re.compile(
    r"(\*\*(?:[^*\n]++|\*(?!\*))+\*\*|`+[^`\n]+`+|!?\[(?:[^\[\]\n`]++|`[^`\n]*`)+\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\))"
    r"(?=\s*(?:$|[:：–—(\n]|-\s|\\$))",
    re.MULTILINE,
)
"""An item that begins with its name, in bold, as code or as a link: `**Name**: text`."""
_LINK_ITEM = re.compile(r"\s*(?:[-*+] )*(?:\[[^\[\]]*\]\(\S*\)|\w+(?:\.\w+)+)\s*$")
"""An item that is only a link, or the name of a class."""
_SEPARATOR = re.compile(r":\s|\s[–—-]\s")
"""What separates a name from its description."""
_TASK_BOX = re.compile(r"\A\[[ xX]\] ")
"""The box of a task: `[x] `."""


# Text


def _plain(inline: str) -> str:
    """Return the text of inline Markdown on one line, with the punctuation of code masked."""
    inline = _LEADING_IMAGES.sub("", inline)
    if _MARKUP.search(inline):
        inline = _CODE.sub(lambda code: _START + code[2].translate(_MASK), inline)
        inline = unescape(_INLINE_MARK.sub(r"\1\2\3\4\5", inline))
    return " ".join(inline.split()).lstrip(" –—-:·•|>,;")


def _count_words(text: str) -> int:
    """Count the first words, which begin with a letter; two ideographs, kana or syllables count as one."""
    text = text[:_MAX_COUNTED_CHARS]
    return len(_WORD.findall(text)) + len(_IDEOGRAPH.findall(text)) // 2


# The punctuation of code does not end sentences, and its first letter starts them whatever its case.
# Characters for private use stand for it.
_START = "\ue000"
_MASK = {ord(mark): ord(_START) + ord(mark) for mark in punctuation}
_UNMASK = {mask: mark for mark, mask in _MASK.items()} | {ord(_START): None}

# Inline Markdown is read by patterns: openings look at a few lines of each section of each build, of which a parser
# would tell neither where code was nor what was a mark.

_MAX_COUNTED_CHARS = 200
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MARKUP = re.compile(r"[`\\*_\[\]<>&!~$]")
"""What may be Markdown in a line; one without it stays as it is."""
_ADDRESS = r"(?:\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)|\[[^\[\]]*\])"
_IMAGE = rf"!\[[^\[\]]*\]{_ADDRESS}"
_STARS = r"\*+(?=[^\W_]|[`\[(\"“‘<\\-]|[^\x00-\x7f])|(?<=[\w`\])\"”’.!?,:;…>])\*+|(?<=[^\x00-\x7f])\*+"
_CODE = re.compile(r"(?<![`\\])(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
"""Inline code; the second group is the code."""
_INLINE_MARK = re.compile(
    r"([^\\*_\[\]<:!~$]+)"  # keep text, in one piece: no other alternative is tried within it
    r"|(\$\$?(?!\s)[^$\n]+(?<!\s)\$)(?!\w)"  # keep math
    rf"|:[a-z][\w:-]*:(?={_START})"  # drop the roles of reStructuredText
    rf"|!\[([^\[\]]*)\]{_ADDRESS}|\[\^[^\[\]]*\]:?"  # keep the text of images, drop footnote marks
    rf"|\[(?=!\[|[^\[\]]*\]{_ADDRESS})|\]{_ADDRESS}"  # keep the text of links
    r"|<(https?://[^<>\s]+|[^<>\s@/]+@[^<>\s]+)>|<!--.*?-->|</?[a-zA-Z][^<>]*>"
    r"|\\(?=\n|$)|\\([!-/:-@\[-`{-~])|~~|" + _STARS + r"|(?<![^\W_])_+(?=\w)|(?<=\w)_+(?![^\W_])",
    re.DOTALL,
)
"""A mark that is dropped, or text of which the groups are kept."""
_LEADING_IMAGES = re.compile(rf"\A(?:[\s\\]*(?:{_IMAGE}|\[\s*{_IMAGE}\s*\]{_ADDRESS}))+")
"""Images at the beginning, such as badges, also within links."""
_SPAN = re.compile(
    r"(?=[`!\[<])(?:(`+)(?!`).+?(?<!`)\1(?!`)|!?\[(?:[^\[\]]|\[[^\[\]]*\])*\]" + _ADDRESS + r"|<[a-zA-Z/!][^<>]*>)",
    re.DOTALL,
)
"""Inline code, a link or a tag: what names things."""
_BOLD = re.compile(r"\*\*[^*]+\*\*:?")
"""Text in bold, with a colon: a label."""

# Text that is not about the section

_DATE = (
    r"(?:\w{3,9}\.?,?\ )?(?:\d{1,2}(?:st|nd|rd|th|\.)?\ \w{3,9}\.?,?\ (?:19|20)\d\d"
    r"|\w{3,9}\.?\ \d{1,2}(?:st|nd|rd|th)?,?\ (?:19|20)\d\d|(?:19|20)\d\d[-/.]\d{1,2}[-/.]\d{1,2}"
    r"|\d{1,2}[/.]\d{1,2}[/.](?:19|20)?\d\d|(?:19|20)\d\d年\d{1,2}月\d{1,2}日)"
)
_VERSION = r"""(?:new|added|changed|deprecated|removed|introduced|modified|updated|available)
    \s(?:in|since|as\sof|from)\s(?:[a-z]+\s)?v?\d[\w.+-]*"""
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
"""Text that says nothing about its section."""
_DATED = re.compile(_DATE, re.VERBOSE | re.IGNORECASE)
"""A date: `3 May 2024`, `2024-05-03`."""
_CALLOUT = re.compile(r"\[![A-Za-z]+\][+-]?[ \t]*")
"""The label of a callout: `[!NOTE] `."""
_CONTINUATION = re.compile(r"[(（]|(?:(?i:and|or|but)|so|then|which|where)\b")
"""The beginning of text that continues a sentence above code."""
_PURPOSE = re.compile(
    r"(?:(?P<in>in )?this (?:page|document|guide|section|chapter|tutorial|article|post|example|notebook|lesson)\b"
    r"(?(in),? (?:we|you|I)\b)(?! (?:is (?!about|for)|was|has|requires|assumes))|(?:here|today),? (?:we|you|I)\b)"
    r"(?!.*\b(?:them|these|those|ones)\b)",  # which are in the sentence before
    re.IGNORECASE,
)
"""A sentence that says what a page is for: `This guide shows`, `Here we`."""
_POINTING = re.compile(
    r"\b(?:follow(?:s|ing)(?: \w+){0,3}|(?:like|as|with|by|is|are|be|to|using|run|use|do|below)(?: this| these)?)\W*$",
    re.IGNORECASE,
)
"""The end of a lead-in that points to the block below: `as follows`, `like this`."""
_REFERENCE = re.compile(
    r"(?:please )?(?:also )?(?:see|refer to|consult|check out|(?:read|learn|find out) more"
    r"|for (?:more|further|additional|full|complete|detailed|the full)\b|more (?:information|details|info)"
    r"|(?:for|to) [^,.]{1,80}, (?:please )?(?:also )?(?:see|refer to|read|visit|check)"
    r"|continue (?:reading|to|with)|head over)\b",
    re.IGNORECASE,
)
"""The beginning of a sentence that only leads elsewhere: `See also`, `For more information`."""
