"""Unknown names in an answer: options, identifiers, paths, addresses, commands, keys and values.

A name is known if it occurs in the evidence as a whole, or if it fills the placeholder of a documented name with
words of the question. Names that the writer of an example chooses freely are placeholders and never marked.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import combinations, pairwise

from mkdocs_roaming.answer.commands import is_local
from mkdocs_roaming.answer.support.evidence import Evidence, normalize_text
from mkdocs_roaming.text.tokenizer import SPACELESS, stem

Span = tuple[int, int]

_MAX_NAME_CHARS = 200
_MAX_PLACEHOLDER_CHARS = 60
_MAX_WORDS_WITH_PLACEHOLDER = 8
_MIN_DOCUMENTED_WORDS = 2
"""Number of words of a name that are not filled in: with fewer, any name would do."""

_NAME = re.compile(
    r"https?://[^\s\"'`<>)\]]+"
    r"|-{1,2}[A-Za-z][\w-]*"
    r"|[^\s\"'`,;()\[\]{}|=<>&!:*+]+(?::[^\s\"'`,;()\[\]{}|=<>&!]+)?"
)
"""What may be a name in code: an address, an option, or a piece between spaces, quotes and brackets."""
_OPTION = rf"(?<!-)(?<![^\W{SPACELESS}])--[A-Za-z][A-Za-z0-9_-]+"
_TOKEN_OF_PROSE = re.compile(rf"https?://[^\s)\]>]*[^\s)\]>.,;:!?]|{_OPTION}|[\w./~\\-]*[\w/~\\]")
"""What may be a name in prose; the dot at the end of a sentence does not belong to it."""
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
"""What the writer of an example fills in or makes up: `<name>`, `example.com`, `foo`."""
# Words of shells and programming languages: not names of what a site documents.
_SYNTAX = frozenset({
    "-e", "-eq", "-f", "-ge", "-gt", "-le", "-lt", "-n", "-ne", "-z", "and", "as", "async", "await", "bash", "ci",
    "cat", "cd", "class", "com", "const", "def", "do", "done", "echo", "elif", "else", "env", "esac", "export",
    "false", "fi", "for", "from", "function", "http", "https", "if", "import", "in", "let", "ls", "mkdir",
    "new", "no", "none", "not", "null", "or", "org", "print", "return", "run", "self", "set", "sh", "source",
    "test", "then", "tool", "true", "until", "var", "while", "with", "www", "yes",
})  # read in columns  # fmt: skip
_COMMENT = re.compile(r"(?:^|(?<=\s))(?:#|//)\s.*$")
"""A comment at the end of a line: `# like this`, `// or this`."""
_PROMPT = re.compile(r"\s*(?:(?:\$|>|#)\s+|(?:RUN|sudo)\s+)*")
"""What stands before a command: `$ `, `RUN `, `sudo `."""
_QUOTED_PROSE = re.compile(r"([\"'])(?=[^\"']*\s)[^\"'=<>/_{]*\1")
"""Several words in quotation marks, such as `"a message"`."""
_ALTERNATIVES = re.compile(r"[A-Za-z]+(?:/[A-Za-z]+)+")
"""Words between which a reader chooses: `TLS/SSL`."""
_PLAIN = re.compile(r"[^\W\d_]+(?:\.[^\W\d_]+)*[.,:;]?")
"""Words of letters, with dots between them: `main.py`."""
_AMOUNT = re.compile(r"-?[\d._]+[A-Za-z%]{0,2}")
"""A number with its unit: `80%`, `-1`, `10ms`."""
_CHOSEN = re.compile(rf"{_PLAIN.pattern}|{_AMOUNT.pattern}")
"""A plain word or an amount, which the writer of an example may choose."""
_NOTHING = re.compile("(?!)")
"""Matches nowhere."""
_PART_OF_NAME = re.compile(r"[a-z0-9]+")
_COMMAND_WORD = re.compile(r"[a-z][a-z0-9-]*")
"""A command or a subcommand: `git`, `cherry-pick`."""
_KEY = re.compile(r"\s*(?:- )?([\w.-]+)\s*(?:=(?!=)|:(?=\s|$))\s*(.*)$")
"""A key with its value in YAML, TOML or a shell: `- port: 8001`, `port = 8001`."""
_QUOTED_WORD = re.compile(r"([\"'])([a-z]+)\1\s*,?\s*")
"""A word in quotation marks as a value: `"sync",`."""
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_TABLE = re.compile(r"\[\[?(?:[\w.-]+\.)?([\w-]+)\]\]?")
"""The head of a table in TOML; the group is its last key: `[tool.uv]`."""
_HOLE = re.compile(
    r"(?:<[\w-]{1,40}>|\{[\w-]{1,40}\})(?=[_./-]?\w)|(?<=\w[_./-])\{[\w-]{1,40}\}|(?<=\w[_./ =@-])<[\w-]{1,40}>"
)
"""A placeholder within a name: `<name>.toml`, `release-{version}`."""
_ADDRESS = re.compile(r"://|^(?:git@|www\.)")
"""A sign of an address: `https://`, `git@`, `www.`."""
_IMPORT = re.compile(r"\s*(?:from\s+(?=[\w.]+\s+import\b)|import\s+(?=[\w.]+(?:\s+as\s+\w+)?\s*$))([^\W\d]\w*)")
"""An import in Python; the group is the module's name: `from httpx import Client`."""
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
        for start, end in self._find_unknown(code):
            if text[start:end] not in self._evidence.chosen_numbers:
                yield start, end
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
        words: list[re.Match[str]] = []
        for word in _WORD.finditer(code, prompt.end() if prompt else 0):
            if not _COMMAND_WORD.fullmatch(word[0]) or _PLACEHOLDER.fullmatch(word[0]):
                break
            words.append(word)
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
            digits = "".join(character for character in name if character in "0123456789.")
            return digits.strip(".") in evidence.numbers
        if name.startswith(("http://", "https://")):
            return self._is_known_address(name.rstrip("/"))
        spellings = (name.replace("-", "_"), name.replace("_", "-"), name.strip("_"), name.removeprefix("tool."))
        if any(map(evidence.contains, spellings)):
            return True
        parts = name.split(".")
        if _PLAIN.fullmatch(name):
            if _PLACEHOLDER.fullmatch(parts[0]) and parts[0] in evidence.names_with_ending:
                return False  # it has another ending there
            return all(evidence.has_word(word) or _PLACEHOLDER.fullmatch(word) for word in parts)
        is_path_of_keys = len(parts) > 1 and all(f"{key}:" in evidence.text for key in parts)
        return is_path_of_keys or self._fills_placeholder(name)

    def _is_known_address(self, address: str) -> bool:
        host, *path = address.split("/")[2:] or [""]
        if self._evidence.contains(host) and all(map(_PLACEHOLDER.fullmatch, path)):
            return True
        host = host.rpartition("@")[2].removeprefix("www.")
        return self._evidence.contains(address) or self._evidence.is_asked(host)

    def _fills_placeholder(self, name: str) -> bool:
        """Return whether a name is a documented one in which words of the question replace a part.

        `UV_INDEX_ACME_TOKEN` fills `UV_INDEX_<NAME>_TOKEN` if the question is about `acme`.
        """
        words = list(_PART_OF_NAME.finditer(name))
        if len(words) > _MAX_WORDS_WITH_PLACEHOLDER:
            return False
        asked = [stem(word[0]) in self._evidence.question_words for word in words]
        for first, end in combinations(range(len(words) + 1), 2):
            is_asked = all(asked[first:end])
            if not is_asked or len(words) - (end - first) < _MIN_DOCUMENTED_WORDS:
                continue
            before = name[: words[first].start()]
            after = name[words[end - 1].end() :]
            longest = _MAX_PLACEHOLDER_CHARS if before and after else 1
            filler = rf"[\w<>{{}}$.-]{{1,{longest}}}?"
            if self._evidence.matches(re.escape(before) + filler + re.escape(after)):
                return True
        return False


def _is_free(name: str) -> bool:
    """Return whether a name means nothing by itself."""
    if len(name) < 2 or _PLACEHOLDER.fullmatch(name) or name.lower() in _SYNTAX:
        return True
    return _ADDRESS.search(name) is not None and is_local(name)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _fill(match: re.Match[str]) -> str:
    return "…" * len(match[0])  # joins the parts of a name around a placeholder
