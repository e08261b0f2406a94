"""How English headings and phrases become what a person asks: verbs known by their forms, nouns by their ending."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from mkdocs_roaming.text.tokenizer import is_stop_word, split_words

_NOUNS_IN_ING = frozenset(
    (
        "building",
        "caching",
        "filtering",
        "logging",
        "naming",
        "processing",
        "routing",
        "styling",
        "timing",
        "versioning",
    )
)
_DOUBLING = re.compile("get|let|put|run|set|stop|plan|tag|map|log|drop|skip|pin|wrap|submit|forget|split|embed")
_DETERMINER = re.compile(
    r"(?:an?|the|your|my|our|its|this|that|these|all|any|each|every|another|something|everything)$"
)
_AFTER_VERB = re.compile(
    _DETERMINER.pattern + r"|(?:more|multiple|several|new|custom|up|off|on|in|into|to|from|with|within|without|over|"
    r"through|against|for|as|by|at|out|two|three|it|them)$"
)
_NO_VERB = re.compile(
    r"(?:what|why|when|where|which|who|how|whether|is|are|not|no|and|or|of|in|on|at|to|for|from|with|all|about|behind|"
    r"between|than|as|if|under|over|inside|outside|across|after|before|during|around|beyond|per|via)$|.*(?:s|ed|ing)$"
)


_LEANING = re.compile(
    r"(?:other|either|another|more|some|new|additional|further|final|next|previous|all|overall|need|if|because|while|so|but|and|or|hello|our|"
    r"don['’]t|do not|never|always|let['’]?s|what (?!is\b|are\b|does\b|do\b|can\b|to\b|happens\b))\b",
    re.IGNORECASE,
)
"""Titles that lean on what stands above them, or tell what not to do."""
_SPEAKER = re.compile(r"\b(?:we|you|I|us|they|he|she)\b", re.IGNORECASE)
_SENTENCE = re.compile(
    r"(?!how |why |when |where |which |who |what )\S.* "
    r"(?:is|are|was|were|has|have|had|can|will|should|must|does|isn['’]t|aren['’]t|don['’]t|can['’]t|cannot) ",
    re.IGNORECASE,
)


@cache
def _verbs() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give the verbs, and those that are nouns too."""
    text = (resources.files(__package__) / "english_verbs.txt").read_text("utf-8")
    plain, nouns = (part.partition("\n")[2].split() for part in text.split("#")[1:])
    return tuple(plain), tuple(nouns)


@cache
def _forms() -> dict[str, tuple[str, bool]]:
    """Give each form of each verb, with its base, and whether the form might be a noun."""
    plain, nouns = _verbs()
    verbs = [(verb, True) for verb in nouns] + [(verb, False) for verb in plain]
    return {form: (verb, noun) for verb, noun in verbs for form in (verb, _gerund(verb))}


@cache
def _thirds() -> frozenset[str]:
    plain, nouns = _verbs()
    return frozenset(map(_third, (*plain, *nouns, "do", "fail", "tell", "force", "empty", "forget")))


def _gerund(verb: str) -> str:
    if _DOUBLING.fullmatch(verb):
        return verb + verb[-1] + "ing"
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    return (verb[:-1] if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) else verb) + "ing"


def _third(verb: str) -> str:
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    return verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in "aeiou" else verb + "s"


def to_do(phrase: str) -> str | None:
    """Give a phrase such as *Choosing your theme* as what one does, *choose my theme*; None where it is no doing."""
    words = phrase.split()
    if len(words) > 2 and [word.lower() for word in words[:2]] == ["how", "to"]:
        return mine(" ".join(words[2:])) if words[2].lower() in _forms() else None
    form = _forms().get(words[0].lower()) if words else None
    if len(words) < 2:
        return None
    second = words[1].lower()
    if form is None:  # a word before an article, and no other kind of word: it is told to do something
        first = words[0].lower()
        doing = (
            first.isalpha() and _DETERMINER.match(second) and not (_NO_VERB.match(first) or _DETERMINER.match(first))
        )
        return mine(" ".join([first, *words[1:]])) if doing else None
    base, noun = form
    if second in ("and", "or", "&", "/", "vs", "vs."):
        return None
    if noun and not _AFTER_VERB.match(second) and not _is_doing(words):
        return None
    return mine(" ".join([base, *words[1:]]))


def is_asked_for(title: str) -> bool:
    """Tell whether somebody would ask for a title: not for a sentence, nor for what speaks of something above it."""
    if title.endswith("?"):
        return " " in title and not all(is_stop_word(word) for word in split_words(title))
    if _SENTENCE.match(title) or ": " in title:
        return False
    return to_do(title) is not None or not (_LEANING.match(title) or _SPEAKER.search(title))


def is_third_person(phrase: str) -> bool:
    """Tell whether a phrase says what something does: *prints JSON*."""
    words = phrase.split()
    return len(words) > 1 and words[0].lower() in _thirds()


def is_plural(phrase: str) -> bool:
    """Tell whether a noun phrase is of many."""
    head = re.split(r" (?:of|for|in|to|with|on|from|by|and|at|via) ", phrase)[0].split()
    last = re.sub(r"\W+$", "", head[-1]) if head else ""
    if " and " in phrase:
        return True
    return bool(re.search(r"[a-z]s$", last)) and not last.lower().endswith(("ss", "us", "is", "ics", "ous"))


def _is_doing(words: list[str]) -> bool:
    """Tell whether a form in *-ing* of a verb that is a noun too begins a doing: *testing WebSocket sessions*."""
    first = words[0].lower()
    if first in ("change", "check"):
        return len(words) > 2
    return first.endswith("ing") and first not in _NOUNS_IN_ING and (len(words) > 2 or is_plural(words[1]))


def mine(phrase: str) -> str:
    """Give a phrase as the reader would say it."""
    return re.sub(r"\b[Yy]our\b", "my", re.sub(r"\b[Yy]ou\b", "I", phrase))
