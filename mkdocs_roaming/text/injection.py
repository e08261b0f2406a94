"""Instructions to language models in text: patterns of `data/<language>.toml`, table `[injection]`."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from mkdocs_roaming.text.languages import available_languages, load_table


class InstructionPattern(msgspec.Struct, frozen=True):
    """A pattern of instructions to a model, searched where each group of `requires` has a word in the text."""

    requires: tuple[tuple[str, ...], ...]
    pattern: str


class InjectionWords(msgspec.Struct, frozen=True):
    """The table `[injection]` of a language in `text/data`."""

    topics: tuple[str, ...] = ()
    instructions: tuple[InstructionPattern, ...] = ()


def find_instructions(text: str) -> list[re.Match[str]]:
    """Return the instructions to a model in a text, in the order of the text."""
    lowered = text.lower()
    matches = [
        match
        for instruction in _instructions()
        if all(any(word in lowered for word in group) for group in instruction.requires)
        for match in re.finditer(instruction.pattern.replace("<model>", _MODEL), text, re.IGNORECASE)
    ]
    return sorted(matches, key=lambda match: match.start())


def explains_injection(text: str) -> bool:
    """Return whether a text is about prompt injection, so that it may quote instructions."""
    return _topics().search(text) is not None


def is_reported_speech(prose: str, match: re.Match[str]) -> bool:
    """Return whether a sentence says what a model does: “make the model ignore previous instructions”."""
    return _REPORTING_VERB.search(prose, max(0, match.start() - 60), match.start()) is not None


@cache
def _load_words() -> tuple[InjectionWords, ...]:
    return tuple(load_table(code, "injection", InjectionWords) or InjectionWords() for code in available_languages())


@cache
def _instructions() -> tuple[InstructionPattern, ...]:
    return tuple(one for words in _load_words() for one in words.instructions)


@cache
def _topics() -> re.Pattern[str]:
    return re.compile("|".join(topic for words in _load_words() for topic in words.topics), re.IGNORECASE)


_MODEL = r"(?:(?:AI )?(?:large )?language model|AI (?:assistant|agent|model|crawler)|AI|LLM|chat ?bot)"
_REPORTING_VERB = re.compile(
    r"\b(?:mak(?:e|es|ing)|lets?|letting)\s+(?:(?!you\b|sure\b)\w+\s+){1,3}\Z"
    r"|(?<!\bare )\b(?:instruct|tell|ask|order|trick|caus|command|convinc|attempt|try|tri|us|fool|forc|get|design)\w*"
    r"\s+(?:(?!you\b)\w+\s+){0,4}to\s+\Z|(?:指示|要求|诱导|誘導|诱使|誘使)[^。，,\s]{1,8}\Z",
    re.IGNORECASE,
)
