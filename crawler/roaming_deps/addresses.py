"""Addresses of packages' documentation, from the metadata of the environment or of the user's package index.

Metadata of the index are read with pip and npm, so their settings, proxies and credentials apply. No package is
installed, and no code of a package is run.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import reduce
from importlib.metadata import distributions
from importlib.util import find_spec
from itertools import chain, product, repeat
from operator import or_
from pathlib import Path
from subprocess import DEVNULL, SubprocessError, run
from typing import Any, Literal
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from mkdocs_roaming.library.installed import find_bundles, normalize_name
from roaming_crawler.parser import ParsedPage
from roaming_deps.project import Dependency, DepsSettings, read_file

Source = Literal["settings", "documentation", "homepage", "repository"]

_SECONDS = 60
_AT_ONCE = 4
_PIP = (
    "install --dry-run --ignore-installed --ignore-requires-python --no-deps --only-binary :all: --no-input --quiet "
    "--disable-pip-version-check --retries 1 --timeout 10 --report -"
)
_NPM = "name version homepage repository --json --fetch-retries=0 --fetch-timeout=10000"
_NOT_FOUND = re.compile(r"No matching distribution found for (\S+)")
_UNREACHABLE = re.compile("connection broken by|failed, reason: |network timeout")
_SOURCES: tuple[Source, ...] = ("documentation", "homepage", "repository")
_LABEL = re.compile(
    r"(documentation|docs?|manual|userguide)|(home|homepage|website)|(repository|source(?:code)?s?|code|github|upstream)"
)
_CODE_HOST = r"(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org)"
_REPOSITORY = re.compile(rf"(?:^|//|@)({_CODE_HOST})[/:]([\w.-]+)/([\w.-]+?)(?:\.git)?(?:[/#?]|$)")
_SHORT_URL = re.compile(r"^(?:github:)?(?=[\w-]+/[\w.-]+$)")
_NO_SITE = re.compile(
    rf"//{_CODE_HOST}(?:/|$)|/(?:tree|blob)/|/(?:project|package)/(?:@[^/]+/)?[^/]+(?:/(?:v/)?\d[^/]*)?/?$"
)
_READTHEDOCS = re.compile(
    r"//(?:([\w-]+)\.(?:rtfd\.\w+|readthedocs\.org)|(?:www\.)?readthedocs\.org/projects/([\w-]+))(?:/|$)"
)
_DOCS_FOLDER = re.compile(r"/(?:en/)?(?:docs?|documentation)(?:/|$)", re.IGNORECASE)
_IMPORTED = re.compile(r"^([A-Za-z]\w{0,99})(?=/|[^/\n]{0,99}\.(?:py|so|pyd),)", re.MULTILINE)
_NOT_IMPORTED = frozenset(("tests", "test", "docs", "examples", "benchmarks"))


class Metadata(Struct, frozen=True):
    """Metadata of a package.

    Attributes:
        urls: URLs by their labels.
        imports: Names by which code imports it; empty for npm, where they are those of packages.
        bundle: Folder of the documentation in it.
    """

    name: str
    version: str = ""
    urls: dict[str, str] = {}
    imports: tuple[str, ...] = ()
    bundle: str = ""


class Address(Struct, frozen=True):
    """A URL that may be that of the documentation."""

    url: str
    source: Source


def metadata_key(dependency: Dependency) -> str:
    """Return the key of a package's metadata; packages of two ecosystems may have one name."""
    return dependency.name if dependency.ecosystem == "python" else f"npm:{dependency.name}"


def read_environment(root: Path, environ: Mapping[str, str]) -> dict[str, Metadata]:
    """Return the metadata of the packages that are installed for a project, by `metadata_key`.

    Args:
        root: Folder of the project. Its `.venv` is read, else the active environment, else that of this process.
        environ: Environment variables.
    """
    environments = (root / ".venv", Path(environ.get("VIRTUAL_ENV") or root / ".venv"))
    patterns = product(environments, ("lib/python*/site-packages", "Lib/site-packages"))
    path = [str(folder) for one, pattern in patterns for folder in one.glob(pattern)][:1] or None
    bundles = {normalize_name(one.package): str(one.folder) for one in find_bundles(path)}
    found: dict[str, Metadata] = {}
    for one in distributions(path=path or sys.path):
        with suppress(OSError, ValueError, LookupError):  # a damaged package
            imports = (one.read_text("top_level.txt") or "").split() or _IMPORTED.findall(one.read_text("RECORD") or "")
            metadata = _from_python(one.metadata.json, imports)
            found.setdefault(metadata.name, replace(metadata, bundle=bundles.get(metadata.name, "")))
    modules = root / "node_modules"
    for file in chain(modules.glob("[!.@]*/package.json"), modules.glob("@*/*/package.json")):
        with suppress(OSError, ValueError, RecursionError):
            found |= _from_npm(json.loads(read_file(file)))
    return found


def read_index(dependencies: Iterable[Dependency]) -> dict[str, Metadata]:
    """Return the metadata of packages in the user's index, by `metadata_key`; unknown ones are left out.

    Only wheels are read: the metadata of a source distribution are made by its code.
    """
    wanted = [one for one in dependencies if not one.spec]
    python = [f"{one.name}=={one.version}".removesuffix("==") for one in wanted if one.ecosystem == "python"]
    npm = [f"{one.name}@{one.version}".removesuffix("@") for one in wanted if one.ecosystem == "npm"]
    parts = [python[at::_AT_ONCE] for at in range(_AT_ONCE)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        calls = pool.map(_ask_pip, parts, repeat([])), pool.map(_ask_npm, npm, repeat([]))
        return reduce(or_, chain(*calls))


def _ask_pip(names: Sequence[str], failures: list[str]) -> dict[str, Metadata]:
    """Return the metadata of Python packages; one that pip does not find makes the call fail for all."""
    pip = [sys.executable, "-P", "-m", "pip"] if find_spec("pip") else [shutil.which("pip") or "pip"]
    data, problem = _run([*pip, *_PIP.split(), *names], failures) if names else (None, "")
    if data or len(names) < 2:
        found = [_from_python(one["metadata"]) for one in (data or {}).get("install", ())]
        return {one.name: one for one in found}
    rest = [name for name in names if name not in _NOT_FOUND.findall(problem)]
    half = len(rest) // 2
    return _ask_pip(rest[:half], failures) | _ask_pip(rest[half:], failures)


def _ask_npm(name: str, failures: list[str]) -> dict[str, Metadata]:
    data, _ = _run([shutil.which("npm") or "npm", "view", name, *_NPM.split()], failures)
    return _from_npm(data[-1] if isinstance(data, list) and data else data)


def _run(command: Sequence[str], failures: list[str]) -> tuple[Any, str]:
    """Return the JSON that a command prints, or None and its errors.

    It runs in the home folder: pip and npm load code and settings of the current one, and the project is not trusted.

    Args:
        command: The command.
        failures: Receives the errors if the index is unreachable; later calls with them fail at once.
    """
    problem = "network timeout"  # unless the command ends
    with suppress(OSError, ValueError, RuntimeError, SubprocessError):
        if not failures:
            done = run(command, cwd=Path.home(), stdin=DEVNULL, capture_output=True, timeout=_SECONDS)
            problem = done.stderr.decode("utf-8", "replace")
            return json.loads(done.stdout if done.returncode == 0 else b""), ""
    failures += _UNREACHABLE.findall(problem)
    return None, problem


def _from_python(data: Mapping[str, Any], imports: Iterable[str] = ()) -> Metadata:
    """Return the metadata in the JSON form of core metadata."""
    name = normalize_name(data["name"])
    urls = {label: url.strip() for label, _, url in (link.partition(",") for link in data.get("project_url", ()))}
    imported = sorted({one for one in imports if one.isidentifier() and not one.startswith("_")} - _NOT_IMPORTED)
    urls = {"Home-page": data.get("home_page", ""), **urls}
    return Metadata(name, data["version"], urls, tuple(imported or [name.replace("-", "_")]))


def _from_npm(data: Any) -> dict[str, Metadata]:
    """Return the metadata in a package.json by their key."""
    if not isinstance(data, dict):
        return {}
    name = str(data.get("name", ""))
    repository = data.get("repository") or ""
    url = str(repository.get("url", "") if isinstance(repository, dict) else repository)
    url = _SHORT_URL.sub("https://github.com/", url)
    urls = {"homepage": str(data.get("homepage") or ""), "repository": url}
    return {f"npm:{name}": Metadata(name, str(data.get("version", "")), urls)}


def find_addresses(metadata: Metadata, settings: DepsSettings) -> tuple[list[Address], str]:
    """Return the addresses that may be those of a package's documentation, the best first, and why there is none.

    Nothing is fetched.
    """
    if site := settings.find_site(metadata.name):
        return [Address(site, "settings")], ""
    if not metadata.version:
        return [], "metadata unknown: install the package, or name its site in [tool.roaming.deps]"
    found: dict[str, Source] = {}
    for source, url in _sort_urls(metadata):
        if source != "repository" and (site := _find_site(url)):
            found.setdefault(site, source)
    if found:
        return [Address(site, source) for site, source in found.items()], ""
    repository = _find_repository(metadata)
    named = f"only a repository (https://{repository})" if repository else "no address"
    return [], f"no documentation: the package names {named}; name its site in [tool.roaming.deps]"


def names_package(page: ParsedPage, inventory: str, metadata: Metadata) -> bool:
    """Return whether a site is that of a package.

    Its page links to the repository of the package, and the package or a module of it is named in the title or the
    Sphinx inventory. An inventory with the name of the package itself needs no such link, unless the page links to
    another repository with that name on the same host: it may be that of a fork.

    Args:
        page: Home page of the site.
        inventory: Text of its `objects.inv`; empty without one.
        metadata: The package.
    """
    names = {_squeeze(name) for name in (metadata.name, *metadata.imports)}
    match = re.search(r"^# Project: (.{1,200})$", inventory[:1_000], re.MULTILINE)
    project = _squeeze(match[1]) if match and metadata.imports else ""
    repository = _find_repository(metadata) or "none"
    links = {_to_repository(link) for link in page.all_links}
    if repository in links:
        title = _squeeze(f"{page.site_name} {page.title} {page.heading}")
        return project in names or any(name in title for name in names)
    host = repository.partition("/")[0]
    rivals = {_squeeze(one.rpartition("/")[2]) for one in links if one.startswith(f"{host}/")}
    return project == _squeeze(metadata.name) and not rivals & {project, _squeeze(repository.rpartition("/")[2])}


def find_documentation_link(page: ParsedPage, url: str, metadata: Metadata) -> str:
    """Return the link to the documentation on the home page of a package; empty if there is none.

    It leads to a folder `docs` below the home page, to the package's project on Read the Docs, or, if the whole host is
    the package's, to its subdomain `docs`.

    Args:
        page: The home page.
        url: Its URL.
        metadata: The package.
    """
    host = (urlsplit(url).hostname or "").removeprefix("www.")
    folder = urlsplit(url).path.rpartition("/")[0]
    names = {_squeeze(name) for name in (metadata.name, *metadata.imports)}
    for link in (*page.nav_links, *page.links):
        target = (urlsplit(link).hostname or "").removeprefix("www.")
        project = target.removesuffix(".readthedocs.io")
        path = urlsplit(link).path
        is_below = target == host and path.startswith(folder) and _DOCS_FOLDER.match(path[len(folder) :])
        is_own = is_below or (target == f"docs.{host}" and not folder)
        if link != url and (is_own or (project != target and _squeeze(project) in names)):
            return link
    return ""


def _sort_urls(metadata: Metadata) -> list[tuple[Source, str]]:
    """Return the URLs with known labels, the best first."""
    labels = [(_LABEL.fullmatch(_squeeze(label)), url) for label, url in metadata.urls.items()]
    found = sorted((label.lastindex or 0, number, url) for number, (label, url) in enumerate(labels) if label)
    return [(_SOURCES[rank - 1], url) for rank, _, url in found]


def _find_site(url: str) -> str:
    """Return the URL of a site; empty for a page of a code host or of a package index."""
    with suppress(ValueError):
        parts = urlsplit(url)
        site = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path or '/'}"
        if known := _READTHEDOCS.search(site):
            return f"https://{known[1] or known[2]}.readthedocs.io/"
        if parts.scheme in ("http", "https") and parts.hostname and not _NO_SITE.search(site):
            return site
    return ""


def _find_repository(metadata: Metadata) -> str:
    """Return the repository that a package names: host, owner and project; empty if it names none."""
    return next(filter(None, (_to_repository(url) for _, url in reversed(_sort_urls(metadata)))), "")


def _to_repository(url: str) -> str:
    found = _REPOSITORY.search(url)
    return "/".join(found.groups()).lower().removeprefix("www.") if found else ""


def _squeeze(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())
