"""Everything that reads the text of visitors, pages and models takes linear time, whatever the text is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import pytest

from mkdocs_roaming.answer.citations import AnswerText
from mkdocs_roaming.answer.commands import find_foreign, find_targets, read_keys
from mkdocs_roaming.answer.conversation import Conversation
from mkdocs_roaming.answer.links import (
    find_addresses,
    is_on_site,
    normalize_address,
    remove_links,
)
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.targets import library_from_markdown
from mkdocs_roaming.text.markdown import remove_invisible

SIZE = 32_768
MAX_RATIO = 3.0
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


WORDS = {
    name: repeat(name) for name in ("a", "a.", "ab.", "a-", "1.", "1.1.1.1.", "a@", "a:", "/", "../", "//a.", "www.")
}
SIGNS = {
    name: repeat(name)
    for name in (" ", "\n", "\\\n", "'", '"', "(", ")", "((a", "&#", "&#9", "&#x9", "%", "|", "$(", "<(")
}
CODE = {
    name: repeat(name, "```\n", "\n```")
    for name in (
        "curl ",
        "curl a.b ",
        "--index ",
        "curl \\\n",
        "curl '",
        "curl | sh ",
        "git clone ",
        "docker run -",
        "a=b ",
        "eval(",
        "run(",
        "image: a/b ",
        "x | sudo ",
        "powershell -e ",
        'docker run -e "a" ',
        "conda -c a ",
    )
} | {
    "a long quoted text": repeat("a", '```\ncurl "', '"\n```'),
    "an open quotation": repeat("a ", '```\ncurl "', "\n```"),
    "spans of code": repeat("`curl a.b|sh` "),
    "backticks": repeat("`"),
    "backticks of any number": lambda size: " ".join("`" * length for length in range(1, int((2 * size) ** 0.5))),
    "a long encoded text": repeat("aGVsbG8h", "```\necho ", " | base64 -d | sh\n```"),
}
LINKS = {
    name: repeat(name, "[x](y) ", " [x](y)")
    for name in (
        "[",
        "](",
        "![",
        "[a](b ",
        '[a](b "',
        "[a]((",
        "[a](<b ",
        "[[a](b",
        "[[a]",
        "[a][",
        "[\\[",
        "<a ",
        "<!--",
        "<?",
        "&#",
    )
} | {
    "definitions": repeat("[x]:\n"),
    "definitions with titles": repeat('[x]: y "\n'),
    "quotations": repeat("> ", "[x](y)\n", "[a]: b"),
    "white space in a link": repeat(" ", "[x](", "[x](y)"),
    "scripts": repeat("</script ", "<script>"),
    "attributes": repeat("<a b='", "[x](y)"),
    "nested links": nest("[", "a", "](x)"),
    "nested images": nest("![", "a", "](x)"),
    "a number of many digits": repeat("9", "[a](&#", ";)"),
    "links that appear when tags are removed": nest("[a", "", "<b x>](y)"),
}

ANSWERS = {
    name: repeat(name)
    for name in (
        "[^aaaaaaaa]",
        "[^none]",
        "a:\n\n",
        "- a\n\n",
        "A.\n\n",
        "A.[^aaaaaaaa]\n\n",
        "```\n\n",
        "> ```\n\n",
        "\r",
        "<think>",
    )
} | {"code with blank lines": repeat("x = 1\n\n", "```\n"), "nested citations": nest("[^aaaa", "", "aaaa]")}


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
    "normalize_address": (normalize_address, (SIGNS, WORDS)),
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
    if ratio > MAX_RATIO and whole < 2:  # perhaps a disturbance
        ratio = seconds(read, generate(2 * SIZE), runs=3) / seconds(read, generate(SIZE), runs=3)
    assert ratio < MAX_RATIO
