"""Print the word shares of `text/data/en.toml`: how many sections of software documentation contain a word.

    python benchmarks/word_shares.py SITE_DIR [SITE_DIR …]

A share is the mean over the sites and over the docstrings and language reference of Python's standard library. Shares
are rounded to powers of two. Stems that fewer than half of the sources contain are left out: they are names of a site.
"""

from __future__ import annotations

import argparse
import ast
import sysconfig
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from math import log2
from pathlib import Path
from pydoc_data.topics import topics

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.search.index import strip_targets
from mkdocs_roaming.text.languages import load_words
from mkdocs_roaming.text.tokenizer import parse_words, stem

MIN_SHARE = 0.0065
MIN_CHARS = 150


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", nargs="+", help="Folders or URLs of published sites.")
    sources = [count_shares(read_docstrings()), count_shares(read_topics())]
    for site in parser.parse_args().sites:
        library = open_library(site)
        sources.append(count_shares(strip_targets(library.text(section)) for section in library.sections))
    means = Counter[str]()
    for source in sources:
        means.update({term: share / len(sources) for term, share in source.items()})
    stop_words = {stem(word) for word in load_words("en", "stop_words")}
    groups: dict[float, list[str]] = {}
    for term, share in sorted(means.items()):
        common = 2 * sum(term in source for source in sources) >= len(sources)
        if common and share >= MIN_SHARE and term.isascii() and term not in stop_words:
            groups.setdefault(2.0 ** round(log2(share)), []).append(term)
    for share, terms in sorted(groups.items(), reverse=True):
        print(f"\"{share:.4f}\" = '''\n" + textwrap.fill(" ".join(terms), 118) + "\n'''")


def count_shares(texts: Iterable[str]) -> dict[str, float]:
    """Return the share of texts that contain each stem."""
    counts, total = Counter[str](), 0
    for text in texts:
        total += 1
        counts.update({part for word in parse_words(text) for part in word.parts if part.isalpha()})
    return {term: count / total for term, count in counts.items()}


def read_docstrings() -> Iterator[str]:
    """Yield the docstrings of Python's standard library."""
    for file in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if {"site-packages", "test", "tests", "lib2to3", "idlelib"} & set(file.parts):
            continue
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text = ast.get_docstring(node) or ""
                if len(text) >= MIN_CHARS:
                    yield text


def read_topics() -> Iterator[str]:
    """Yield the paragraphs of Python's language reference."""
    return (text for topic in topics.values() for text in topic.split("\n\n") if len(text) >= MIN_CHARS)


if __name__ == "__main__":
    main()
