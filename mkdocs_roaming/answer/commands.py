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
from typing import Any, NamedTuple
from urllib.parse import unquote

from mkdocs_roaming.text.blocks import find_code

_MAX_ADDRESS_CHARS = 2_000
_MAX_SCRIPT_CHARS = 500
_MAX_COMMENT_CHARS = 200
_MAX_KEY_CHARS = 60
_MAX_PORT_DIGITS = 5
_MAX_PARTS = 12
_CACHED_TEXTS = 64
_TRAILING = ".,;:!?*_~'\"`"
_QUOTES = ('"', "'", "`")
_QUOTES_OF_LIST = "\"',"
_NAME = re.compile("<<([a-z_]+)>>")
"""The name of another pattern in a pattern: `<<host>>`."""


Span = tuple[int, int]
Match = re.Match[str]


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


Targets = Iterator[Target]


def find_foreign(answer: str, sections: Iterable[str], question: str = "", site: str = "") -> list[Span]:
    """Return the spans of the targets in an answer that no section, no question and no page of the site names.

    Args:
        answer: The answer as Markdown.
        sections: The texts of the opened sections.
        question: The questions.
        site: URL of the site: its host and the hosts below it are known.
    """
    known = [read_keys(text) for text in (question, *sections)]
    host = _make_key(site).partition("/")[0]
    foreign = [target for target in find_targets(answer) if not _is_known(target, known, host)]
    foreign.sort(key=lambda target: (target.kind == "script", target.start, -target.end))
    spans = list[Span]()
    is_marked = bytearray(len(answer))
    for start, end, *_ in foreign:
        if not any(is_marked[start:end]):  # of a script, the address is marked
            is_marked[start:end] = b"x" * (end - start)
            spans.append((start, end))
    return sorted(spans)


def find_targets(markdown: str) -> Targets:
    """Yield the targets in code, and in prose those of commands; some more than once."""
    edge = 0
    for begin, stop in [*find_code(markdown), (len(markdown), len(markdown))]:
        for block in _pattern("indented").finditer(markdown, edge, begin):
            yield from _find_in_part(markdown, edge, block.start(), is_code=False)
            yield from _find_in_part(markdown, *block.span(), is_code=True)
            edge = block.end()
        yield from _find_in_part(markdown, edge, begin, is_code=False)
        yield from _find_in_part(markdown, begin, stop, is_code=True)
        edge = stop


@lru_cache(_CACHED_TEXTS)
def read_keys(text: str) -> frozenset[str]:
    """Return the keys that a text names, and of each the folder, with `/`, and all above, with `/*`."""
    names = {match[0].lower() for match in _pattern("path_or_word").finditer(text)}
    addresses = [name for name in names if "/" in name]
    for name in ("url", "host"):
        addresses += (match[0] for match in _pattern(name).finditer(text))
    keys = names.union(map(_make_key, addresses), (target.key for target in find_targets(text)))
    above = set[str]()
    for key in keys:
        folder = ""
        for part in key.split("/", _MAX_PARTS)[:-1]:
            folder += f"{part}/"
            above.add(f"{folder}*")
        if folder:
            above.add(folder)
    return frozenset(keys | above)


def _is_known(target: Target, known: Sequence[frozenset[str]], site: str) -> bool:
    """Return whether a target is in a set of keys, of which the first are those of the question, or on the site."""

    def has(*names: str) -> bool:
        return not all(keys.isdisjoint(names) for keys in known)

    key = target.key
    if has(key):
        return True
    if target.kind in ("script", "word"):
        return False
    host, _, path = key.partition("/")
    is_readers = host in known[0] and ("." in host or target.kind == "address")
    if is_readers or has(f"{key}/*") or (site and f".{host}".endswith(f".{site}")):
        return True
    if target.kind == "source":
        return False
    folders = key.split("/", _MAX_PARTS)[:-1]
    names = ["/".join(folders[:size]) for size in range(2, len(folders) + 1)]  # an address and what is below
    if "/" in path:
        names.append("/".join(folders) + "/")  # next to an address
    if site.split(".")[-2:] == host.split(".")[-2:]:
        names += (host, f"{host}/*")  # of the same owner
    return has(*names)


def _make_key(address: str) -> str:
    address = _pattern("placeholder").sub("0", unquote(address[:_MAX_ADDRESS_CHARS])).replace("\\", "/")
    address = _pattern("schemes").sub("", address.rstrip(_TRAILING)).partition("#")[0]
    address = _pattern("query").sub("", address)
    login, at, rest = address.partition("@")
    if at and "/" not in login:
        address = rest
    host, slash, path = address.partition("/")
    name, _, port = host.partition(":")
    if name and port and not port.isdecimal() and "[" not in name:  # host:path, as git writes it
        host = name
        path = f"{port}{slash}{path}"
    path = _pattern("tag").sub("", path.rstrip("/")).removesuffix(".git")
    path = _pattern("version").sub("0", _pattern("capitals").sub("0", path)).lower()
    host = _pattern("port").sub("", host.lower().removeprefix("www."))
    return _pattern("usual_host").sub("", f"{host}/{path}".rstrip("/"))


def is_local(address: str) -> bool:
    """Return whether an address has no host, a placeholder for one or for an owner, or is in a private network."""
    if _pattern("own_repository").match(address):
        return True
    host = _pattern("schemes").sub("", address[:_MAX_ADDRESS_CHARS])
    host = host.partition("/")[0].partition("?")[0].rpartition("@")[2]
    if _pattern("bucket").match(address):
        return False
    port = _pattern("placeholder").sub("", host).removeprefix(":")
    is_placeholder = not port or (port.isdecimal() and len(port) <= _MAX_PORT_DIGITS)
    return is_placeholder or _pattern("local_host").fullmatch(host) is not None


def _find_in_part(markdown: str, start: int, stop: int, *, is_code: bool) -> Targets:
    """Yield the targets in a block of code or a part of prose, as it is written and without what a shell ignores."""
    text = markdown[start:stop]
    if fence := _pattern("fence").match(text):
        end = fence.end()
        blank = "\n".join(" " * len(line) for line in text[:end].split("\n"))
        text = blank + text.rstrip("`~ \n")[end:]
    text = _pattern("blank").sub(lambda match: " " * len(match[0]), text)
    noise = set[int]()
    for match in _pattern("noise").finditer(text):
        noise.update(range(*match.span()))
    offsets = [offset for offset in range(len(text)) if offset not in noise]
    yield from _find_all(text, range(start, stop), is_code=is_code)
    if noise:
        plain = "".join(text[offset] for offset in offsets)
        yield from _find_all(plain, [start + offset for offset in offsets], is_code=is_code)


def _find_all(text: str, offsets: Sequence[int], *, is_code: bool) -> Targets:
    """Yield the targets in a text, each with its place in the Markdown; `offsets` are those of the characters."""
    arguments = _find_arguments(text, 0, len(text))
    if is_code:
        addresses = _find_addresses(text, "url", "host", "ip_address")
        targets = [*addresses, *_find_names(text), *arguments]
    else:
        is_host = _pattern("host_in_prose").search
        targets = list(_find_addresses(text, "piped_host"))
        targets += (argument for argument in arguments if is_host(text, argument.start, argument.end))
    for number, (start, end, *_) in enumerate(targets):
        targets[number] = targets[number]._replace(end=start + len(text[start:end].rstrip(_TRAILING)))
    for target in (*targets, *_find_scripts(text, sorted(targets), is_code=is_code)):
        yield target._replace(start=offsets[target.start], end=offsets[target.end - 1] + 1)


# Addresses


def _find_addresses(code: str, *names: str) -> Targets:
    """Yield URLs, IP addresses, and hosts that have a path, a port, quotation marks or a key that is for hosts."""
    for name in names:
        for match in _pattern(name).finditer(code):
            address = match["address"]
            start, end = match.span("address")
            before = code[max(0, start - _MAX_KEY_CHARS) : max(0, start)]
            if _pattern("namespace").search(before) or ("host" in name and not _is_used(match, before, code)):
                continue
            if address and not is_local(address):
                kind = "source" if _pattern("remote_url").search(address) else "address"
                yield Target(start, end, _make_key(address), kind)


def _is_used(match: Match, before: str, code: str) -> bool:
    """Return whether code seems to use a host: others are names of files, attributes, labels of Kubernetes."""
    end = match.end()
    path = match["path"] or ""
    if _pattern("name_end").match(code, end - 1) or "=" in path.partition("?")[0]:
        return False
    if match["user"]:
        return bool(path)
    if not _pattern("host_domain").fullmatch(match["tld"]):
        return False
    if path or match["port"] or _pattern("host_key").search(before):
        return True
    is_quoted = before[-1:] in _QUOTES and code[end : end + 1] == before[-1:]
    is_alone = match[0] == code.strip()
    return (is_quoted or is_alone) and _pattern("quoted_domain").fullmatch(match["tld"]) is not None


# Arguments of commands


def _find_names(code: str) -> Targets:
    """Yield images and remotes that have no host, and words in which letters of two alphabets look alike."""
    for match in _pattern("mixed").finditer(code):
        if not _is_in_comment(code, match.start()):
            yield Target(*match.span(), match[0].lower(), "word")
    no_source = _pattern("no_source").match
    stages = {match[1].lower() for match in _pattern("stage").finditer(code)}
    for pattern in _read_table()["sources"]:
        for match in _compile(pattern).finditer(code):
            if _is_in_comment(code, match.start()):
                continue
            for word in _pattern("word_of_list").finditer(code, *match.span("name")):
                name = word[0].strip("\"'")
                if not no_source(name) and name.lower() not in stages:
                    key = _make_key(_pattern("tags").sub("", name))
                    yield Target(*word.span(), key, "source")


def _find_arguments(code: str, start: int, stop: int) -> Targets:
    """Yield hosts without a scheme among the arguments of commands that connect to one."""
    while command := _pattern("command").search(code, start, stop):
        start = command.end()
        option = ""
        if _is_in_comment(code, command.start()):
            continue
        for argument in _pattern("argument").finditer(code, start, stop):
            start = argument.end()
            if argument["end"]:
                break
            word = argument[0].lstrip(_QUOTES_OF_LIST)
            inner = word.removesuffix("]")
            if inner.endswith(tuple(_QUOTES_OF_LIST)):  # of a list in JSON
                word = inner.rstrip(_QUOTES_OF_LIST)
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


def _is_host(word: str, command: Match) -> bool:
    is_host = _pattern("host_argument").fullmatch(_pattern("placeholder").sub("0", word))
    return bool(is_host or (command["remote"] and "://" in word)) and not is_local(word)


def _is_in_comment(code: str, position: int) -> bool:
    line = code[max(0, position - _MAX_COMMENT_CHARS) : position].rpartition("\n")[2]
    return _pattern("comment").match(line) is not None


def _is_value(word: str, option: str, command: Match) -> bool:
    """Return whether an argument is the value of an option, or a file to copy."""
    if command["copy"]:
        return "@" not in word and ":" not in word
    if _pattern("value_option").fullmatch(option):
        return True
    values = _read_table()["value_letters"]
    name = (command["name"] or "").lower()
    letters = set(values.get(name, "" if command["download"] else values["default"]))
    flags = option[1:]  # of which the last one has the value
    return option[:1] == "-" and flags[-1:] in letters and letters.isdisjoint(flags[:-1]) and "-" not in flags


# Scripts


def _find_scripts(code: str, targets: Sequence[Target], *, is_code: bool) -> Targets:
    """Yield what a shell or an interpreter gets from a pipe, from another command or from encoded text."""
    for match in _pattern("pipe").finditer(code):
        start = max(0, match.start() - _MAX_SCRIPT_CHARS)
        for end in _pattern("command_end").finditer(code, start, match.start()):
            start = end.end()
        source = code[start : match.start()]
        if not _pattern("no_command").search(source) and (is_code or _pattern("gets_script").search(source)):
            yield _make_script(start, match.end(), source, targets)
    for name in ("substitution", "evaluation") if is_code else ():
        for match in _pattern(name).finditer(code):
            yield _make_script(*match.span(), match[match.lastgroup or 0], targets)
    if is_code and _pattern("decodes").search(code) and _pattern("executes").search(code):
        for match in _pattern("literal").finditer(code):
            yield Target(*match.span(), f"| {match[0]}", "script")


def _make_script(start: int, end: int, source: str, targets: Sequence[Target]) -> Target:
    """Return a script; its key is the addresses that it is from, or the program, or the text that a program prints."""
    inside = targets[bisect_left(targets, (start,)) : bisect_left(targets, (end,))]
    program = _pattern("program").match(source)
    words = sorted({target.key for target in inside})
    if not words:
        words = [program[1]] if program else source.split()
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
    expanded = _NAME.sub(lambda match: names[match[1]], pattern)
    if expanded != pattern:
        return _compile(expanded)
    return re.compile(pattern.replace("\n", ""), re.IGNORECASE | re.MULTILINE)
