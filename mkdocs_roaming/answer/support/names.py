"""Unknown names in an answer: options, identifiers, paths, addresses, commands, keys and values.

A name is known if it occurs in the evidence as a whole, or if it fills the placeholder of a documented name with
words of the question. Names that the writer of an example chooses freely are placeholders and never marked.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import combinations, pairwise, takewhile

from mkdocs_roaming.answer.commands import is_local
from mkdocs_roaming.answer.support.evidence import Evidence, normalize_text
from mkdocs_roaming.text.tokenizer import SPACELESS, stem

Span = tuple[int, int]

_MAX_NAME_CHARS = 200
_MAX_PLACEHOLDER_CHARS = 60
_MAX_WORDS_WITH_PLACEHOLDER = 8

_NAME = re.compile(
    r"https?://[^\s\"'`<>)\]]+"
    r"|-{1,2}[A-Za-z][\w-]*"
    r"|[^\s\"'`,;()\[\]{}|=<>&!:*+]+(?::[^\s\"'`,;()\[\]{}|=<>&!]+)?"
)
_OPTION = rf"(?<!-)(?<![^\W{SPACELESS}])--[A-Za-z][A-Za-z0-9_-]+"
_TOKEN_OF_PROSE = re.compile(rf"https?://[^\s)\]>]*[^\s)\]>.,;:!?]|{_OPTION}|[\w./~\\-]*[\w/~\\]")
ADDRESS_OR_OPTION = re.compile(r"\A--|://")
NAME_IN_ENGLISH = re.compile(rf"{ADDRESS_OR_OPTION.pattern}|\w_\w|\w/\w|\w\w\.[a-z]\w|\w[a-z][A-Z]")
"""The shape of a name. Ordinary words of other languages may have it: *und/oder*, *z.B.*"""

_PLACEHOLDER = re.compile(
    r"<.*>|\.\.\.|…+|\{.*\}|\$.*|(?:your|my)(?:[^a-z].*)?|(?:https?://)?(?:.*[./@])?example\.(?:com|org|net|test)\b.*"
    r"|(?:/?path/to|\.\.?/).*|localhost.*|127\.0\.0\.1.*"
    r"|(?:192\.0\.2|198\.51\.100|203\.0\.113)\..*|2001:db8:.*"  # RFC 5737, RFC 3849
    r"|acme|ada|admin|alice|app|bar|baz|bob|changeme|cli|data|demo|example|file|foo|hello|item|items|jane|john|main|name"
    r"|package|password|path|project|secret|src|test|tests|to|user|users|value|world|x+",
    re.IGNORECASE,
)
# Words of shells and programming languages: not names of what a site documents.
_SYNTAX = frozenset({
    "-e", "-eq", "-f", "-ge", "-gt", "-le", "-lt", "-n", "-ne", "-z", "and", "as", "async", "await", "bash", "ci",
    "cat", "cd", "class", "com", "const", "def", "do", "done", "echo", "elif", "else", "env", "esac", "export",
    "false", "fi", "for", "from", "function", "http", "https", "if", "import", "in", "let", "ls", "mkdir",
    "new", "no", "none", "not", "null", "or", "org", "print", "return", "run", "self", "set", "sh", "source",
    "test", "then", "tool", "true", "until", "var", "while", "with", "www", "yes",
})  # read in columns  # fmt: skip
_COMMENT = re.compile(r"(?:^|(?<=\s))(?:#|//)\s.*$")
_PROMPT = re.compile(r"\s*(?:(?:\$|>|#)\s+|(?:RUN|sudo)\s+)*")
_QUOTED_PROSE = re.compile(r"([\"'])(?=[^\"']*\s)[^\"'=<>/_{]*\1")
_ALTERNATIVES = re.compile(r"[A-Za-z]+(?:/[A-Za-z]+)+")
_PLAIN = re.compile(r"[^\W\d_]+(?:\.[^\W\d_]+)*[.,:;]?")
_AMOUNT = re.compile(r"-?[\d._]+[A-Za-z%]{0,2}")
_CHOSEN = re.compile(rf"{_PLAIN.pattern}|{_AMOUNT.pattern}")
"""A plain word or an amount, which the writer of an example may choose."""
_NOTHING = re.compile("(?!)")
_COMMAND_WORD = re.compile(r"[a-z][a-z0-9-]*")
_KEY = re.compile(r"\s*(?:- )?([\w.-]+)\s*(?:=(?!=)|:(?=\s|$))\s*(.*)$")
_QUOTED_WORD = re.compile(r"([\"'])([a-z]+)\1\s*,?\s*")
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_TABLE = re.compile(r"\[\[?(?:[\w.-]+\.)?([\w-]+)\]\]?")
_HOLE = re.compile(
    r"(?:<[\w-]{1,40}>|\{[\w-]{1,40}\})(?=[_./-]?\w)|(?<=\w[_./-])\{[\w-]{1,40}\}|(?<=\w[_./ =@-])<[\w-]{1,40}>"
)
_ADDRESS = re.compile(r"://|^(?:git@|www\.)")
_IMPORT = re.compile(r"\s*(?:from\s+(?=[\w.]+\s+import\b)|import\s+(?=[\w.]+(?:\s+as\s+\w+)?\s*$))([^\W\d]\w*)")
_WORD = re.compile(r"\S+")


class NameReader:
    """Finds unknown names in the parts of an answer, in their order."""

    def __init__(self, evidence: Evidence) -> None:
        """Compare with evidence."""
        self._evidence = evidence

    def read_prose(self, text: str, *, shape: re.Pattern[str]) -> Iterator[Span]:
        """Yield the spans of unknown names of a shape in prose without code."""
        for match in _TOKEN_OF_PROSE.finditer(text):
            is_name = shape.search(match[0]) and not _ALTERNATIVES.fullmatch(match[0])
            if is_name and not self._is_known(match[0]):
                yield match.span()

    def read_code_span(self, text: str) -> Iterator[Span]:
        """Yield the spans of unknown names in inline code."""
        if self._evidence.quotes(text):
            return
        if self._is_unknown_value(text):
            yield 0, len(text)
            return
        code = _HOLE.sub(_fill, _QUOTED_PROSE.sub(_blank, text))
        yield from (
            span for span in self._find_unknown(code) if text[slice(*span)] not in self._evidence.chosen_numbers
        )
        yield from self._find_unknown_subcommand(text)

    def read_program_line(self, line: str) -> Iterator[Span]:
        """Yield the spans of unknown names in a line of a program, whose writer chooses strings and many names."""
        code = _STRING.sub(_blank, _COMMENT.sub("", line).rstrip())
        if self._evidence.quotes(code):
            return
        yield from self._find_unknown(code, _CHOSEN)
        module = _IMPORT.match(code)
        if module and module[1] not in sys.stdlib_module_names and not self._is_known(module[1]):
            yield module.span(1)

    def read_code_line(self, line: str) -> Iterator[Span]:
        """Yield the spans of unknown names in a line of a code block."""
        code = _COMMENT.sub("", line).rstrip()
        if self._evidence.quotes(code):
            return
        if table := _TABLE.fullmatch(code):
            if self._is_unknown_word(normalize_text(table[1])):
                yield table.span(1)
            return
        code = _HOLE.sub(_fill, _QUOTED_PROSE.sub(_blank, code))
        yield from self._find_unknown(code, _CHOSEN)
        key = _KEY.match(code)
        if key and not key[1].isalpha() and self._is_unknown_value(key[2]):
            yield key.span(2)
        yield from self._find_unknown_subcommand(code)

    # Parts of code

    def _find_unknown(self, code: str, chosen: re.Pattern[str] = _NOTHING) -> Iterator[Span]:
        """Yield unknown names, without those that the writer of an example chooses."""
        for match in _NAME.finditer(code):
            if not chosen.fullmatch(match[0]) and not self._is_known(match[0]):
                yield match.span()

    def _is_unknown_value(self, text: str) -> bool:
        value = _QUOTED_WORD.fullmatch(text.strip())
        return value is not None and self._is_unknown_word(value[2])

    def _is_unknown_word(self, word: str) -> bool:
        return word not in self._evidence.code_words and not self._evidence.is_asked(word)

    def _find_unknown_subcommand(self, code: str) -> Iterator[Span]:
        """Yield the span of a command with a subcommand that the evidence does not contain."""
        evidence = self._evidence
        prompt = _PROMPT.match(code)
        is_plain = lambda word: _COMMAND_WORD.fullmatch(word[0]) and not _PLACEHOLDER.fullmatch(word[0])  # noqa: E731
        words = list(takewhile(is_plain, _WORD.finditer(code, prompt.end() if prompt else 0)))
        for first, second in pairwise(words):
            command = first[0]
            follower = second[0]
            followers = evidence.followers.get(command, set())
            is_command = bool(followers) or (evidence.has_word(command) and not evidence.has_word(follower))
            is_argument = len(followers) < 2 and stem(follower) in evidence.question_words
            if command in _SYNTAX or not is_command or is_argument:
                return
            if not evidence.contains(f"{command} {follower}"):
                yield words[0].start(), second.end()
                return

    # Known names

    def _is_known(self, name: str) -> bool:
        """Return whether the evidence contains a name, or the name means nothing by itself."""
        evidence = self._evidence
        name = name.strip(".,:;!?*^'\"`").removesuffix("()")
        if _is_free(name) or evidence.contains(name):
            return True
        if "…" in name:
            return all(not part.strip("0123456789/-") or self._is_known(part) for part in name.split("…"))
        name = normalize_text(name)
        first, _, attribute = name.partition(".")
        if first in evidence.own_names:
            return not attribute or self._is_known(attribute)
        return len(name) <= _MAX_NAME_CHARS and self._has_known_form(name)

    def _has_known_form(self, name: str) -> bool:
        """Return whether the evidence contains a name in another form, or all of its parts."""
        evidence = self._evidence
        if _AMOUNT.fullmatch(name):
            return re.sub(r"[^\d.]", "", name).strip(".") in evidence.numbers
        if name.startswith(("http://", "https://")):
            host, *path = name.rstrip("/").split("/")[2:] or [""]
            is_filled = evidence.contains(host) and all(map(_PLACEHOLDER.fullmatch, path))
            host = host.rpartition("@")[2].removeprefix("www.")
            return is_filled or evidence.contains(name.rstrip("/")) or evidence.is_asked(host)
        others = (name.replace("-", "_"), name.replace("_", "-"), name.strip("_"), name.removeprefix("tool."))
        if any(map(evidence.contains, others)):
            return True
        if _PLAIN.fullmatch(name):
            words = name.split(".")
            has_other_ending = _PLACEHOLDER.fullmatch(words[0]) and words[0] in evidence.names_with_ending
            return not has_other_ending and all(evidence.has_word(one) or _PLACEHOLDER.fullmatch(one) for one in words)
        is_path_of_keys = "." in name and all(f"{key}:" in evidence.text for key in name.split("."))
        return is_path_of_keys or self._fills_placeholder(name)

    def _fills_placeholder(self, name: str) -> bool:
        """Return whether a name is a documented one in which words of the question replace a part.

        `UV_INDEX_ACME_TOKEN` fills `UV_INDEX_<NAME>_TOKEN` if the question is about `acme`.
        """
        words = list(re.finditer(r"[a-z0-9]+", name))
        if len(words) > _MAX_WORDS_WITH_PLACEHOLDER:
            return False
        asked = [stem(word[0]) in self._evidence.question_words for word in words]
        for first, end in combinations(range(len(words) + 1), 2):
            if all(asked[first:end]) and len(words) - (end - first) >= 2:
                before = name[: words[first].start()]
                after = name[words[end - 1].end() :]
                filler = rf"[\w<>{{}}$.-]{{1,{_MAX_PLACEHOLDER_CHARS if before and after else 1}}}?"
                if self._evidence.matches(re.escape(before) + filler + re.escape(after)):
                    return True
        return False


def _is_free(name: str) -> bool:
    """Return whether a name means nothing by itself."""
    is_common = len(name) < 2 or _PLACEHOLDER.fullmatch(name) or name.lower() in _SYNTAX
    return bool(is_common or (_ADDRESS.search(name) and is_local(name)))


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _fill(match: re.Match[str]) -> str:
    return "…" * len(match[0])  # joins the parts of a name around a placeholder
