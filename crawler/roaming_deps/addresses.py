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
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from subprocess import DEVNULL, SubprocessError, run
from typing import Any, Literal
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.installed import find_bundles, normalize_name
from mkdocs_roaming.library.readers import read_file
from roaming_crawler.parser import ParsedPage
from roaming_deps.project import MAX_BYTES, Dependency, DepsSettings, Ecosystem

Source = Literal["settings", "documentation", "homepage", "repository"]

_SECONDS = 60
_AT_ONCE = 4
_PIP = (
    "install --dry-run --ignore-installed --ignore-requires-python --no-deps --only-binary :all: --no-input --quiet "
    "--disable-pip-version-check --retries 1 --timeout 10 --report -"
)
_NPM = "name version homepage repository --json --fetch-retries=0 --fetch-timeout=10000"
_UNREACHABLE = ("connection broken by", "failed, reason: ", "network timeout")
"""What pip and npm write if the index cannot be reached."""
_LABELS: dict[str, Source] = {
    **dict.fromkeys(("documentation", "docs", "doc", "manual", "userguide"), "documentation"),
    **dict.fromkeys(("home", "homepage", "website"), "homepage"),
    **dict.fromkeys(("repository", "source", "sources", "sourcecode", "sourcecodes", "code"), "repository"),
    **dict.fromkeys(("github", "upstream"), "repository"),
}
"""Labels of URLs in metadata, in small letters alone."""
_SOURCES: tuple[Source, ...] = ("documentation", "homepage", "repository")
"""The kinds of URLs in metadata, those most likely to be the documentation first."""
_CODE_HOST = r"(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org)"
_REPOSITORY = re.compile(rf"(?:^|//|@)({_CODE_HOST})[/:]([\w.-]+)/([\w.-]+?)(?:\.git)?(?:[/#?]|$)")
"""A repository in a URL or an address of Git: `https://github.com/kite/kite/issues`, `git@github.com:kite/kite.git`."""
_NO_SITE = re.compile(
    rf"//{_CODE_HOST}(?:/|$)|/(?:tree|blob)/|/(?:project|package)/(?:@[^/]+/)?[^/]+(?:/(?:v/)?\d[^/]*)?/?$"
)
"""A page of a code host or of a package index: `//github.com/kite`, `/blob/main/README.md`, `/project/kite/1.2/`."""
_READTHEDOCS = re.compile(
    r"//(?:([\w-]+)\.(?:rtfd\.\w+|readthedocs\.org)|(?:www\.)?readthedocs\.org/projects/([\w-]+))(?:/|$)"
)
"""Older addresses of Read the Docs: `//kite.rtfd.io/`, `//readthedocs.org/projects/kite/`."""
_DOCS_FOLDER = re.compile(r"/(?:en/)?(?:docs?|documentation)(?:/|$)", re.IGNORECASE)
"""The folder of the documentation below a home page: `/docs/`, `/en/documentation`."""
_IMPORTED = re.compile(r"^([A-Za-z]\w{0,99})(?=/|[^/\n]{0,99}\.(?:py|so|pyd),)", re.MULTILINE)
"""A module in a RECORD: `kite/__init__.py,sha256=…`, `kite.py,…`, `_kite.cpython-311-x86_64-linux-gnu.so,…`."""
_NOT_IMPORTED = frozenset(("tests", "test", "docs", "examples", "benchmarks"))
_INVENTORY_NAME = "# Project: "
MAX_INVENTORY_CHARS = 1_000


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
    path = _find_site_packages(root, environ)
    bundles = {normalize_name(bundle.package): str(bundle.folder) for bundle in find_bundles(path)}
    packages: dict[str, Metadata] = {}
    for distribution in distributions(path=path or sys.path):
        with suppress(OSError, ValueError, LookupError):  # a damaged package
            imports = (distribution.read_text("top_level.txt") or "").split()
            if not imports:
                imports = _IMPORTED.findall(distribution.read_text("RECORD") or "")
            metadata = _from_python(distribution.metadata.json, imports)
            packages.setdefault(metadata.name, replace(metadata, bundle=bundles.get(metadata.name, "")))
    modules = root / "node_modules"
    for file in (*modules.glob("[!.@]*/package.json"), *modules.glob("@*/*/package.json")):
        with suppress(LibraryError, ValueError, RecursionError):
            packages |= _from_npm(json.loads(read_file(file, MAX_BYTES)))
    return packages


def _find_site_packages(root: Path, environ: Mapping[str, str]) -> list[str] | None:
    """Return the folder of an environment's packages in a list; None if there is no other than this process's."""
    for environment in (root / ".venv", Path(environ.get("VIRTUAL_ENV") or root / ".venv")):
        for pattern in ("lib/python*/site-packages", "Lib/site-packages"):
            for folder in environment.glob(pattern):
                return [str(folder)]
    return None


def read_index(dependencies: Iterable[Dependency]) -> dict[str, Metadata]:
    """Return the metadata of packages in the user's index, by `metadata_key`; unknown ones are left out.

    Only wheels are read: the metadata of a source distribution are made by its code.
    """
    packages: dict[str, Metadata] = {}
    failures: dict[Ecosystem, list[str]] = {"python": [], "npm": []}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        calls = [
            pool.submit(_READERS[dependency.ecosystem], dependency, failures[dependency.ecosystem])
            for dependency in dependencies
            if not dependency.spec
        ]
        for call in calls:
            packages |= call.result()
    return packages


def _ask_pip(dependency: Dependency, failures: list[str]) -> dict[str, Metadata]:
    pip = [sys.executable, "-P", "-m", "pip"] if find_spec("pip") else [shutil.which("pip") or "pip"]
    requirement = f"{dependency.name}=={dependency.version}".removesuffix("==")
    data = _run([*pip, *_PIP.split(), requirement], failures) or {}
    packages = [_from_python(entry["metadata"]) for entry in data.get("install", ())]
    return {package.name: package for package in packages}


def _ask_npm(dependency: Dependency, failures: list[str]) -> dict[str, Metadata]:
    package = f"{dependency.name}@{dependency.version}".removesuffix("@")
    data = _run([shutil.which("npm") or "npm", "view", package, *_NPM.split()], failures)
    return _from_npm(data[-1] if isinstance(data, list) and data else data)


_READERS = {"python": _ask_pip, "npm": _ask_npm}


def _run(command: Sequence[str], failures: list[str]) -> Any:
    """Return the JSON that a command prints; None if it fails.

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
            if done.returncode == 0:
                return json.loads(done.stdout)
    if any(text in problem for text in _UNREACHABLE):
        failures.append(problem)
    return None


def _from_python(data: Mapping[str, Any], imports: Iterable[str] = ()) -> Metadata:
    """Return the metadata in the JSON form of core metadata."""
    name = normalize_name(data["name"])
    urls = {"Home-page": data.get("home_page", "")}
    for link in data.get("project_url", ()):
        label, _, url = link.partition(",")
        urls[label] = url.strip()
    modules = {module for module in imports if module.isidentifier() and not module.startswith("_")} - _NOT_IMPORTED
    return Metadata(name, data["version"], urls, tuple(sorted(modules)) or (name.replace("-", "_"),))


def _from_npm(data: Any) -> dict[str, Metadata]:
    """Return the metadata in a package.json by their key."""
    if not isinstance(data, dict):
        return {}
    name = str(data.get("name", ""))
    repository = data.get("repository") or ""
    if isinstance(repository, dict):
        repository = repository.get("url", "")
    url = str(repository)
    owner, slash, project = url.removeprefix("github:").partition("/")
    if slash and "/" not in project and owner.replace("-", "").replace("_", "").isalnum():
        url = f"https://github.com/{owner}/{project}"
    urls = {"homepage": str(data.get("homepage") or ""), "repository": url}
    return {f"npm:{name}": Metadata(name, str(data.get("version", "")), urls)}


def find_addresses(metadata: Metadata, settings: DepsSettings) -> tuple[list[Address], str]:
    """Return the addresses that may be those of a package's documentation, the best first, and why there is none.

    Nothing is fetched.
    """
    own = settings.find_site(metadata.name)
    if own:
        return [Address(own, "settings")], ""
    if not metadata.version:
        return [], "metadata unknown: install the package, or name its site in [tool.roaming.deps]"
    sites: dict[str, Address] = {}
    for source, url in _sort_urls(metadata):
        site = _find_site(url) if source != "repository" else ""
        if site:
            sites.setdefault(site, Address(site, source))
    if sites:
        return list(sites.values()), ""
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
    project = ""
    if metadata.imports:
        for line in inventory[:MAX_INVENTORY_CHARS].splitlines():
            if line.startswith(_INVENTORY_NAME):
                project = _squeeze(line.removeprefix(_INVENTORY_NAME))
                break
    repository = _find_repository(metadata)
    links = {_to_repository(link) for link in page.all_links}
    if repository and repository in links:
        title = _squeeze(f"{page.site_name} {page.title} {page.heading}")
        return project in names or any(name in title for name in names)
    host = repository.partition("/")[0] or "none"
    own = {project, _squeeze(repository.rpartition("/")[2])}
    if any(link.startswith(f"{host}/") and _squeeze(link.rpartition("/")[2]) in own for link in links):
        return False
    return project == _squeeze(metadata.name)


def find_documentation_link(page: ParsedPage, url: str, metadata: Metadata) -> str:
    """Return the link to the documentation on the home page of a package; empty if there is none.

    It leads to a folder `docs` below the home page, to the package's project on Read the Docs, or, if the whole host is
    the package's, to its subdomain `docs`.

    Args:
        page: The home page.
        url: Its URL.
        metadata: The package.
    """
    host = host_without_www(url)
    folder = urlsplit(url).path.rpartition("/")[0]
    names = {_squeeze(name) for name in (metadata.name, *metadata.imports)}
    for link in (*page.nav_links, *page.links):
        if link == url:
            continue
        target = host_without_www(link)
        path = urlsplit(link).path
        if target == host and path.startswith(folder) and _DOCS_FOLDER.match(path[len(folder) :]):
            return link
        if target == f"docs.{host}" and not folder:
            return link
        project = target.removesuffix(".readthedocs.io")
        if project != target and _squeeze(project) in names:
            return link
    return ""


def host_without_www(url: str) -> str:
    """Return the host of a URL without `www.`; empty if it has none."""
    return (urlsplit(url).hostname or "").removeprefix("www.")


def _sort_urls(metadata: Metadata) -> list[tuple[Source, str]]:
    """Return the URLs with known labels, the best first."""
    labelled = [(_LABELS.get(_squeeze(label)), url) for label, url in metadata.urls.items()]
    urls = [(source, url) for source, url in labelled if source]
    return sorted(urls, key=lambda entry: _SOURCES.index(entry[0]))


def _find_site(url: str) -> str:
    """Return the URL of a site; empty for a page of a code host or of a package index."""
    with suppress(ValueError):
        parts = urlsplit(url)
        site = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path or '/'}"
        project = _READTHEDOCS.search(site)
        if project:
            return f"https://{project[1] or project[2]}.readthedocs.io/"
        if parts.scheme in ("http", "https") and parts.hostname and not _NO_SITE.search(site):
            return site
    return ""


def _find_repository(metadata: Metadata) -> str:
    """Return the repository that a package names: host, owner and project; empty if it names none."""
    for _, url in reversed(_sort_urls(metadata)):
        repository = _to_repository(url)
        if repository:
            return repository
    return ""


def _to_repository(url: str) -> str:
    match = _REPOSITORY.search(url)
    return "/".join(match.groups()).lower().removeprefix("www.") if match else ""


def _squeeze(text: str) -> str:
    """Return the letters and digits of a text in small letters."""
    return "".join(filter(str.isalnum, text.lower()))
