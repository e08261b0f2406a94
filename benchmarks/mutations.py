"""Variants of a sentence for `support.py`: falsified ones, and changed ones with the same meaning.

The rules and word lists are independent of those of the support check.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from zlib import crc32


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of a sentence. `at` is the slice of it that must be marked, `polarity` requires a polarity mark."""

    kind: str
    text: str
    falsified: bool
    at: tuple[int, int] | None = None
    polarity: bool = False


def make_variants(sentence: str, opened: dict[str, str], rng: random.Random) -> Iterator[Variant]:
    """Yield the variants of a sentence, at most one of each kind."""
    body = "\n".join(opened.values())
    yield Variant("verbatim", sentence, falsified=False)
    for kind, make in EQUIVALENT.items():
        if (text := make(sentence, rng)) and text != sentence:
            yield Variant(kind, text, falsified=False)
    yield from falsify_numbers(sentence, body, rng)
    yield from falsify_names(sentence, body, rng)
    yield from change_negations(sentence)
    for part in ("seen", "held out"):
        if (text := replace_with_antonym(sentence, part)) and text != sentence:
            yield Variant(f"antonym, {part}", text, falsified=True, polarity=True)


# Variants with the same meaning


def drop_parenthesis(sentence: str, _: random.Random) -> str:
    plain = re.sub("`[^`]*`", lambda code: "x" * len(code[0]), sentence)
    match = re.search(r" \([^()]*\)(?=[ .,;])", plain)
    return sentence[: match.start()] + sentence[match.end() :] if match else ""


def drop_clause(sentence: str, _: random.Random) -> str:
    """Drop the clause after the last comma, or the one before the first."""
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


def drop_adjective(sentence: str, _: random.Random) -> str:
    """Drop an adverb in -ly or one of the listed adjectives."""
    return re.sub(rf" (?:(?!hardly|only|rarely)[a-z]+ly|{_ADJECTIVES})(?= [a-z])", "", sentence, count=1)


def reorder_list(sentence: str, _: random.Random) -> str:
    """Reorder a list: `A, B and C` becomes `C, A and B`."""
    word = r"`[^`]+`|[A-Za-z-]+"
    match = re.search(rf"(?<=[a-z:] )({word}), ({word}),? (and|or) ({word})(?=[.,;]| [a-z])", sentence)
    if not match:
        return ""
    first, second, conjunction, third = match.groups()
    return sentence[: match.start()] + f"{third}, {first} {conjunction} {second}" + sentence[match.end() :]


def change_case(sentence: str, rng: random.Random) -> str:
    """Change the first word to lower case and capitalize one plain word."""
    first = sentence.split()[0]
    text = sentence[0].lower() + sentence[1:] if first[1:].islower() else sentence
    plain = [
        match for match in re.finditer(r"(?<= )[a-z]{5,}(?= [a-z])", text) if text[: match.start()].count("`") % 2 == 0
    ]
    if plain:
        match = rng.choice(plain)
        text = text[: match.start()] + match[0].capitalize() + text[match.end() :]
    return text


def change_punctuation(sentence: str, _: random.Random) -> str:
    text = sentence.rstrip(".") if sentence.endswith(".") else sentence + "."
    return re.sub(r", (?=and |or |but |which )", " ", text, count=1)


_CONTRACTIONS = {
    "do not": "don't", "does not": "doesn't", "is not": "isn't", "are not": "aren't", "cannot": "can't",
    "will not": "won't", "it is": "it's", "It is": "It's", "you are": "you're", "you will": "you'll",
    "that is": "that's", "did not": "didn't", "was not": "wasn't", "has not": "hasn't", "have not": "haven't",
    "should not": "shouldn't", "would not": "wouldn't",
}  # fmt: skip  # several pairs per line


def contract(sentence: str, _: random.Random) -> str:
    """Replace `do not` with `don't`, or the reverse."""
    for long, short in _CONTRACTIONS.items():
        for one, other in ((long, short), (short, long)):
            if re.search(rf"\b{one}\b(?! only)", sentence) and one != "It's":
                return re.sub(rf"\b{one}\b", other, sentence, count=1)
    return ""


EQUIVALENT: dict[str, Callable[[str, random.Random], str]] = {
    "parenthesis dropped": drop_parenthesis,
    "clause dropped": drop_clause,
    "adjective dropped": drop_adjective,
    "list reordered": reorder_list,
    "case changed": change_case,
    "punctuation changed": change_punctuation,
    "contracted": contract,
}


# Falsified variants


_NUMBER = re.compile(r"(?<![\w.,/-])v?\d+(?:\.\d+)*(?![\w]*\d)(?=[^\w]|[a-z]{1,3}\b)")


def falsify_numbers(sentence: str, body: str, rng: random.Random) -> Iterator[Variant]:
    """Replace a number with an unknown one or with one from another place; exchange two numbers."""
    found = list(_NUMBER.finditer(sentence))
    if not found:
        return
    match = rng.choice(found)
    for _ in range(50):
        new = re.sub(r"\d+$", lambda last: str(int(last[0]) + rng.choice([-7, -1, 1, 2, 9, 10, 1000])), match[0])
        if "-" not in new and not re.search(rf"(?<!\d){re.escape(new)}(?!\d)", body):
            yield replace_match(sentence, match, new, "number, unknown")
            break
    others = sorted({other for other in _NUMBER.findall(body) if ("." in other) == ("." in match[0])})
    others = [other for other in others if other not in _NUMBER.findall(sentence)]
    if others:
        yield replace_match(sentence, match, rng.choice(others), "number, from another place")
    if len({one[0] for one in found}) > 1:
        one, two = found[0], next(other for other in found[1:] if other[0] != found[0][0])
        between = sentence[one.end() : two.start()]
        if not re.fullmatch(r"[\s,]*(and|or)?[\s,]*", between):
            text = sentence[: one.start()] + two[0] + between + one[0] + sentence[two.end() :]
            yield Variant("numbers exchanged", text, falsified=True, at=(one.start(), len(text)))


def replace_match(sentence: str, match: re.Match[str], new: str, kind: str) -> Variant:
    text = sentence[: match.start()] + new + sentence[match.end() :]
    return Variant(kind, text, falsified=True, at=(match.start(), match.start() + len(new)))


_CODE_NAME = re.compile(r"(?<=`)[^`\s]{3,60}(?=`)")


def falsify_names(sentence: str, body: str, rng: random.Random) -> Iterator[Variant]:
    """Misspell a name in code, change its case, or replace it with another name from the opened sections."""
    found = [match for match in _CODE_NAME.finditer(sentence) if sentence[: match.start()].count("`") % 2]
    found = [match for match in found if re.search("[A-Za-z]{3}", match[0])]
    if not found:
        return
    match = rng.choice(found)
    name = match[0]
    letters = [at for at, character in enumerate(name) if character.isalpha() and 0 < at < len(name) - 1]
    at = rng.choice(letters)
    changed = {"misspelt": name[:at] + rng.choice("qxzk") + name[at + 1 :], "with an additional letter": name + "s"}
    if "_" in name.strip("_") or "-" in name.strip("-"):
        changed["with another punctuation character"] = re.sub(
            "(?<=[a-z])[_-](?=[a-z])", lambda mark: "-" if mark[0] == "_" else "_", name
        )
    if name != name.lower():
        changed["in another case"] = name.lower()
    for how, new in changed.items():
        if new != name and not re.search(rf"(?<!\w){re.escape(new)}(?!\w)", body):
            yield replace_match(sentence, match, new, f"name {how}")
    inside = set(_CODE_NAME.findall(sentence))
    others = sorted({other for other in re.findall(r"(?<=[ (]`)[A-Za-z_.-]{3,40}(?=`)", body) if other not in inside})
    if others:
        yield replace_match(sentence, match, rng.choice(others), "name, from another place")


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


def change_negations(sentence: str) -> Iterator[Variant]:
    """Insert or remove a negation; exchange `with` and `without`."""
    plain = re.sub("`[^`]*`", lambda code: "x" * len(code[0]), sentence)
    if match := _AUXILIARY.search(plain):
        yield Variant(
            "negation inserted",
            f"{sentence[: match.end()]} not{sentence[match.end() :]}",
            falsified=True,
            polarity=True,
        )
    if match := _IMPERATIVE.match(plain):
        text = f"Do not {sentence[0].lower()}{sentence[1:]}"
        yield Variant("negation before an imperative", text, falsified=True, polarity=True)
    if match := _NEGATED.search(plain):
        verb = "always" if match["never"] else match[1] or match[2]
        before, after = sentence[: match.start()], sentence[match.end() :]
        if verb in ("do", "does", "did"):
            text = (before.rstrip() + after) if before.strip() else after.strip()[:1].upper() + after.strip()[1:]
        else:
            text = before + verb + after
        yield Variant("negation removed", text, falsified=True, polarity=True)
    if match := re.search(r"(?<= )(without|with)(?= (?:a|an|the|any|its|your) )", plain):
        new = "with" if match[0] == "without" else "without"
        yield Variant(
            "“with” and “without” exchanged",
            sentence[: match.start()] + new + sentence[match.end() :],
            falsified=True,
            polarity=True,
        )


_ANTONYMS = """
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


def replace_with_antonym(sentence: str, part: str) -> str:
    """Replace the first word outside of code that has an antonym in the given part of the list."""
    antonyms: dict[str, str] = {}
    for pair in _ANTONYMS.split("|"):
        one, other = pair.split()
        if (crc32(" ".join(sorted(pair.split())).encode()) % 2 == 0) == (part == "seen"):
            antonyms.setdefault(one, other)
            antonyms.setdefault(other, one)
    plain = re.sub("`[^`]*`", lambda code: "`" * len(code[0]), sentence)
    for match in re.finditer(r"(?<= )[a-z]+(?=[ ,.])", plain):
        if match[0] in antonyms and match[0] not in _AMBIGUOUS:
            return sentence[: match.start()] + antonyms[match[0]] + sentence[match.end() :]
    return ""


_AMBIGUOUS = {
    *("with", "without", "on", "no", "may", "all", "every", "both", "none", "up", "light", "used", "like", "few"),
}
"""Words that usually have another meaning: `based on`, `with the`."""
