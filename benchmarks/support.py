"""Measure how many falsified sentences the support check marks, and how many true ones.

    python benchmarks/support.py SITE_DIR [SITE_DIR …] [--half tune|report|all] [--misses 5]

Sentences of a published site are falsified: a number or name is replaced, or a sentence taken from a section that is
not open. Others are changed without changing their meaning: verbatim, shortened, reordered, in another case. Each is
checked against its own section and others, and the marked sentences are counted by kind. A falsified number or name
counts as caught only if it is marked itself.

The benchmark shares no rules with the support check. `--half` selects sentences by a checksum.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from zlib import crc32

from mutations import Variant, make_variants

from mkdocs_roaming.answer.support.check import Mark, check_support
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.text.tokenizer import extract_terms

OPENED_CHARACTERS = 12_000
"""Total length of the opened sections."""


@dataclass(slots=True)
class Tally:
    """Sentences of one kind and the number of marked ones."""

    falsified: bool
    count: int = 0
    marked: int = 0
    failures: list[str] = field(default_factory=list)
    """Falsified sentences that were not caught, or true ones that were marked."""

    @property
    def share(self) -> float:
        return 100 * self.marked / self.count if self.count else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "sites", nargs="*", default=["sample_site/site"], help="Folders of published sites (default: sample_site/site)."
    )
    parser.add_argument(
        "--half", choices=("tune", "report", "all"), default="all", help="Sentences to use (default: all)."
    )
    parser.add_argument("--sections", type=int, default=250, help="Maximum number of sections per site (default: 250).")
    parser.add_argument("--misses", type=int, default=0, help="Number of failures to print for each kind (default: 0).")
    options = parser.parse_args()
    for site in options.sites:
        library = open_library(site)
        texts = {section.id: library.text(section) for section in library.sections}
        timing = measure_time(texts)
        tallies = measure_site(texts, half=options.half, max_sections=options.sections)
        print(f"\n{site}: {len(texts)} sections, {options.half} sentences")
        print_tables(tallies, options.misses)
        print(f"\n{timing}")


def measure_site(texts: dict[str, str], *, half: str = "all", max_sections: int = 250) -> dict[str, Tally]:
    """Return the tallies of each kind for the sections of a site, given as texts by id."""
    ids = sorted(id_ for id_ in texts if len(texts[id_]) > 80)
    rng = random.Random(20_261_121)
    tallies: dict[str, Tally] = {}
    for id_ in sorted(rng.sample(ids, min(max_sections, len(ids)))):
        opened = open_sections(id_, ids, texts, rng)
        elsewhere = rng.choice(ids)
        variants = [
            variant
            for sentence in split_sentences(texts[id_])
            if half == "all" or (crc32(sentence.encode()) % 2 == 0) == (half == "tune")
            for variant in make_variants(sentence, opened, rng)
        ]
        if elsewhere not in opened:
            known = " ".join(" ".join(opened.values()).split())
            variants += [
                Variant("sentence from elsewhere", other, falsified=True)
                for other in split_sentences(texts[elsewhere])
                if " ".join(other.split()) not in known
            ][:4]
        check_variants(variants, opened, tallies)
    return tallies


def check_variants(variants: Sequence[Variant], opened: dict[str, str], tallies: dict[str, Tally]) -> None:
    """Check the sentences against the opened sections, as paragraphs of one answer, and count the marks."""
    answer = "\n\n".join(variant.text for variant in variants)
    marks = check_support(answer, opened).unsupported
    offset = 0
    for variant in variants:
        start, end = offset, offset + utf16_length(variant.text)
        offset = end + 2
        own_marks = [mark for mark in marks if start <= mark.start < end]
        tally = tallies.setdefault(variant.kind, Tally(variant.falsified))
        tally.count += 1
        marked = any(is_expected_mark(mark, variant, start) for mark in own_marks)
        tally.marked += marked
        if marked != variant.falsified:
            found = ", ".join(f"{mark.kind} ({mark.start - start}–{mark.end - start})" for mark in own_marks)
            tally.failures.append(" ".join(variant.text.split()) + (f"  ← {found}" if found else ""))


def is_expected_mark(mark: Mark, variant: Variant, start: int) -> bool:
    """Return whether a mark denotes the falsified part of a sentence."""
    if variant.at is None:
        return True
    first, last = (start + utf16_length(variant.text[:at]) for at in variant.at)
    return mark.kind not in ("word", "sentence") and mark.start < last and mark.end > first


def utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def open_sections(id_: str, ids: Sequence[str], texts: dict[str, str], rng: random.Random) -> dict[str, str]:
    """Return a section with others: its neighbours, then random ones."""
    at = ids.index(id_)
    opened = {id_: texts[id_]}
    for other in [*ids[at + 1 : at + 3], *rng.sample(ids, min(len(ids), 60))]:
        if sum(map(len, opened.values())) > OPENED_CHARACTERS:
            break
        opened.setdefault(other, texts[other])
    return opened


def split_sentences(text: str) -> list[str]:
    """Return the sentences of paragraphs and list items with six words or more, without code and tables."""
    sentences: list[str] = []
    prose = re.sub(r"(?ms)^[ \t>]*(`{3,}|~{3,}).*?^[ \t>]*\1[`~]*", "", text)
    for block in re.split(r"\n[ \t]*\n|\n(?=[ \t]*[-*] )", prose):
        body = re.sub(r"^[ \t]*[-*] +", "", block.strip("\n"))
        if re.match(r"[ \t]*(#|\||>|!\[|<|\d+[.)]|    |\[\^|`{3}|~{3}|:)", body) or "\n#" in body or "$$" in body:
            continue
        sentences += filter(is_prose, re.split(r"(?<=[a-z`)][.!?]) +(?=[A-Z])", " ".join(body.split())))
    return sentences


def is_prose(sentence: str) -> bool:
    return (
        len(sentence.split()) >= 6 and sentence[0].isalpha() and sentence.count("`") % 2 == 0 and "http" not in sentence
    )


GROUPS = {
    "all numbers and names": ("number", "name"),
    "quoted or shortened": ("verbatim", "clause", "adjective", "parenthesis"),
    "rewritten": ("case", "punctuation", "contracted", "list"),
}


def print_tables(tallies: dict[str, Tally], misses: int) -> None:
    for falsified, title in ((True, "caught"), (False, "false marks")):
        print(f"\n| {'falsified' if falsified else 'not falsified'} | sentences | {title} |\n| --- | --: | --: |")
        selected = {kind: tally for kind, tally in sorted(tallies.items()) if tally.falsified == falsified}
        for kind, tally in selected.items():
            print(f"| {kind} | {tally.count} | {tally.share:.1f} % |")
        for name, prefixes in GROUPS.items():
            chosen = [tally for kind, tally in selected.items() if kind.startswith(prefixes)]
            if chosen:
                total = Tally(falsified, sum(tally.count for tally in chosen), sum(tally.marked for tally in chosen))
                print(f"| **{name}** | {total.count} | {total.share:.1f} % |")
    for kind, tally in tallies.items():
        if misses and tally.failures:
            print(f"\n{kind}: {len(tally.failures)} failures")
            print(*(f"  {text[:260]}" for text in tally.failures[:misses]), sep="\n")


def measure_time(texts: dict[str, str]) -> str:
    """Compare the check of 5,000 characters against 60,000 opened ones with the first tokenization of these."""
    opened, size = dict[str, str](), 0
    for id_, text in sorted(texts.items()):
        opened[id_] = text[: 60_000 - size]
        size += len(opened[id_])
        if size >= 60_000:
            break
    answer = "\n\n".join(sentence for text in opened.values() for sentence in split_sentences(text))[:5_000]
    tokenizing = measure_seconds(lambda: [extract_terms(text) for text in opened.values()])
    checking = measure_seconds(lambda: check_support(answer, opened))
    return f"{len(answer)} characters against {size}: {checking / tokenizing:.1f} times their tokenization ({checking:.2f} s)"


def measure_seconds(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


if __name__ == "__main__":
    main()
