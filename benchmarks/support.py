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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from zlib import crc32

from mkdocs_roaming.answer.support import Mark, support
from mkdocs_roaming.roam.library import open_library
from mkdocs_roaming.words import terms

OPEN = 12_000
"""The characters of text that stand open beside one another."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A sentence made from another: `at` is where a mark must lie, as a slice of it; `wrong` tells false from true."""

    kind: str
    text: str
    wrong: bool
    at: tuple[int, int] | None = None
    polarity: bool = False


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
        texts = {place.id: library.text(place) for place in library.places}
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
    marks = support(answer, opened).unsupported
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


def of(sentence: str, opened: dict[str, str], chance: random.Random) -> Iterator[Variant]:
    """Give what can be made of a sentence, each kind at most once."""
    body = "\n".join(opened.values())
    yield Variant("word for word", sentence, wrong=False)
    for kind, make in TRUE.items():
        if (text := make(sentence, chance)) and text != sentence:
            yield Variant(kind, text, wrong=False)
    yield from numbers(sentence, body, chance)
    yield from names(sentence, body, chance)
    yield from negations(sentence)
    for seen in ("seen", "held out"):
        if (text := opposite(sentence, seen)) and text != sentence:
            yield Variant(f"opposite, {seen}", text, wrong=True, polarity=True)


# What stays true


def without_parenthesis(sentence: str, _: random.Random) -> str:
    plain = re.sub("`[^`]*`", lambda code: "x" * len(code[0]), sentence)
    match = re.search(r" \([^()]*\)(?=[ .,;])", plain)
    return sentence[: match.start()] + sentence[match.end() :] if match else ""


def without_clause(sentence: str, _: random.Random) -> str:
    """Drop what follows the last comma, or what leads up to the first one."""
    first, _, rest = sentence.partition(", ")
    if re.match(r"(If|When|While|For|In|With|On|By|To|After|Before|As)\b", first) and len(rest.split()) >= 5:
        return rest[0].upper() + rest[1:] if rest[0].isalpha() and rest[1:2].islower() else ""
    head, comma, tail = sentence.rpartition(", ")
    if (
        comma
        and len(head.split()) >= 6
        and len(tail.split()) >= 3
        and re.match(r"(and|so|which|but|because|where|since)\b", tail)
    ):
        return head + "."
    return ""


_ADJECTIVES = (
    "simple|small|large|new|own|whole|full|single|given|common|useful|additional|specific|particular|usual|normal|plain|"
    "different|other|various|certain|current|main|entire|popular|basic|custom|complete|local|default"
)


def without_adjective(sentence: str, _: random.Random) -> str:
    """Drop an adverb that ends in -ly, or one of a few adjectives."""
    return re.sub(rf" (?:(?!hardly|only|rarely)[a-z]+ly|{_ADJECTIVES})(?= [a-z])", "", sentence, count=1)


def reordered(sentence: str, _: random.Random) -> str:
    """Turn round a list: `A, B and C` becomes `C, A and B`."""
    word = r"`[^`]+`|[A-Za-z-]+"
    listed = re.search(rf"(?<=[a-z:] )({word}), ({word}),? (and|or) ({word})(?=[.,;]| [a-z])", sentence)
    if not listed:
        return ""
    one, two, joining, three = listed.groups()
    return sentence[: listed.start()] + f"{three}, {one} {joining} {two}" + sentence[listed.end() :]


def recased(sentence: str, chance: random.Random) -> str:
    """Write the first word small, and one plain word with a capital."""
    first = sentence.split()[0]
    text = sentence[0].lower() + sentence[1:] if first[1:].islower() else sentence
    plain = [
        match for match in re.finditer(r"(?<= )[a-z]{5,}(?= [a-z])", text) if text[: match.start()].count("`") % 2 == 0
    ]
    if plain:
        match = chance.choice(plain)
        text = text[: match.start()] + match[0].capitalize() + text[match.end() :]
    return text


def repunctuated(sentence: str, _: random.Random) -> str:
    text = sentence.rstrip(".") if sentence.endswith(".") else sentence + "."
    return re.sub(r", (?=and |or |but |which )", " ", text, count=1)


_CONTRACTIONS = {
    "do not": "don't", "does not": "doesn't", "is not": "isn't", "are not": "aren't", "cannot": "can't",
    "will not": "won't", "it is": "it's", "It is": "It's", "you are": "you're", "you will": "you'll",
    "that is": "that's", "did not": "didn't", "was not": "wasn't", "has not": "hasn't", "have not": "haven't",
    "should not": "shouldn't", "would not": "wouldn't",
}  # fmt: skip


def contracted(sentence: str, _: random.Random) -> str:
    """Write `do not` as `don't`, or the other way round."""
    for long, short in _CONTRACTIONS.items():
        for one, other in ((long, short), (short, long)):
            if re.search(rf"\b{one}\b(?! only)", sentence) and one != "It's":
                return re.sub(rf"\b{one}\b", other, sentence, count=1)
    return ""


TRUE: dict[str, Callable[[str, random.Random], str]] = {
    "parenthesis dropped": without_parenthesis,
    "clause dropped": without_clause,
    "adjective dropped": without_adjective,
    "list reordered": reordered,
    "case changed": recased,
    "punctuation changed": repunctuated,
    "contracted": contracted,
}


# What becomes wrong


_DIGITS = re.compile(r"(?<![\w.,/-])v?\d+(?:\.\d+)*(?![\w]*\d)(?=[^\w]|[a-z]{1,3}\b)")


def numbers(sentence: str, body: str, chance: random.Random) -> Iterator[Variant]:
    """Put a number that stands nowhere, or elsewhere only, in the place of one; swap two."""
    found = list(_DIGITS.finditer(sentence))
    if not found:
        return
    match = chance.choice(found)
    for _ in range(50):
        new = re.sub(r"\d+$", lambda last: str(int(last[0]) + chance.choice([-7, -1, 1, 2, 9, 10, 1000])), match[0])
        if "-" not in new and not re.search(rf"(?<!\d){re.escape(new)}(?!\d)", body):
            yield put(sentence, match, new, "number, stands nowhere")
            break
    others = sorted({other for other in _DIGITS.findall(body) if ("." in other) == ("." in match[0])})
    others = [other for other in others if other not in _DIGITS.findall(sentence)]
    if others:
        yield put(sentence, match, chance.choice(others), "number, stands elsewhere")
    if len({one[0] for one in found}) > 1:
        one, two = found[0], next(other for other in found[1:] if other[0] != found[0][0])
        between = sentence[one.end() : two.start()]
        if not re.fullmatch(r"[\s,]*(and|or)?[\s,]*", between):
            text = sentence[: one.start()] + two[0] + between + one[0] + sentence[two.end() :]
            yield Variant("numbers exchanged", text, wrong=True, at=(one.start(), len(text)))


def put(sentence: str, match: re.Match[str], new: str, kind: str) -> Variant:
    text = sentence[: match.start()] + new + sentence[match.end() :]
    return Variant(kind, text, wrong=True, at=(match.start(), match.start() + len(new)))


_NAMED = re.compile(r"(?<=`)[^`\s]{3,60}(?=`)")


def names(sentence: str, body: str, chance: random.Random) -> Iterator[Variant]:
    """Misspell a name in code, write it in another case, or put another one of the opened sections in its place."""
    found = [match for match in _NAMED.finditer(sentence) if sentence[: match.start()].count("`") % 2]
    found = [match for match in found if re.search("[A-Za-z]{3}", match[0])]
    if not found:
        return
    match = chance.choice(found)
    name = match[0]
    letters = [at for at, character in enumerate(name) if character.isalpha() and 0 < at < len(name) - 1]
    at = chance.choice(letters)
    wrong = {"misspelt": name[:at] + chance.choice("qxzk") + name[at + 1 :], "with a letter more": name + "s"}
    if "_" in name.strip("_") or "-" in name.strip("-"):
        wrong["with another sign"] = re.sub(
            "(?<=[a-z])[_-](?=[a-z])", lambda sign: "-" if sign[0] == "_" else "_", name
        )
    if name != name.lower():
        wrong["in another case"] = name.lower()
    for how, new in wrong.items():
        if new != name and not re.search(rf"(?<!\w){re.escape(new)}(?!\w)", body):
            yield put(sentence, match, new, f"name {how}")
    inside = set(_NAMED.findall(sentence))
    others = sorted({other for other in re.findall(r"(?<=[ (]`)[A-Za-z_.-]{3,40}(?=`)", body) if other not in inside})
    if others:
        yield put(sentence, match, chance.choice(others), "name, stands elsewhere")


_AUXILIARY = re.compile(
    r"(?<= )(is|are|can|will|must|should|was|were|may|does|do|has been|have been)"
    r"(?= (?!not\b|n't|only\b|never\b)[a-z`])"
)
_IMPERATIVE = re.compile(
    r"(Use|Run|Set|Add|Create|Install|Make|Keep|Start|Remove|Put|Call|Pass|Write|Open|Copy|Restart|Choose)(?= )"
)
_NEGATED = re.compile(
    r"\b(?:(is|are|can|will|must|should|was|were|do|does|may|would|could|did|has|have)(?: not|n't)|(can)not"
    r"|(?P<never>never))\b(?! only| just| necessarily)"
)


def negations(sentence: str) -> Iterator[Variant]:
    """Put a negation in, or take one out."""
    plain = re.sub("`[^`]*`", lambda code: "x" * len(code[0]), sentence)
    if match := _AUXILIARY.search(plain):
        yield Variant(
            "negation put in", f"{sentence[: match.end()]} not{sentence[match.end() :]}", wrong=True, polarity=True
        )
    if match := _IMPERATIVE.match(plain):
        text = f"Do not {sentence[0].lower()}{sentence[1:]}"
        yield Variant("negation put before a command", text, wrong=True, polarity=True)
    if match := _NEGATED.search(plain):
        kept = "always" if match["never"] else match[1] or match[2]
        before, after = sentence[: match.start()], sentence[match.end() :]
        if kept in ("do", "does", "did"):
            text = (before.rstrip() + after) if before.strip() else after.strip()[:1].upper() + after.strip()[1:]
        else:
            text = before + kept + after
        yield Variant("negation taken out", text, wrong=True, polarity=True)
    if match := re.search(r"(?<= )(without|with)(?= (?:a|an|the|any|its|your) )", plain):
        new = "with" if match[0] == "without" else "without"
        yield Variant(
            "with and without", sentence[: match.start()] + new + sentence[match.end() :], wrong=True, polarity=True
        )


_OPPOSITES = """
enabled disabled|enable disable|enables disables|before after|minimum maximum|always never|required optional
allow forbid|allows prevents|allowed forbidden|first last|true false|valid invalid|include exclude|includes excludes
included excluded|add remove|adds removes|added removed|horizontal vertical|horizontally vertically|above below
left right|top bottom|more less|most least|new old|newer older|latest oldest|start stop|starts stops|started stopped
open close|opens closes|local remote|automatically manually|automatic manual|public private|inside outside
visible hidden|show hide|shown hidden|installed uninstalled|install uninstall|global local|large small
larger smaller|short long|shorter longer|fast slow|faster slower|fails succeeds|fail succeed|same different
stable unstable|absolute relative|explicit implicit|explicitly implicitly|parent child|read write|reads writes
sent received|sends receives|incoming outgoing|encode decode|recommended discouraged|supported unsupported
necessary unnecessary|possible impossible|available unavailable|compatible incompatible|known unknown|used unused
safe unsafe|static dynamic|synchronous asynchronous|up down|higher lower|high low|increase decrease
increases decreases|upgrade downgrade|import export|earlier later|previous next|accept reject|accepts rejects
keep discard|keeps discards|single multiple|common rare|empty full|internal external|early late|positive negative
direct indirect|directly indirectly|permanent temporary|simple complex|easy difficult|light dark|appear disappear
source target|input output|online offline|expand collapse|create delete|creates deletes|created deleted
connect disconnect|load unload|ascending descending|good bad|better worse|complete incomplete|active inactive
frequently rarely|often rarely|many few|must may|every no|both neither|all none|on off|with without
correct incorrect|correctly incorrectly|equal unequal|sensitive insensitive|strict lenient|forward backward
begin end|begins ends|upper lower|wide narrow|old new|mutable immutable|reversible irreversible|everything nothing
inner outer|primary secondary|major minor|attach detach|mount unmount|pass fail|passes fails|push pull|lock unlock
locked unlocked
""".replace("\n", "|").strip("|")


def opposite(sentence: str, seen: str) -> str:
    """Put a word's opposite in its place, for the first word that has one; in code nothing changes."""
    turned: dict[str, str] = {}
    for pair in _OPPOSITES.split("|"):
        one, other = pair.split()
        if (crc32(" ".join(sorted(pair.split())).encode()) % 2 == 0) == (seen == "seen"):
            turned.setdefault(one, other)
            turned.setdefault(other, one)
    plain = re.sub("`[^`]*`", lambda code: "`" * len(code[0]), sentence)
    for match in re.finditer(r"(?<= )[a-z]+(?=[ ,.])", plain):
        if match[0] in turned and match[0] not in _TOO_COMMON:
            return sentence[: match.start()] + turned[match[0]] + sentence[match.end() :]
    return ""


_TOO_COMMON = {
    "with",
    "without",
    "on",
    "no",
    "may",
    "all",
    "every",
    "both",
    "none",
    "up",
    "light",
    "used",
    "like",
    "few",
}
"""Words that are mostly something else: `based on`, `with the`."""


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
    indexed = seconds(lambda: [terms(text) for text in opened.values()])
    together = seconds(lambda: support(answer, opened))
    return f"{len(answer)} characters against {size}: {together / indexed:.1f} times their indexing ({together:.2f} s)"


def seconds(work: Callable[[], object]) -> float:
    begun = perf_counter()
    work()
    return perf_counter() - begun


if __name__ == "__main__":
    main()
