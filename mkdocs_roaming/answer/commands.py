"""What the code in an answer fetches, installs from, connects to or runs, and whether docs or question name it.

A target is a URL, a host, an IP address, a package index, an image, a remote, or a script that a shell or an
interpreter gets from elsewhere or decodes. Names of packages are none. Each target has a key: the target without
version, port, tag, login and query, so that an adapted command has the key of the documented one.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import unquote

from mkdocs_roaming.text.markdown import find_code


class Target(NamedTuple):
    """A part of a text that names what code uses.

    Attributes:
        start: Offset of the first character.
        end: Offset behind the last character.
        key: The key to compare.
        kind: An `address`; a `source` of code (a remote or an image), of which no part may differ; a `script`.
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
    host = _key(site).partition("/")[0]
    foreign = [one for one in find_targets(answer) if not _is_known(one, known, host)]
    foreign.sort(key=lambda one: (one.start, -one.end))
    addresses = [one for one in foreign if one.kind != "script"]
    spans, edge = list[tuple[int, int]](), 0
    for one in foreign:
        inside = bisect_left(addresses, (one.start,))
        if one.kind == "script" and inside < len(addresses) and addresses[inside].start < one.end:
            continue  # the address is marked
        if one.start >= edge:
            spans.append((one.start, one.end))
            edge = one.end
    return spans


def find_targets(markdown: str) -> Iterator[Target]:
    """Yield the targets in code, and in prose those of commands."""
    edge = 0
    for begin, stop in [*find_code(markdown), (len(markdown),) * 2]:
        parts = [(edge, False)]
        for block in _INDENTED.finditer(markdown, edge, begin):
            parts += ((block.start(), True), (block.end(), False))
        parts += ((begin, True), (stop, False))
        for (start, is_code), (end, _) in pairwise(parts):
            for found in _find_all(markdown[start:end], is_code=is_code):
                yield found._replace(start=start + found.start, end=start + found.end)
        edge = stop


@lru_cache(maxsize=128)
def read_keys(text: str) -> frozenset[str]:
    """Return the keys that a text names, those of the folders that it names a file of, and of all above."""
    names = {match[0].lower() for match in _PATH_OR_WORD.finditer(text)}
    keys = names | {target.key for target in find_targets(text)}
    keys |= {_key(match[0]) for pattern in (_URL, _HOST) for match in pattern.finditer(text)}
    keys |= {_key(name) for name in names if "/" in name}
    above = set[str]()
    for parts in (key.split("/", _MAX_PARTS) for key in keys if "/" in key):
        above.add("/".join(parts[:-1]) + "/")
        above |= {"/".join(parts[:size]) + "/*" for size in range(1, len(parts))}
    return frozenset(keys | above)


def _is_known(target: Target, known: Sequence[frozenset[str]], site: str) -> bool:
    def has(key: str) -> bool:
        return any(key in keys for keys in known)

    key = target.key
    if has(key) or target.kind == "script":
        return has(key)
    host, _, path = key.partition("/")
    on_site = site and f".{host}".endswith(f".{site}")
    is_readers = host in known[0] and ("." in host or target.kind == "address")
    if on_site or is_readers or target.kind == "source" or has(f"{key}/*"):
        return bool(on_site or is_readers or has(f"{key}/*"))
    is_ours = site.split(".")[-2:] == host.split(".")[-2:] and (has(host) or has(f"{host}/*"))
    folders = key.split("/", _MAX_PARTS)[:-1]
    return (
        is_ours
        or ("/" in path and has("/".join(folders) + "/"))
        or any(has("/".join(folders[:size])) for size in range(2, len(folders) + 1))
    )


def _key(address: str) -> str:
    """Return the key of an address."""
    address = _PLACEHOLDER.sub("0", unquote(address[:_MAX_ADDRESS_CHARS])).replace("\\", "/").rstrip(_TRAILING)
    address = _SCHEMES.sub("", address).partition("#")[0]
    address = re.sub(r"^[^/@]*@", "", re.sub(r"\?[\w=&+,:-]*$", "", address))
    host, _, path = re.sub(r"^([^/:\[]+):(?!\d*(?:/|$))", r"\1/", address).partition("/")
    path = re.sub(r"(?:[:@][\w.^~-]*)?$", "", path.rstrip("/")).removesuffix(".git")
    path = re.sub(r"[0-9]+(?:[.][0-9]+)*", "0", _CAPITALS.sub("0", path)).lower()
    key = f"{re.sub(r':[0-9]*$', '', host).lower()}/{path}".rstrip("/")
    return re.sub(r"^(?:github\.com|(?:index\.|registry-\d\.)?docker\.io)/(?:library/)?(?=.)", "", key)


def _is_local(address: str) -> bool:
    """Return whether an address has no host, a placeholder for one, or the host is in a private network."""
    if _BUCKET.match(address):
        return False
    host = _SCHEMES.sub("", address[:_MAX_ADDRESS_CHARS]).partition("/")[0].partition("?")[0].rpartition("@")[2]
    return re.fullmatch(r":?\d{0,5}", _PLACEHOLDER.sub("", host)) is not None or _LOCAL_HOST.fullmatch(host) is not None


def _cut_tag(image: str) -> str:
    return re.sub(r"(?:@\S*|:[\w.-]*)+$", "", image)


# Targets


def _find_all(text: str, *, is_code: bool) -> Iterator[Target]:
    """Yield the targets of code, or those of commands in prose, also more than once."""
    if fence := _FENCE.match(text):
        text = re.sub(r"[^\n]", " ", fence[0]) + text.rstrip("`~ \n")[fence.end() :]
    plain, offsets = _remove_noise(text)
    for version, places in ((text, None), (plain, offsets)) if plain != text else ((text, None),):
        version = _CONTINUED.sub(lambda match: " " * len(match[0]), version)
        targets = [*_find_addresses(version), *_find_sources(version)] if is_code else []
        targets += [
            Target(start, end, _key(version[start:end]), kind)
            for start, end, kind in _find_arguments(version, 0, len(version))
            if is_code or _HOST_IN_PROSE.search(version, start, end)
        ]
        targets += [*_find_scripts(version, sorted(targets), is_code=is_code)]
        for start, end, key, kind in targets:
            end = start + len(version[start:end].rstrip(_TRAILING)) if kind != "script" else end
            yield Target(places[start], places[end - 1] + 1, key, kind) if places else Target(start, end, key, kind)


def _remove_noise(text: str) -> tuple[str, list[int]]:
    """Return code without what a shell ignores, such as empty quotation marks, and the offsets of its characters."""
    offsets, edge, parts = list[int](), 0, list[str]()
    for noise in _NOISE.finditer(text):
        blank = " " if noise["blank"] else ""
        parts += (text[edge : noise.start()], blank)
        offsets += (*range(edge, noise.start()), *([noise.start()] if blank else ()))
        edge = noise.end()
    return "".join([*parts, text[edge:]]), [*offsets, *range(edge, len(text))]


def _find_addresses(code: str) -> Iterator[Target]:
    """Yield URLs, hosts with a path or a port, quoted hosts, hosts of a key, and IP addresses."""
    for match in _URL.finditer(code):
        kind = "source" if _REMOTE_URL.search(match[0]) else "address"
        if not _is_local(match[0]) and not _NAMESPACE.search(code, max(0, match.start() - 40), match.start()):
            yield Target(*match.span(), _key(match[0]), kind)
    quotes, whole = tuple("\"'`"), code.strip()
    for match in _HOST.finditer(code):
        start, end = match.span()
        before, is_common = code[max(0, start - 60) : start], f" {match['tld'].lower()} " in _TLDS
        is_quoted = (before[-1:] in quotes and code[end : end + 1] == before[-1:]) or match[0] == whole
        is_value = _HOST_KEY.search(before) is not None or (is_quoted and f" {match['tld'].lower()} " in _SURE_TLDS)
        if match["path"] or match["port"]:
            is_value = is_value or is_common
        elif match["user"]:
            is_value = False
        is_name = _NAME_END.match(code, end - 1) or "=" in (match["path"] or "").partition("?")[0]  # of Kubernetes
        is_remote = match["user"] and re.match(":.", match["path"] or "")
        if (
            (is_remote or (is_value and is_common))
            and not (is_name or _API_VERSION.search(before))
            and not _is_local(match[0])
        ):
            yield Target(start, end, _key(match[0]), "source" if _REMOTE_URL.search(match[0]) else "address")
    for match in _IP_ADDRESS.finditer(code):
        if match["address"] and not _is_local(match["address"]):
            yield Target(*match.span("address"), _key(match["address"]))


def _find_sources(code: str) -> Iterator[Target]:
    """Yield images and remotes that have no host."""
    stages = {match[1].lower() for match in _STAGE.finditer(code)}
    for pattern in _SOURCES:
        for match in pattern.finditer(code):
            name = match["name"].strip("\"',")
            if not (_NO_SOURCE.match(name) or _FILE.search(name) or name.lower() in stages):
                yield Target(*match.span("name"), _key(_cut_tag(name)), "source")
    for match in _RUN_IMAGE.finditer(code):
        if _is_in_comment(code, match.start()):
            continue
        is_value = False
        for word in _ARGUMENT.finditer(code, match.end()):
            text = word[0].strip("\"'")
            if word["end"] or not text:
                break
            if is_value or text.startswith("-"):
                is_value = not is_value and not _SWITCH.fullmatch(text)
                continue
            if not _NO_SOURCE.match(text):
                yield Target(*word.span(), _key(_cut_tag(text)), "source")
            break


def _find_arguments(code: str, start: int, stop: int) -> Iterator[tuple[int, int, str]]:
    """Yield the spans and kinds of hosts without a scheme among the arguments of commands that connect to one."""
    while command := _COMMAND.search(code, start, stop):
        start = command.end()
        if _is_in_comment(code, command.start()):
            continue
        option = ""
        for argument in _ARGUMENT.finditer(code, start, stop):
            start, word = argument.end(), re.sub(r"[\"',]+\]?$", "", argument[0].lstrip("\"',"))
            if argument["end"]:
                break
            for quoted in _QUOTED.finditer(code, argument.start(), start):  # perhaps another command
                yield from _find_arguments(code, quoted.start() + 1, quoted.end() - 1)
            if word.startswith("-"):
                option, _, word = word.partition("=")
            if word.strip("[]") == "" or word[0] in "<>":
                continue
            is_value, option = _is_value(word, option, command), ""
            is_host = _HOST_ARGUMENT.fullmatch(_PLACEHOLDER.sub("0", word)) and not _is_local(word)
            if (is_host or (command["copy"] and "://" in word and not _is_local(word))) and not is_value:
                first = argument.start() + argument[0].index(word)
                yield first, first + len(word), "source" if command["remote"] else "address"
            if not (is_value or command["copy"] or command["download"]):
                break  # what follows runs on the host


def _is_in_comment(code: str, position: int) -> bool:
    return _COMMENT.match(code[max(0, position - _MAX_COMMENT_CHARS) : position].rpartition("\n")[2]) is not None


def _is_value(word: str, option: str, command: re.Match[str]) -> bool:
    """Return whether an argument is the value of an option, or a file to copy."""
    if command["copy"]:
        return "@" not in word and ":" not in word
    letters = _VALUE_LETTERS.get((command["name"] or "").lower(), "\0" if command["download"] else _VALUE_LETTERS[""])
    return bool(_VALUE_OPTION.fullmatch(option) or re.fullmatch(f"-[^-{letters}]*[{letters}]", option))


# Scripts


def _find_scripts(code: str, targets: Sequence[Target], *, is_code: bool) -> Iterator[Target]:
    """Yield what a shell or an interpreter gets from a pipe, from another command or from encoded text."""
    for match in _PIPE.finditer(code):
        first = max(0, match.start() - _MAX_SCRIPT_CHARS)
        start = max((end.end() for end in _COMMAND_END.finditer(code, first, match.start())), default=first)
        source = code[start : match.start()]
        if not _NO_COMMAND.search(source) if is_code else _FETCHES.search(source) or _DECODES.search(source):
            yield _make_script(start, match.end(), source, targets)
    for match in _SUBSTITUTION.finditer(code) if is_code else ():
        yield _make_script(*match.span(), match["source"], targets)
    for match in _EVALUATION.finditer(code) if is_code else ():
        is_fetched = match["name"] and _FETCHES.search(match[0])
        if match["any"] is not None or match["encoded"] or is_fetched or _DECODES.search(match[0]):
            yield _make_script(*match.span(), match[0], targets)
    if is_code and _DECODES.search(code) and _EXECUTES.search(code):
        yield from (Target(*match.span(), f"| {match[0]}", "script") for match in _LITERAL.finditer(code))


def _make_script(start: int, end: int, source: str, targets: Sequence[Target]) -> Target:
    """Return a script; its key is the addresses that it is from, or the program, or the text that a program prints."""
    inside = targets[bisect_left(targets, (start,)) : bisect_left(targets, (end,))]
    program = _PROGRAM.match(source)
    words = sorted({target.key for target in inside}) or [program[1]] if program else source.split()
    return Target(start, end, " ".join(["|", *words]), "script")


# Patterns. None has two ways to read the same text, or else the number of repetitions is limited: time is linear.

_MAX_ADDRESS_CHARS = 2_000
_MAX_SCRIPT_CHARS = 500
_MAX_COMMENT_CHARS = 200
_MAX_PARTS = 12
_TRAILING = ".,;:!?*_~'\"`"
_SURE_TLDS = " com net org edu gov example invalid onion xyz ru cn "
_TLDS = (
    f"{_SURE_TLDS}io dev app ai co me info biz top site online shop store cloud tech club link live page run"
    " space test eu uk de fr jp in nl se no it es pl br us ca au ch at be cz to tv cc ws gg im is su ua kr tw hk icu"
    " zip mov int mil "
)
"""Domains of hosts that are recognized without a command, and those for which quotation marks are enough."""
_PATH_OR_WORD = re.compile(r"\w+(?:[./-]+\w+)*")
_PATH = r"[^\s<>`\"'|)\]}\\;,]*"
_IP = r"\d{1,3}(?:\.\d{1,3}){3}(?!\.?\w)"
_ODD_IP = r"(?:0x[0-9a-f]{6,8}|\d{9,10}|0[0-7x][0-9a-f]*(?:\.[0-9a-fx]+){1,3})(?!\.?\w)"
_DOMAIN = r"(?:[\w-]+\.)+(?:[^\W\d_]{2,}|xn--[\w-]+)"
_SPACED = r"\{\{[^{}\n]{0,80}\}\}|\$?\{[^{}\s]{0,80}\}|\$\([^()\n]{0,80}\)|<[\w. -]{1,40}>"
_PLACEHOLDER = re.compile(
    rf"{_SPACED}|\$\w+|%\w+%|(?:your|my)[_-][a-z]+|(?-i:(?<![\w.-])[A-Z_]{{3,}}(?=[:/]|\Z))", re.IGNORECASE
)
_CAPITALS = re.compile(r"(?<![A-Za-z])[A-Z][A-Z0-9_]{2,}(?![a-z])")
_SCHEMES = re.compile(
    r"^https?:/?(?!/)|^(?:[a-z][\w+-]{0,31}:{1,2}(?=(?:[a-z][\w+-]{0,31}:{1,2}){0,2}//))*/*", re.IGNORECASE
)
_URL = re.compile(
    r"(?:[a-z][a-z0-9+.-]{1,31}://|(?<![\w.-])https?:/?(?=[\w\[])|(?<![\w:/*])//(?=[\w-]+\.[\w-])"
    r"|(?<![\w\\])\\\\(?:[\w-]+\.)+[a-z]{2,24}(?=\\))"
    rf"(?:\[[0-9a-f:.]+\])?(?:{_SPACED}|[^\s<>`\"'|)\]}}\\;,])*",
    re.IGNORECASE,
)
_NAMESPACE = re.compile(r"\b(?:xmlns(?::\w+)?|xsi:\w+|\$schema[\"']?)\s*[=:]\s*[\"']?\Z", re.IGNORECASE)
_REMOTE_URL = re.compile(r"^git[+:]|\.git\b")
_HOST = re.compile(
    r"(?<![\w@/.$\\-])(?P<user>[\w.+-]{1,64}@)?(?:[\w-]+\.)+(?P<tld>[a-z]{2,24}|xn--[\w-]+)(?![\w(@-])"
    rf"(?P<port>:\d+(?!\w))?(?P<path>[:/]{_PATH})?",
    re.IGNORECASE,
)
_HOST_KEY = re.compile(
    r"(?:host|server|addr|endpoint|registry|broker|proxy|mirror|upstream|remote|ur[il]|index|ntp|dns|source|domain"
    r"|computername)s?\w{0,12}[\"']?(?:\s?[:=(]\s?|[ \t])[\"']?\Z|\s-h[ \t]*\Z|(?-i:\b[A-Z][A-Z0-9_]*)=[\"']?\Z",
    re.IGNORECASE,
)
_NAME_END = re.compile(r"(?::|.[\"']?:)(?=\s|\Z)|.[\"']\]")
_API_VERSION = re.compile(r"\bapiVersion[\"']?:\s*[\"']?\Z|\b(?:crd|apiGroups?)\b[^\n]*\Z")
_IP_ADDRESS = re.compile(
    rf"(?:version\w{{0,20}}|[=<>~!^]=)\W{{0,5}}{_IP}"  # a version
    r"|(?:(?:host|addr|server|tcp|udp|dns|via|(?<![a-z])ip)(?!\w{0,20}version)\w{0,20}[\"']?(?:\s?[:=(]\s?|[ \t])[\"']?"
    rf"|(?<![\w./@-])(?={_IP}[:/]\d?)|(?<=[\"'])(?={_IP}[\"'])|(?<![\w./@-])(?=(?:[2-9]\d|[12]\d\d)\.)"
    rf"|(?<![\w./@-])(?={_IP}[ \t]+[\w-]+\.[a-z]))(?P<address>{_IP}(?!/\d\d?\b)(?::\d+)?(?:/{_PATH})?)",
    re.IGNORECASE,
)
"""An IP address with a port, a path or a name, in quotation marks, or above 20; others are as likely versions."""
_BUCKET = re.compile(r"(?:s3|gs|gcs|abfss?|wasbs?|r2)://(?!(?:my|your|<|\$|\{))\w", re.IGNORECASE)
_LOCAL_HOST = re.compile(
    r"(?:localhost|127(?:\.\d+){3}|\[?::1\]?|0\.0\.0\.0|10(?:\.\d+){3}|192\.168(?:\.\d+){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d+){2}"
    r"|(?!0x)[a-z_][\w-]*|(?:[\w-]+\.)+(?:localhost|local|internal|lan|svc|arpa)"
    r"|(?:[\w-]+\.)*(?:(?:k8s|kubernetes)\.io|example\.(?:com|org|net)))"
    r"\.?(?::[^:]*)?",
    re.IGNORECASE,
)
"""A host in this machine or its network: a name without a dot is one."""

_COMMAND = re.compile(
    r"(?<![\w.-])(?:(?P<name>(?P<download>curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod|aria2c|lynx|w3m|axel|https?"
    r"|xh|docker login)"
    r"|(?P<copy>scp|rsync|sendmail|mailx?|mutt|(?P<remote>hg clone|svn (?:co|checkout)"
    r"|git (?:-\S+ (?:[^\s-]\S* )?)?(?:clone|pull|push|fetch|ls-remote|remote (?:add|set-url)|submodule add)))"
    r"|ssh|sftp|l?ftp|telnet|nc|ncat|netcat|socat|mosh|ping6?|dig|nslookup|whois|traceroute)(?:\.exe)?[\"']?,?[ \t]+"
    r"|--(?:(?:extra-|default-)?index(?:-url)?|find-links|registry|trusted-host|(?:\w+-)?proxy|keyserver|server|host)"
    r"[ \t=]+"
    r"|\b(?:ntp|dns|host|server|broker|endpoint)\w{0,12}[ \t]*[=:][ \t]*(?=[\"']?0x)"
    r"|-connect[ \t]+|/dev/(?:tcp|udp)/|/inet/(?:tcp|udp)/\d+/)(?![=:])",
    re.IGNORECASE,
)
"""A command or an option, and what follows: URLs, the source and target of a copy, or first of all a host."""
_VALUE_OPTION = re.compile(
    r"--(?:output(?:-document|-dir)?|header|data\S*|json|upload-file|user|config|user-agent|referer|cookie\S*|cacert|cert"
    r"|key|request|form|write-out|input-file)|-(?:OutFile|Headers|Body|Method)"
)
_VALUE_LETTERS = {"curl": "oHdTuKAebcXFwmDE", "wget": "OoPUeiAT", "": "BbcDEeFIiLlmOoPpQqRSsUWwXx"}
"""Short options with a value, which may be the name of a file; those of `ssh` and its like are the default."""
_COMMENT = re.compile(r"\s*//|\s*#\s+\S|[^\"'#]*\S\s+#")  # prose, before a command; `# curl` is a prompt
_ARGUMENT = re.compile(
    r"(?P<end>\n|[|;&])|[<>]\s*[^\s\"'`()<>|;&]*"
    r"|(?:\"[^\"\n]*\"|'[^'\n]*'|\$\([^()\n]{0,80}\)|[^\s\"'`()<>|;&])+"
)
_QUOTED = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_HOST_ARGUMENT = re.compile(
    rf"(?:[^\s@/]+@)?(?:{_DOMAIN}|{_IP}|\[[0-9a-f:]+\]|(?=\S*::)[0-9a-f:]+|{_ODD_IP})"
    r"(?::[^\s:/]*)?(?:[:/?#]\S*)?",
    re.IGNORECASE,
)

_REPOSITORY = r"(?P<name>[\w.-]+/[\w.-]+)"
_SOURCES = tuple(
    re.compile(pattern, re.MULTILINE | re.IGNORECASE)
    for pattern in (
        r"\b(?:gh repo clone|degit|brew tap|copr enable|(?:npm|pnpm|yarn|bun) (?:i|install|add)(?: -\S+)*|npx(?: -\S+)*"
        rf"|cookiecutter|brew install(?: -\S+)*)[ \t]+{_REPOSITORY}(?=[\s#\"'`/]|\Z)",
        rf"\b(?:github|gitlab|bitbucket|gist|gh|gl|bb|ppa|codeberg):{_REPOSITORY}",
        rf"\buses:[ \t]*[\"']?(?!actions/){_REPOSITORY}(?=[/@])",
        r"\bsource[ \t]*=[ \t]*\"(?P<name>[\w-]+(?:/[\w-]+){1,2})\"",
        *(
            rf"\b(?:conda|mamba|micromamba)[ \t][^\n|;&]{{0,200}}{lazy}[ \t](?:-c|--channel|channels)[ =]"
            r"(?P<name>[a-z][\w./-]*)"
            for lazy in ("", "?")
        ),
        r"(?:^[ \t]*(?:-[ \t]+)?|[{,][ \t]*)[\"']?(?:image|newName)[\"']?[ \t]*:[ \t]*[\"']?"
        r"(?P<name>(?-i:[a-z0-9][a-z0-9._:-]*(?![\w(.]))(?:/[^\s\"'#{},]*)?)(?!\()",
        r"\b(?:repository|container)[\"']?[ \t]*[:=][ \t]*[\"']?(?P<name>[\w.-]+[:/][\w./-]+[^\s\"'#{},]*)",
        r"\bdocker://(?P<name>[\w.-]+/[\w./-]+[^\s\"'#{},]*)",
        r"^FROM[ \t]+(?:--platform=\S+[ \t]+)?(?P<name>[\w.-]+(?:[:/@]\S+|(?=[ \t]+AS\b)))",
        r"(?:--from=|--(?:\w+-)?image[= ])(?P<name>[\w.-]+[:/][\w./:@-]+)",
    )
)
_NO_SOURCE = re.compile(
    rf"[./$<{{~%-]|your[\w-]*/|(?:true|false|null|\d+|conda-forge|defaults)\Z|(?:{_PLACEHOLDER.pattern})\Z|https?:|\w+://|\Z"
)
_FILE = re.compile(r"\.(?:png|jpe?g|svg|gif|webp|ico|avif|html?|md|json|ya?ml|toml|txt|csv)\Z", re.IGNORECASE)
_STAGE = re.compile(r"[ \t]AS[ \t]+(\S+)", re.IGNORECASE)
_RUN_IMAGE = re.compile(
    r"\b(?:docker|podman|nerdctl|buildah|crane|skopeo|ctr|crictl)[ \t]+(?:image[ \t]+|container[ \t]+|service[ \t]+)?"
    r"(?:run|create|pull|from)[ \t]+"
)
_SWITCH = re.compile(
    r"\S+=\S*|-[ditPq]+|-\w[^\s-]\S*|--(?:rm|detach|interactive|tty|init|privileged|read-only|publish-all|quiet|all-tags"
    r"|no-healthcheck|disable-content-trust|replace)"
)

_SHELLS = r"(?:(?:ba|z|da|k|a|c|tc|fi)?sh|pwsh|powershell|cmd|source|eval|iex|invoke-expression)"
_INTERPRETERS = r"(?:python[\d.]*|pypy3?|node|bun|deno|perl|ruby|php|lua|osascript|tclsh)"
_FOLDER = r"(?<![\w./~-])(?:[\w.~/-]*/)?"
_NOTHING_MORE = r"(?![ \t]+[^\s|;&)<>`\"'#\]}\\])"
_PIPE = re.compile(
    r"\|&?\s*(?:xargs\b[^\n|;&]{0,80}?[ \t]" + _SHELLS + r"[ \t]+-\w*c\b|tee[ \t]+>\([ \t]*" + _SHELLS + r"\b"
    r"|(?:(?:sudo|doas|env|exec|nohup|command|time|xargs|busybox|stdbuf|su|ssh|docker|kubectl)\b"
    rf"(?:[ \t]+[^\s|;&]+){{0,8}}?[ \t]+|\w+=\S*[ \t]+){{0,3}}(?:[\w.~/-]{{0,80}}/)?(?:{_SHELLS}(?:\.exe)?(?![\w.=/:-])"
    rf"(?:(?:[ \t]+-\S+)*[ \t]+(?:-s\b|-(?!\S)|/dev/stdin)|(?:[ \t]+-(?!\w*c\b)[\w-]*)*{_NOTHING_MORE})"
    rf"|{_INTERPRETERS}(?:\.exe)?(?![\w.=/:-])"
    rf"(?:[ \t]+-(?!\w*[cmepnErR]\b)\w+)*(?:[ \t]+(?:-(?!\S)|/dev/stdin)|{_NOTHING_MORE})))",
    re.IGNORECASE,
)
"""A pipe into a shell or an interpreter that runs what it reads: it has no script and no command of its own."""
_COMMAND_END = re.compile(r"[\n;]|&&|\|\|")
_NO_COMMAND = re.compile(r"(?::|^)\s*\Z|^\s*[|+]")  # a block of YAML, a table
_SUBSTITUTION = re.compile(
    rf"(?:{_FOLDER}(?:{_SHELLS}|{_INTERPRETERS}|exec)(?:\.exe)?(?:[ \t]+(?:-{{1,2}}\w+|/dev/stdin))*[ \t]+"
    r"(?:<<<[ \t]*)?|(?:^[ \t]*|[;&|(`\"'][ \t]*)(?:[$#>][ \t]+)?\.[ \t]+(?=<\(|\$\()"
    r"|(?:^|[;&|][ \t]*)(?:[$#>][ \t]+)?(?=(?:\$\(|`)[ \t]*(?:curl|wget|base64|echo|printf)))"
    r"[\"']?(?:<\(|\$\(|`)(?P<source>[^\n]{0,400}?)(?:[)`]|$)",
    re.IGNORECASE | re.MULTILINE,
)
_EVALUATION = re.compile(
    r"(?:\b(?:iex|invoke-expression)\b(?=[ \t]*[(\"'$&])|\[scriptblock\]::create)(?P<any>)[^\n]{0,400}"
    r"|(?:\b(?:powershell|pwsh)(?:\.exe)?\b[^\n]{0,200}?[ \t]-e(?:c|n|nc\w*)?[ \t]+[\"']?(?=[A-Za-z0-9+/=]{16})"
    r"|\bdata:[\w/+.-]*(?:script|html)[\w/;=-]*,)(?P<encoded>\S{0,400})"
    r"|(?<![\w.])(?P<name>exec|eval|Function|create_function|assert|(?:marshal|pickle)\.loads)\s*\([^\n]{0,300}"
    r"|\b(?:system|popen|check_output|check_call|call|spawn\w*|execSync|execvp?|shell_exec|passthru|run)\s*\([^\n]{0,300}",
    re.IGNORECASE,
)
_FETCHES = re.compile(
    r"\b(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod|downloadstring|urlopen|aria2c|file_get_contents"
    r"|(?:requests|httpx|http)\.\w|fetch\()",
    re.IGNORECASE,
)
_DECODES = re.compile(
    r"\bbase(?:64|32)|b64decode|\batob\b|frombase64|fromhex|unhexlify|\bxxd\b|Buffer\.from|openssl enc|\buudecode|rot13"
    r"|fromCharCode|\[char\]|\bchr\(|\bunpack\(|\\x[0-9a-f]{2}\\x|-enc",
    re.IGNORECASE,
)
_EXECUTES = re.compile(
    rf"(?:^|[\s|;&(`/\"']){_SHELLS}\b|\bexec\(|subprocess|\bsystem\(|Function\(|popen|chmod \+x|{_INTERPRETERS}[ \t]-",
    re.IGNORECASE | re.MULTILINE,
)
_LITERAL = re.compile(
    r"(?:\\x[0-9a-fA-F]{2}){6,}|(?<![\w+/=])(?:(?<=[\"'`])|(?<=echo )|(?<=<<< )|(?=[A-Za-z0-9+/]*=))"
    r"(?:[0-9a-f]{32,}|(?=[a-z0-9+/]*[A-Z])(?=[A-Z0-9+/]*[a-z])(?=[A-Za-z/]*[0-9+=])[A-Za-z0-9+/]{16,}={0,2})(?![\w+/=])"
)
_PROGRAM = re.compile(
    r"[\s$>#%`(\"']*(?:sudo[ \t]+|\w+=\S*[ \t]+)*(?!echo|printf|cat|base64|openssl|xxd|tr|rev|type)([\w./-]+)"
)
_INDENTED = re.compile(r"^(?: {4}|\t)[^\n]*\n?", re.MULTILINE)
_FENCE = re.compile(r"[^\n`~]{0,40}(?:`{3,}+|~{3,}+)[^\n]*+\n|`+")
_HOST_IN_PROSE = re.compile(rf"\.(?:{'|'.join(_TLDS.split())})\b|\d\.\d", re.IGNORECASE)
_CONTINUED = re.compile(r"[\\`^]\r?\n(?:[ \t]*>)?")
_NOISE = re.compile(
    r"''|\"\"|[\"'] ?[+.] ?[\"']|(?<=[a-z])\\(?=[a-z])|(?<=[a-z])[`^](?=[a-z])|\$[@*](?=\w)"
    r"|(?P<blank>\$\{?IFS\}?(?:\$\d)?)",
    re.IGNORECASE,
)
