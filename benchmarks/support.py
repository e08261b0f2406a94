"""How many wrong sentences does support catch, and how often does it cry wolf?

    python benchmarks/support.py SITE_DIR [SITE_DIR …] [--half tune|report|all] [--misses 5]

Takes sentences of a published site, and falsifies them: a number or a name for another, a negation more or less, a word
for its opposite, a sentence of a section that is not open. Or leaves them true: word for word, shortened, reordered, in
another case. Each is held against the section it comes from and others opened beside it. Counts by kind what is marked.
A falsified sentence counts as caught only where the mark lies on what was falsified (numbers and names) or says that
the polarity is turned (negations and opposites).

Nothing here is taken from what it measures: sentences are cut, and words turned round, by rules and lists of its own.
Opposites are parted into `seen` and `held out` by a checksum: what was held out was never looked at while the marking
was written. `--half` parts the sentences in the same way.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from zlib import crc32

from mutations import Variant, of

from mkdocs_roaming.answer.support.check import Mark, check_support
from mkdocs_roaming.library.library import open_library
from mkdocs_roaming.text.tokenizer import extract_terms

OPEN = 12_000
"""The characters of text that stand open beside one another."""


@dataclass(slots=True)
class Tally:
    """What was marked of one kind."""

    wrong: bool
    count: int = 0
    marked: int = 0
    odd: list[str] = field(default_factory=list)
    """Wrong ones not caught, or true ones marked."""

    @property
    def share(self) -> float:
        return 100 * self.marked / self.count if self.count else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", nargs="*", default=["sample_site/site"], help="folders of published sites")
    parser.add_argument("--half", choices=("tune", "report", "all"), default="all")
    parser.add_argument("--sections", type=int, default=250, help="at most so many sections of a site")
    parser.add_argument("--misses", type=int, default=0, help="print so many of each kind")
    parser.add_argument("--held-out", action="store_true", help="print misses of held-out opposites too")
    options = parser.parse_args()
    for site in options.sites:
        library = open_library(site)
        texts = {place.id: library.text(place) for place in library.sections}
        took = cost(texts)
        tallies = measure(texts, half=options.half, most=options.sections)
        print(f"\n{site}: {len(texts)} sections, {options.half} sentences")
        show(tallies, options.misses, options.held_out)
        print(f"\n{took}")


def measure(texts: dict[str, str], *, half: str = "all", most: int = 250) -> dict[str, Tally]:
    """Falsify the sentences of sections, by their ids, and count what support marks."""
    ids = sorted(id_ for id_ in texts if len(texts[id_]) > 80)
    chance = random.Random(20_261_121)
    tallies: dict[str, Tally] = {}
    for id_ in sorted(chance.sample(ids, min(most, len(ids)))):
        opened = beside(id_, ids, texts, chance)
        elsewhere = chance.choice(ids)
        variants = [
            variant
            for sentence in sentences(texts[id_])
            if half == "all" or (crc32(sentence.encode()) % 2 == 0) == (half == "tune")
            for variant in of(sentence, opened, chance)
        ]
        if elsewhere not in opened:
            known = " ".join(" ".join(opened.values()).split())
            variants += [
                Variant("sentence from elsewhere", other, wrong=True)
                for other in sentences(texts[elsewhere])
                if " ".join(other.split()) not in known
            ][:4]
        judge(variants, opened, tallies)
    return tallies


def judge(variants: Sequence[Variant], opened: dict[str, str], tallies: dict[str, Tally]) -> None:
    """Hold sentences against the opened sections, all of them as paragraphs of one answer, and count."""
    answer = "\n\n".join(variant.text for variant in variants)
    marks = check_support(answer, opened).unsupported
    edge = 0
    for variant in variants:
        start, end = edge, edge + units(variant.text)
        edge = end + 2
        inside = [mark for mark in marks if start <= mark.start < end]
        tally = tallies.setdefault(variant.kind, Tally(variant.wrong))
        tally.count += 1
        caught = any(hits(mark, variant, start) for mark in inside)
        tally.marked += caught
        if caught != variant.wrong:
            told = ", ".join(f"{mark.kind} ({mark.start - start}–{mark.end - start}) {mark.instead}" for mark in inside)
            tally.odd.append(" ".join(variant.text.split()) + (f"  ← {told}" if told else ""))


def hits(mark: Mark, variant: Variant, start: int) -> bool:
    """Tell whether a mark says what is wrong with a sentence."""
    if variant.polarity:
        return mark.kind == "polarity"
    if variant.at is None:
        return True
    first, last = (start + units(variant.text[:at]) for at in variant.at)
    return mark.kind not in ("word", "sentence", "polarity") and mark.start < last and mark.end > first


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def beside(id_: str, ids: Sequence[str], texts: dict[str, str], chance: random.Random) -> dict[str, str]:
    """Open a section and others: its neighbours, then any."""
    at = ids.index(id_)
    opened = {id_: texts[id_]}
    for other in [*ids[at + 1 : at + 3], *chance.sample(ids, min(len(ids), 60))]:
        if sum(map(len, opened.values())) > OPEN:
            break
        opened.setdefault(other, texts[other])
    return opened


def sentences(text: str) -> list[str]:
    """Cut the prose of a section into sentences: paragraphs and items of six words or more, no code, no tables."""
    found: list[str] = []
    prose = re.sub(r"(?ms)^[ \t>]*(`{3,}|~{3,}).*?^[ \t>]*\1[`~]*", "", text)
    for block in re.split(r"\n[ \t]*\n|\n(?=[ \t]*[-*] )", prose):
        body = re.sub(r"^[ \t]*[-*] +", "", block.strip("\n"))
        if re.match(r"[ \t]*(#|\||>|!\[|<|\d+[.)]|    |\[\^|`{3}|~{3}|:)", body) or "\n#" in body or "$$" in body:
            continue
        found += filter(is_prose, re.split(r"(?<=[a-z`)][.!?]) +(?=[A-Z])", " ".join(body.split())))
    return found


def is_prose(sentence: str) -> bool:
    return (
        len(sentence.split()) >= 6 and sentence[0].isalpha() and sentence.count("`") % 2 == 0 and "http" not in sentence
    )


GROUPS = {
    "numbers and names": ("number", "name"),
    "negations and opposites": ("negation", "opposite", "with and"),
    "quoted or shortened": ("word for word", "clause", "adjective", "parenthesis"),
    "written otherwise": ("case", "punctuation", "contracted", "list"),
}


def show(tallies: dict[str, Tally], misses: int, held_out: bool) -> None:
    for wrong, title in ((True, "caught"), (False, "false alarms")):
        print(f"\n| {'falsified' if wrong else 'left true'} | sentences | {title} |\n| --- | --: | --: |")
        ours = {kind: tally for kind, tally in sorted(tallies.items()) if tally.wrong == wrong}
        for kind, tally in ours.items():
            print(f"| {kind} | {tally.count} | {tally.share:.1f} % |")
        for name, starts in GROUPS.items():
            chosen = [tally for kind, tally in ours.items() if kind.startswith(starts)]
            if chosen:
                total = Tally(wrong, sum(tally.count for tally in chosen), sum(tally.marked for tally in chosen))
                print(f"| **{name}** | {total.count} | {total.share:.1f} % |")
    for kind, tally in tallies.items():
        if misses and tally.odd and (held_out or "held out" not in kind):
            print(f"\n{kind}: {len(tally.odd)} odd")
            print(*(f"  {text[:260]}" for text in tally.odd[:misses]), sep="\n")


def cost(texts: dict[str, str]) -> str:
    """Time an answer of 5,000 characters against 60,000 that are open, and indexing those, both for the first time."""
    opened, size = dict[str, str](), 0
    for id_, text in sorted(texts.items()):
        opened[id_] = text[: 60_000 - size]
        size += len(opened[id_])
        if size >= 60_000:
            break
    answer = "\n\n".join(sentence for text in opened.values() for sentence in sentences(text))[:5_000]
    indexed = seconds(lambda: [extract_terms(text) for text in opened.values()])
    together = seconds(lambda: check_support(answer, opened))
    return f"{len(answer)} characters against {size}: {together / indexed:.1f} times their indexing ({together:.2f} s)"


def seconds(work: Callable[[], object]) -> float:
    begun = perf_counter()
    work()
    return perf_counter() - begun


if __name__ == "__main__":
    main()
