"""Everything that reads the text of visitors, pages and models takes linear time, whatever the text is."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from mkdocs_roaming.answer.citations import AnswerText
from mkdocs_roaming.answer.commands import find_foreign, find_targets, read_keys
from mkdocs_roaming.answer.conversation import Conversation
from mkdocs_roaming.answer.judge import find_flaw, judge_state, read_calls
from mkdocs_roaming.answer.judge import find_statements as find_answer_statements
from mkdocs_roaming.answer.links import (
    find_addresses,
    is_on_site,
    normalize_address,
    remove_links,
)
from mkdocs_roaming.answer.support.check import check_support
from mkdocs_roaming.answer.support.passages import CitedSection, find_passages
from mkdocs_roaming.embeddings.sections import split_windows
from mkdocs_roaming.html.final_page import reconcile_article
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.snippets import cut_best_part
from mkdocs_roaming.library.targets import PackageInfo, library_from_markdown
from mkdocs_roaming.search.ranking import parse_query
from mkdocs_roaming.serve import log
from mkdocs_roaming.text.full_text import split_full_text
from mkdocs_roaming.text.injection import explains_injection, find_instructions, find_invisible, scan_markdown
from mkdocs_roaming.text.llms_index import LlmsIndex
from mkdocs_roaming.text.markdown import remove_invisible, shorten, to_single_line
from mkdocs_roaming.text.openings import make_opening
from mkdocs_roaming.text.tokenizer import extract_terms
from roaming_crawler.variants import match_version
from roaming_deps.project import PackageDocs
from roaming_deps.view import find_packages

pytestmark = pytest.mark.slow

SIZE = 32_768
MAX_RATIO = 3.0
ATTEMPTS = 5
"""Twice the size may take twice the time, and some noise; a quadratic function takes four times as long."""
FLOOR_SECONDS = 0.02

Generator = Callable[[int], str]


def repeat(piece: str, before: str = "", after: str = "") -> Generator:
    """Return a generator of texts of any size that repeat a piece."""
    return lambda size: before + piece * (size // len(piece)) + after


def nest(opening: str, middle: str, closing: str) -> Generator:
    """Return a generator of texts of any size with nested brackets."""

    def generate(size: int) -> str:
        depth = size // len(opening + closing)
        return opening * depth + middle + closing * depth

    return generate


def repeat_all(table: str, before: str = "", after: str = "") -> dict[str, Generator]:
    """Return a generator for each piece in a table of the file, by the piece."""
    return {piece: repeat(piece, before, after) for piece in PIECES[table]}


def repeat_named(table: str) -> dict[str, Generator]:
    """Return the generators of a table whose pieces have names, and texts before and after them."""
    return {name: repeat(*texts) for name, texts in PIECES[table].items()}


def count(piece: str) -> Generator:
    """Return a generator of texts of any size that repeat a piece with other words."""

    def generate(size: int) -> str:
        pieces = (piece.replace("X", f"{number:x}".translate(DIGITS)) for number in range(size // len(piece)))
        return "".join(pieces)[:size]

    return generate


PIECES = json.loads((Path(__file__).parents[1] / "golden/linear-time.json").read_text("utf-8"))
DIGITS = str.maketrans("0123456789", "ghijklmnop")
WORDS = repeat_all("words")
SIGNS = repeat_all("signs")
CODE = (
    repeat_all("code", "```\n", "\n```")
    | repeat_named("code_named")
    | {
        "backticks of any number": lambda size: " ".join("`" * length for length in range(1, int((2 * size) ** 0.5))),
    }
)
LINKS = (
    repeat_all("links", "[x](y) ", " [x](y)")
    | repeat_named("links_named")
    | {
        "nested links": nest("[", "a", "](x)"),
        "nested images": nest("![", "a", "](x)"),
        "links that appear when tags are removed": nest("[a", "", "<b x>](y)"),
    }
)
SECRETS = repeat_all("secrets")
INSTRUCTIONS = repeat_all("instructions")
STATEMENTS = repeat_all("statements") | {piece: count(piece) for piece in PIECES["statements_counted"]}
TABLES = repeat_named("tables_named")
OPENINGS = repeat_all("openings")
VERSIONS = repeat_all("versions", "3")
PACKAGES = [PackageDocs(PackageInfo("ebb", "1.0"), "ebb", "python", True, "place", imports=("ebb",))]
SECTION = "h\n\n`f(a=1)` `acme_<NAME>_token` The first X runs before X starts, `uv a`. "


LLMS = repeat_all("llms") | {"nested brackets": nest("- [", "a", "]")}


def check(answer: str) -> None:
    sections = {"07f3277d": SECTION + answer[: len(answer) // 4].replace("a_", "b_")}
    check_support(answer, sections, question="a token for acme")


def check_code(answer: str) -> None:
    section = f"{SECTION}\n```python\n{answer[: len(answer) // 4]}"
    check_support(f"```python\n{answer}", {"07f3277d": section})


def redact(text: str) -> None:
    for pattern, replacement in log.SECRET_PATTERNS:
        pattern.sub(replacement, text)


CALLS = repeat_all("calls")
ANSWERS = repeat_all("answers") | {
    "code with blank lines": repeat("x = 1\n\n", "```\n"),
    "nested citations": nest("[^aaaa", "", "aaaa]"),
}


def judge(text: str) -> None:
    found = list(find_answer_statements(f"Yes.[^aaaaaaaa] {text} is not documented.[^none]"))
    judge_state(f"{text};{text}x", found, "en")


def cut(text: str) -> None:
    cut_best_part(f"# A\n\n{text}\n\nA port.\n", parse_query("which port", "en"), "en", 2_000)


def read_answer(text: str) -> None:
    """Release an answer that arrives in pieces."""
    answer = AnswerText(Conversation(Navigator(library_from_markdown("# Page\n\nText."))))
    for start in range(0, len(text), 256):
        list(answer.feed(text[start : start + 256]))
    list(answer.end())


READERS: Mapping[str, tuple[Callable[[str], object], Sequence[Mapping[str, Generator]]]] = {
    "remove_links": (lambda text: remove_links(text, lambda _: False), (LINKS, SIGNS, WORDS)),
    "find_targets": (lambda text: list(find_targets(text)), (CODE, LINKS)),
    "find_targets in a block": (lambda text: list(find_targets(f"```\n{text}\n```")), (LINKS, SIGNS, WORDS)),
    "find_foreign": (lambda text: find_foreign(text, [f"See {text}"]), (CODE, WORDS)),
    "read_keys": (read_keys, (SIGNS, WORDS)),
    "find_addresses": (find_addresses, (CODE, LINKS, SIGNS, WORDS)),
    "AnswerText": (read_answer, (ANSWERS, CODE)),
    "remove_invisible": (remove_invisible, (WORDS, {"joiners": repeat("\u200d"), "controls": repeat("\u202e\ufe0f")})),
    "redact": (redact, (SECRETS, WORDS, SIGNS)),
    "strip_passwords": (log.strip_passwords, (SECRETS, WORDS)),
    "check_support": (check, (STATEMENTS,)),
    "check_support of code": (check_code, (STATEMENTS,)),
    "find_passages": (lambda text: find_passages(text, {"07f3277d": CitedSection(text, text)}), (STATEMENTS,)),
    "find_instructions": (
        lambda text: (find_instructions(text), explains_injection(text)),
        (INSTRUCTIONS, WORDS, SIGNS),
    ),
    "scan_markdown": (scan_markdown, (INSTRUCTIONS,)),
    "find_invisible": (lambda text: list(find_invisible(text)), (INSTRUCTIONS,)),
    "cut_best_part": (cut, (TABLES, STATEMENTS, LINKS)),
    "find_flaw": (lambda text: find_flaw(text, [text]), (SIGNS, WORDS, ANSWERS)),
    "read_calls": (read_calls, (CALLS, SIGNS)),
    "judge_state": (judge, (SIGNS, WORDS)),
    "find_statements of a paragraph": (lambda text: list(find_answer_statements(text)), (ANSWERS, SIGNS)),
    "normalize_address": (normalize_address, (SIGNS, WORDS)),
    "extract_terms": (extract_terms, (SIGNS, WORDS)),
    "make_opening": (lambda text: shorten(to_single_line(make_opening(text)), 200), (OPENINGS, SIGNS)),
    "split_windows": (lambda text: split_windows(("Guide",), text), (LINKS,)),
    "reconcile_article": (lambda text: reconcile_article(text, f"<main>{text}</main>"), (WORDS,)),
    "parse_llms_txt": (lambda text: LlmsIndex.from_text(text, "", str), (LLMS, SIGNS)),
    "split_full_text": (lambda text: split_full_text(text, str), (LLMS, SIGNS)),
    "match_version": (lambda text: match_version(text, "3.1.4"), (VERSIONS,)),
    "find_packages": (lambda text: find_packages(text, PACKAGES), (CODE, WORDS)),
    "is_on_site": (lambda text: is_on_site(text, "https://docs.example/a/"), (SIGNS, WORDS)),
}
"""Functions by name, each with the texts that could take it long."""


def seconds(read: Callable[[str], object], text: str, runs: int = 1) -> float:
    """Return the shortest time of the process for some runs: other processes do not count."""

    def run() -> float:
        began = time.process_time()
        read(text)
        return time.process_time() - began

    return min(run() for _ in range(runs))


CASES = [(name, text) for name, (_, tables) in READERS.items() for table in tables for text in table]


@pytest.mark.parametrize(("name", "text"), CASES)
def test_twice_the_text_takes_twice_the_time(name: str, text: str) -> None:
    read, tables = READERS[name]
    generate = next(table[text] for table in tables if text in table)
    if (whole := seconds(read, generate(2 * SIZE))) < FLOOR_SECONDS:
        return
    ratio = whole / seconds(read, generate(SIZE))
    attempts, runs = (ATTEMPTS, 3) if whole < 2 else (2, 1)
    for _ in range(attempts):
        if ratio > MAX_RATIO:  # perhaps a disturbance; in quadratic time the ratio is 4 each time
            ratio = seconds(read, generate(2 * SIZE), runs) / seconds(read, generate(SIZE), runs)
    assert ratio < MAX_RATIO
