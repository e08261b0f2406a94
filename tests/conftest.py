"""Sites generated from Markdown and session fixtures for all tests."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import hypothesis
import pytest
from filelock import FileLock

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.readers import MemoryReader
from mkdocs_roaming.manifest.builder import build_manifest
from mkdocs_roaming.manifest.io import dump_manifest
from mkdocs_roaming.manifest.models import Manifest, NavItem, Page, PublishedPage, Site, markdown_path
from mkdocs_roaming.manifest.sections import split_sections

ROOT = Path(__file__).parents[1]
URL = "https://docs.example/p/"

# Containers set this variable. Tests start hundreds of processes, and each would compile all that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # `nohup` ignores it, and processes that tests start would, too

# The quick tests try the same examples each time, the others new ones: `--hypothesis-profile thorough`.
hypothesis.settings.register_profile("quick", deadline=None, derandomize=True, max_examples=50)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=400)
hypothesis.settings.load_profile("quick")

_WORDS = (
    *("harbour", "tide", "gauge", "station", "level", "pump", "valve", "sensor", "radar"),
    *("buoy", "anchor", "mast", "keel", "lamp", "signal", "relay", "port"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of skipped tests, and those of the laboratory of themes; see tests/browser/test_laboratory.py."""
    parser.addoption(
        "--skips", type=Path, metavar="FILE", help="Fail if a test is skipped for a reason without a line here."
    )
    group = parser.getgroup("laboratory")
    group.addoption("--generators", nargs="+", default=[], metavar="DIR", help="Folders with site generators.")
    group.addoption("--require", nargs="+", default=[], metavar="NAME", help="Generators that must not be skipped.")
    group.addoption("--sites", metavar="DIR", help="Folder whose sites are used, and where missing ones are built.")


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> Iterator[None]:
    """Name the skipped tests whose reason is not in the file of `--skips`."""
    yield
    for test, reason in _find_unexpected_skips(terminalreporter, config):
        terminalreporter.write_line(f"skipped for a reason that {config.option.skips} does not name: {test}: {reason}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run in which a test was skipped for a reason that is not in the file of `--skips`."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.exitstatus == 0 and reporter and any(_find_unexpected_skips(reporter, session.config)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _find_unexpected_skips(reporter: pytest.TerminalReporter, config: pytest.Config) -> Iterator[tuple[str, str]]:
    file: Path | None = config.option.skips
    if file is None:
        return
    expected = [line for line in file.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    for report in reporter.stats.get("skipped", ()):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if not any(reason.startswith(start) for start in expected):
            yield report.nodeid, reason


@dataclass(frozen=True)
class MadeSite:
    """A published site: manifest, and text by file path."""

    manifest: Manifest
    files: dict[str, str]

    def library(self) -> Library:
        files = {path: text.encode() for path, text in self.files.items()}
        return Library(self.manifest, MemoryReader(files, where="memory"))

    def publish(self, folder: Path) -> Path:
        for path, text in {**self.files, "roaming/manifest.json": dump_manifest(self.manifest)}.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        return folder


def make(
    pages: Sequence[tuple[str, str]],
    nav: Sequence[NavItem] = (),
    *,
    site: Site | None = None,
    tags: dict[str, tuple[str, ...]] | None = None,
) -> MadeSite:
    """Publish pages, given as (path, Markdown), with llms-full.txt."""
    published: list[PublishedPage] = []
    full = ""
    for path, text in pages:
        full += f"Source: {URL}{path}\n\n"
        page = Page(path, path or "Home", source=(path.rstrip("/") or "index") + ".md", tags=(tags or {}).get(path, ()))
        published.append(PublishedPage(page, text, split_sections(text, title=path or "Home"), full=len(full.encode())))
        full += text + "\n"
    site = replace(site or Site("Docs", URL), nav=tuple(nav))
    files = {markdown_path(path): text for path, text in pages}
    return MadeSite(build_manifest(site, published), {**files, "llms-full.txt": full})


def page_text(title: str, headings: int, *, seed: int, deepest: int = 2, words: int = 30) -> str:
    """Return the Markdown of a page with the given number of headings, down to a level."""
    rng = random.Random(seed)

    def some(count: int) -> str:
        return " ".join(rng.choice(_WORDS) for _ in range(count))

    lines = [f"# {title}\n\n{some(words).capitalize()}.\n"]
    for at in range(headings):
        level = 2 + at % (deepest - 1)
        lines.append(f"\n{'#' * level} {title} {some(2)} {at}\n\n{some(words).capitalize()}.\n")
    return "".join(lines)


def _nav(paths: Iterator[str], depth: int, branches: int, name: str) -> NavItem:
    if depth == 0:
        return NavItem(name, path=next(paths))
    children = tuple(_nav(paths, depth - 1, branches, f"{name}.{at}") for at in range(branches))
    return NavItem(name, children=children)


def _flat(count: int, headings: int = 0, deepest: int = 2) -> MadeSite:
    return make([(f"p{at}/", page_text(f"Page {at}", headings, seed=at, deepest=deepest)) for at in range(count)])


def _deep(depth: int, branches: int, headings: int) -> MadeSite:
    paths = [f"p{at}/" for at in range(branches**depth)]
    nav = _nav(iter(paths), depth, branches, "Part")
    pages = [(path, page_text(f"Page {path}", headings, seed=at, deepest=4)) for at, path in enumerate(paths)]
    return make(pages, [nav])


def _chain(length: int, pages: int) -> MadeSite:
    """Nav with one subgroup per level and some pages on each."""
    paths = [f"p{at}/" for at in range(length * pages)]
    nav: tuple[NavItem, ...] = ()
    for level in reversed(range(length)):
        here = tuple(NavItem(path, path=path) for path in paths[level * pages : (level + 1) * pages])
        nav = (NavItem(f"Level {level}", children=(*here, *nav)),)
    return make([(path, page_text(path, 1, seed=at)) for at, path in enumerate(paths)], nav)


def _lopsided() -> MadeSite:
    """Many small pages and one large page at the end of the nav."""
    pages = [(f"p{at}/", page_text(f"Page {at}", 0, seed=at)) for at in range(150)]
    return make([*pages, ("big/", page_text("Big", 849, seed=7, deepest=5))])


SHAPES: dict[str, Callable[[], MadeSite]] = {
    "one page": lambda: _flat(1),
    "flat nav of 1000 pages": lambda: _flat(1000),
    "one page of 999 headings": lambda: _flat(1, 999),
    "one page of 999 deep headings": lambda: _flat(1, 999, 6),
    "20 pages of 50": lambda: _flat(20, 49, 4),
    "500 pages of 2": lambda: _flat(500, 1),
    "nav of nine levels": lambda: _deep(9, 2, 0),
    "nav of five levels by four": lambda: _deep(4, 4, 2),
    "nav with one subgroup per level": lambda: _chain(40, 12),
    "one large page among small ones": _lopsided,
}

_site_cache: dict[str, MadeSite] = {}


@pytest.fixture(scope="session", autouse=True)
def _no_configured_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Remove API keys and models of the developer from the environment, and use another cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith(("ROAMING_", "ANTHROPIC_", "OPENAI_")):
                patch.delenv(name)
        patch.setenv("ROAMING_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use no CA certificates: tests send no TLS requests to other hosts, and loading them takes 20 ms per client."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("certificates")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _enable_sigint() -> Iterator[None]:
    """Enable Ctrl-C: a background job of a shell and its child processes ignore SIGINT."""
    previous = signal.getsignal(signal.SIGINT)
    if previous == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.fixture(scope="session")
def make_site() -> Callable[..., MadeSite]:
    """Function that publishes a site from Markdown pages."""
    return make


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest) -> MadeSite:
    """Sites of up to 1,000 sections, one of each shape."""
    if request.param not in _site_cache:
        _site_cache[request.param] = SHAPES[request.param]()
    return _site_cache[request.param]


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample site, built by `mkdocs build`."""
    return _build("sample_site/mkdocs.yml", tmp_path_factory)


@pytest.fixture(scope="session")
def documentation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation of this project, built by `mkdocs build`."""
    return _build("mkdocs.yml", tmp_path_factory)


def _build(config: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a site once for all processes of a run."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    site = folder / f"{Path(config).parent.name or 'documentation'}-built"
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-f", config, "-d", str(site)]
    with FileLock(f"{site}.lock"):
        if not site.exists():
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
    return site
