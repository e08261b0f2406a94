"""What can be made of a sentence: wrong ones that support has to catch, and true ones that it has to leave alone.

Nothing here is taken from what is measured: words are turned round by rules and lists of its own.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from zlib import crc32


@dataclass(frozen=True, slots=True)
class Variant:
    """A sentence made from another: `at` is where a mark must lie, as a slice of it; `wrong` tells false from true."""

    kind: str
    text: str
    wrong: bool
    at: tuple[int, int] | None = None
    polarity: bool = False


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
}  # read in columns  # fmt: skip


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
