"""What the code in an answer fetches, installs from, connects to or runs, and whether docs or question name it.

A target is a URL, a host, an IP address, a package index, an image, a remote, or a script that a shell or an
interpreter gets from elsewhere or decodes. Names of packages are none. Each target has a key: the target without
version, port, tag, login and query, so that an adapted command has the key of the documented one.

The patterns are data: `commands.toml`.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import unquote

from mkdocs_roaming.text.blocks import find_code


class Target(NamedTuple):
    """A part of a text that names what code uses.

    Attributes:
        start: Offset of the first character.
        end: Offset behind the last character.
        key: The key to compare.
        kind: An `address`; a `source` of code (a remote or an image), of which no part may differ; a `script`; a
            `word` that mixes alphabets.
    """

    start: int
    end: int
    key: str
    kind: str = "address"


def find_foreign(answer: str, sections: Iterable[str], question: str = "", site: str = "") -> list[tuple[int, int]]:
    """Return the spans of the targets in an answer that no section, no question and no page of the site names.

    Args:
        answer: The answer as Markdown.
        sections: The texts of the opened sections.
        question: The questions.
        site: URL of the site: its host and the hosts below it are known.
    """
    known = [read_keys(text) for text in (question, *sections)]
    host = _make_key(site).partition("/")[0]
    foreign = (one for one in find_targets(answer) if not _is_known(one, known, host))
    spans = list[tuple[int, int]]()
    for one in sorted(foreign, key=lambda one: (one.kind == "script", one.start, -one.end)):
        place = bisect_left(spans, (one.start,))
        ends = spans[place - 1][1] if place else 0
        if ends <= one.start and (place == len(spans) or one.end <= spans[place][0]):  # of a script, the address
            spans.insert(place, (one.start, one.end))
    return spans


def find_targets(markdown: str) -> Iterator[Target]:
    """Yield the targets in code, and in prose those of commands; some more than once."""
    edge = 0
    for begin, stop in [*find_code(markdown), (len(markdown),) * 2]:
        parts = [(edge, False)]
        for block in _pattern("indented").finditer(markdown, edge, begin):
            parts += ((block.start(), True), (block.end(), False))
        parts += ((begin, True), (stop, False))
        for (start, is_code), (end, _) in pairwise(parts):
            for found in _find_all(markdown[start:end], is_code=is_code):
                yield found._replace(start=start + found.start, end=start + found.end)
        edge = stop


@lru_cache(maxsize=64)
def read_keys(text: str) -> frozenset[str]:
    """Return the keys that a text names, and of each the folder, with `/`, and all above, with `/*`."""
    names = {match[0].lower() for match in _pattern("path_or_word").finditer(text)}
    keys = names | {target.key for target in find_targets(text)}
    keys |= {_make_key(match[0]) for name in ("url", "host") for match in _pattern(name).finditer(text)}
    keys |= {_make_key(name) for name in names if "/" in name}
    above = set[str]()
    for parts in (key.split("/", _MAX_PARTS) for key in keys if "/" in key):
        above.add("/".join(parts[:-1]) + "/")
        above |= {"/".join(parts[:size]) + "/*" for size in range(1, len(parts))}
    return frozenset(keys | above)


def _is_known(target: Target, known: Sequence[frozenset[str]], site: str) -> bool:
    """Return whether a target is in a set of keys, of which the first are those of the question, or on the site."""

    def has(*names: str) -> bool:
        return any(name in keys for keys in known for name in names)

    key = target.key
    if has(key) or target.kind in ("script", "word"):
        return has(key)
    host, _, path = key.partition("/")
    is_readers = host in known[0] and ("." in host or target.kind == "address")
    if is_readers or has(f"{key}/*") or (site and f".{host}".endswith(f".{site}")):
        return True
    if target.kind == "source":
        return False
    folders = key.split("/", _MAX_PARTS)[:-1]
    names = ["/".join(folders[:size]) for size in range(2, len(folders) + 1)]  # an address and what is below
    names += ["/".join(folders) + "/"] if "/" in path else []  # next to an address
    names += [host, f"{host}/*"] if site.split(".")[-2:] == host.split(".")[-2:] else []  # of the same owner
    return has(*names)


def _make_key(address: str) -> str:
    address = _pattern("placeholder").sub("0", unquote(address[:_MAX_ADDRESS_CHARS])).replace("\\", "/")
    address = _pattern("schemes").sub("", address.rstrip(_TRAILING)).partition("#")[0]
    address = re.sub(r"^[^/@]*@", "", re.sub(r"\?[\w=&+,:-]*$", "", address))
    host, _, path = re.sub(r"^([^/:\[]+):(?!\d*(?:/|$))", r"\1/", address).partition("/")
    path = re.sub(r"(?:[:@][\w.^~-]*)?$", "", path.rstrip("/")).removesuffix(".git")
    path = re.sub(r"[0-9]+(?:[.][0-9]+)*", "0", _pattern("capitals").sub("0", path)).lower()
    key = f"{re.sub(r'^www[.]|:[0-9]*$', '', host.lower())}/{path}".rstrip("/")
    return re.sub(r"^(?:github\.com|(?:index\.|registry-\d\.)?docker\.io)/(?:library/)?(?=.)", "", key)


def is_local(address: str) -> bool:
    """Return whether an address has no host, a placeholder for one or for an owner, or is in a private network."""
    if _pattern("own_repository").match(address):
        return True
    host = _pattern("schemes").sub("", address[:_MAX_ADDRESS_CHARS])
    host = host.partition("/")[0].partition("?")[0].rpartition("@")[2]
    is_placeholder = re.fullmatch(r":?\d{0,5}", _pattern("placeholder").sub("", host))
    return not _pattern("bucket").match(address) and bool(is_placeholder or _pattern("local_host").fullmatch(host))


def _find_all(text: str, *, is_code: bool) -> Iterator[Target]:
    if fence := _pattern("fence").match(text):
        text = re.sub(r"[^\n]", " ", fence[0]) + text.rstrip("`~ \n")[fence.end() :]
    text = _pattern("blank").sub(lambda match: " " * len(match[0]), text)
    noise = {at for match in _pattern("noise").finditer(text) for at in range(*match.span())}
    places = [at for at in range(len(text)) if at not in noise]
    plain = "".join(text[at] for at in places) if noise else text
    for code, offsets in {text: range(len(text)), plain: places}.items():
        found = [*(_find_in_code(code) if is_code else _find_in_prose(code))]
        found = [one._replace(end=one.start + len(code[one.start : one.end].rstrip(_TRAILING))) for one in found]
        for one in (*found, *_find_scripts(code, sorted(found), is_code=is_code)):
            yield one._replace(start=offsets[one.start], end=offsets[one.end - 1] + 1)


def _find_in_code(code: str) -> Iterator[Target]:
    yield from _find_addresses(code, "url", "host", "ip_address")
    yield from _find_sources(code)
    yield from _find_mixed(code)
    yield from _find_arguments(code, 0, len(code))


def _find_in_prose(prose: str) -> Iterator[Target]:
    yield from _find_addresses(prose, "piped_host")
    for one in _find_arguments(prose, 0, len(prose)):
        if _pattern("host_in_prose").search(prose, one.start, one.end):
            yield one


# Addresses


def _find_addresses(code: str, *names: str) -> Iterator[Target]:
    """Yield URLs, IP addresses, and hosts that have a path, a port, quotation marks or a key that is for hosts."""
    for name in names:
        for match in _pattern(name).finditer(code):
            start, end = match.span("address")
            before = code[max(0, start - _MAX_KEY_CHARS) : max(0, start)]
            is_used = not _pattern("namespace").search(before) and ("host" not in name or _is_used(match, before, code))
            if is_used and not is_local(match["address"] or ""):
                kind = "source" if _pattern("remote_url").search(match["address"]) else "address"
                yield Target(start, end, _make_key(match["address"]), kind)


def _is_used(match: re.Match[str], before: str, code: str) -> bool:
    """Return whether code seems to use a host: others are names of files, attributes, labels of Kubernetes."""
    end = match.end()
    path = match["path"] or ""
    if _pattern("name_end").match(code, end - 1) or "=" in path.partition("?")[0] or (match["user"] and not path):
        return False
    domain = "com" if match["user"] else match["tld"]
    if not _pattern("host_domain").fullmatch(domain):
        return False
    is_quoted = (before[-1:] in _QUOTES and code[end : end + 1] == before[-1:]) or match[0] == code.strip()
    is_named = is_quoted and _pattern("quoted_domain").fullmatch(domain)
    return bool(path or match["port"] or is_named or _pattern("host_key").search(before))


# Arguments of commands


def _find_sources(code: str) -> Iterator[Target]:
    """Yield images and remotes that have no host."""
    no_source = _pattern("no_source").match
    stages = {match[1].lower() for match in _pattern("stage").finditer(code)}
    for pattern in _read_table()["sources"]:
        for match in _compile(pattern).finditer(code):
            for word in re.finditer(r"[^\s\[\],]+", match["name"]):  # of a list
                name = word[0].strip("\"'")
                start = match.start("name")
                if not (no_source(name) or name.lower() in stages or _is_in_comment(code, match.start())):
                    key = _make_key(re.sub(r"(?:@\S*|:[\w.-]*)+$", "", name))
                    yield Target(start + word.start(), start + word.end(), key, "source")


def _find_mixed(code: str) -> Iterator[Target]:
    """Yield words in which letters of another alphabet look like Latin ones."""
    for match in _pattern("mixed").finditer(code):
        if not _is_in_comment(code, match.start()):
            yield Target(*match.span(), match[0].lower(), "word")


def _find_arguments(code: str, start: int, stop: int) -> Iterator[Target]:
    """Yield hosts without a scheme among the arguments of commands that connect to one."""
    while command := _pattern("command").search(code, start, stop):
        start = command.end()
        option = ""
        if _is_in_comment(code, command.start()):
            continue
        for argument in _pattern("argument").finditer(code, start, stop):
            start = argument.end()
            word = re.sub(r"[\"',]+\]?$", "", argument[0].lstrip("\"',"))
            if argument["end"]:
                break
            for quoted in _pattern("quoted").finditer(code, argument.start(), start):  # perhaps another command
                yield from _find_arguments(code, quoted.start() + 1, quoted.end() - 1)
            if word.startswith("-"):
                option, _, word = word.partition("=")
            if not word.strip("[]") or word[0] in "<>":
                continue
            is_value = _is_value(word, option, command)
            option = ""
            if not is_value and _is_host(word, command):
                first = argument.start() + argument[0].index(word)
                kind = "source" if command["remote"] else "address"
                yield Target(first, first + len(word), _make_key(word), kind)
            if not (is_value or command["copy"] or command["download"]):
                break  # what follows runs on the host


def _is_host(word: str, command: re.Match[str]) -> bool:
    is_host = _pattern("host_argument").fullmatch(_pattern("placeholder").sub("0", word))
    return bool(is_host or (command["remote"] and "://" in word)) and not is_local(word)


def _is_in_comment(code: str, position: int) -> bool:
    line = code[max(0, position - _MAX_COMMENT_CHARS) : position].rpartition("\n")[2]
    return _pattern("comment").match(line) is not None


def _is_value(word: str, option: str, command: re.Match[str]) -> bool:
    """Return whether an argument is the value of an option, or a file to copy."""
    if command["copy"]:
        return "@" not in word and ":" not in word
    values = _read_table()["value_letters"]
    name = (command["name"] or "").lower()
    letters = values.get(name, "\0" if command["download"] else values["default"])
    return bool(_pattern("value_option").fullmatch(option) or re.fullmatch(f"-[^-{letters}]*[{letters}]", option))


# Scripts


def _find_scripts(code: str, targets: Sequence[Target], *, is_code: bool) -> Iterator[Target]:
    """Yield what a shell or an interpreter gets from a pipe, from another command or from encoded text."""
    for match in _pattern("pipe").finditer(code):
        first = max(0, match.start() - _MAX_SCRIPT_CHARS)
        ends = (end.end() for end in _pattern("command_end").finditer(code, first, match.start()))
        start = max(ends, default=first)
        source = code[start : match.start()]
        if not _pattern("no_command").search(source) and (is_code or _pattern("gets_script").search(source)):
            yield _make_script(start, match.end(), source, targets)
    for name in ("substitution", "evaluation") if is_code else ():
        for match in _pattern(name).finditer(code):
            yield _make_script(*match.span(), match[match.lastgroup or 0], targets)
    if is_code and _pattern("decodes").search(code) and _pattern("executes").search(code):
        yield from (Target(*match.span(), f"| {match[0]}", "script") for match in _pattern("literal").finditer(code))


def _make_script(start: int, end: int, source: str, targets: Sequence[Target]) -> Target:
    """Return a script; its key is the addresses that it is from, or the program, or the text that a program prints."""
    inside = targets[bisect_left(targets, (start,)) : bisect_left(targets, (end,))]
    program = _pattern("program").match(source)
    words = sorted({target.key for target in inside}) or ([program[1]] if program else source.split())
    return Target(start, end, " ".join(["|", *words]), "script")


# Patterns


@cache
def _read_table() -> dict[str, Any]:
    return tomllib.loads((resources.files("mkdocs_roaming") / "answer/commands.toml").read_text("utf-8"))


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return _compile(_read_table()["patterns"][name])


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    names = _read_table()["patterns"] | _read_table()["names"]
    expanded = re.sub("<<([a-z_]+)>>", lambda match: names[match[1]], pattern)
    if expanded != pattern:
        return _compile(expanded)
    return re.compile(pattern.replace("\n", ""), re.IGNORECASE | re.MULTILINE)


_MAX_ADDRESS_CHARS = 2_000
_MAX_SCRIPT_CHARS = 500
_MAX_COMMENT_CHARS = 200
_MAX_KEY_CHARS = 60
_MAX_PARTS = 12
_TRAILING = ".,;:!?*_~'\"`"
_QUOTES = ('"', "'", "`")
