"""Variants of a sentence for `support.py`: falsified ones, and changed ones with the same meaning.

The rules are independent of those of the support check.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of a sentence; `at` is the slice of it that must be marked."""

    kind: str
    text: str
    falsified: bool
    at: tuple[int, int] | None = None


def make_variants(sentence: str, opened: dict[str, str], rng: random.Random) -> Iterator[Variant]:
    """Yield the variants of a sentence, at most one of each kind."""
    body = "\n".join(opened.values())
    yield Variant("verbatim", sentence, falsified=False)
    for kind, make in EQUIVALENT.items():
        if (text := make(sentence, rng)) and text != sentence:
            yield Variant(kind, text, falsified=False)
    yield from falsify_numbers(sentence, body, rng)
    yield from falsify_names(sentence, body, rng)


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
    """Replace a number with one that no opened section contains."""
    found = list(_NUMBER.finditer(sentence))
    if not found:
        return
    match = rng.choice(found)
    for _ in range(50):
        new = re.sub(r"\d+$", lambda last: str(int(last[0]) + rng.choice([-7, -1, 1, 2, 9, 10, 1000])), match[0])
        if "-" not in new and not re.search(rf"(?<!\d){re.escape(new)}(?!\d)", body):
            yield replace_match(sentence, match, new, "number, unknown")
            break


def replace_match(sentence: str, match: re.Match[str], new: str, kind: str) -> Variant:
    text = sentence[: match.start()] + new + sentence[match.end() :]
    return Variant(kind, text, falsified=True, at=(match.start(), match.start() + len(new)))


_CODE_NAME = re.compile(r"(?<=`)[^`\s]{3,60}(?=`)")


def falsify_names(sentence: str, body: str, rng: random.Random) -> Iterator[Variant]:
    """Misspell a name in code, or change its case or punctuation."""
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
