"""The public API: what `mkdocs_roaming` exports, its documentation, and its type-checked examples."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mkdocs_roaming
from mkdocs_roaming import errors
from mkdocs_roaming.answer.events import Finished, TextReleased

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "python.md"
FUNCTIONS = [name for name in mkdocs_roaming.__all__ if inspect.isfunction(getattr(mkdocs_roaming, name))]
UNDOCUMENTED = [  # a union, a text, and the subclasses of RoamingError
    name
    for name in mkdocs_roaming.__all__
    if name in ("Event", "__version__") or (name.endswith("Error") and name != "RoamingError")
]
METHODS = ["Library.restrict", "Library.search", "Library.outline", "Library.expand"]
EXTENDING = ROOT / "docs" / "guides" / "extending.md"
FOR_PLUGINS = {
    "mkdocs_roaming.answer.models.base": {
        "AssistantTurn", "Citation", "Model", "ModelConfig", "ModelFactory", "ModelRequest", "OpenSection", "Part", "Stop", "Text",
        "ToolCall", "ToolResult", "ToolTurn", "Turn", "Usage", "UserTurn",
    },
    "mkdocs_roaming.answer.models.provider": {"ApiConfig", "ProviderModel"},
    "mkdocs_roaming.answer.models.refusals": {"error_for_connection", "error_for_status"},
    "mkdocs_roaming.answer.prompts": {"format_question"},
    "mkdocs_roaming.errors": {"ModelError", "UsageError"},
    "mkdocs_roaming.html.themes": {"ROLES", "Tabs", "Theme"},
    "mkdocs_roaming.library.targets": {"LibraryTarget", "SiteTarget", "library_from_markdown"},
    "mkdocs_roaming.library.tools": {"render"},
    "mkdocs_roaming.lint": {"Finding", "LintContext", "PageText", "Problem", "Rule", "Severity", "rule"},
}  # fmt: skip
"""What plugins may import besides `mkdocs_roaming` itself. To rename or remove one of these names is a breaking change."""

PRELUDE = 'import mkdocs_roaming\n\nlibrary = mkdocs_roaming.open_library("site")\n'


def resolve(name: str) -> Any:
    target: Any = mkdocs_roaming
    for part in name.split("."):
        target = getattr(target, part)
    return target


def code_blocks(text: str) -> Iterator[str]:
    for match in re.finditer(r"^( *)```python\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL):
        yield textwrap.dedent(match[2])


# Exports


def test_all_names_resolve_and_are_listed_by_dir() -> None:
    exported, modules = set(mkdocs_roaming.__all__), pkgutil.iter_modules(mkdocs_roaming.__path__)
    assert mkdocs_roaming.__all__ == sorted(exported)
    assert all(hasattr(mkdocs_roaming, name) for name in exported)
    assert exported <= set(dir(mkdocs_roaming))
    assert exported.isdisjoint(module.name for module in modules)
    assert exported >= {name for name, one in vars(errors).items() if isinstance(one, type) and "Error" in name}
    with pytest.raises(AttributeError, match="module 'mkdocs_roaming' has no attribute 'nothing'"):
        mkdocs_roaming.nothing  # noqa: B018 -- the access is tested


def test_import_loads_only_errors_and_version() -> None:
    code = "import sys, mkdocs_roaming; print(*(name for name in sys.modules if name.startswith('mkdocs_roaming')))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert sorted(done.stdout.split()) == ["mkdocs_roaming", "mkdocs_roaming._version", "mkdocs_roaming.errors"]


@pytest.mark.parametrize("module", sorted(FOR_PLUGINS))
def test_names_for_plugins_exist(module: str) -> None:
    assert [name for name in FOR_PLUGINS[module] if not hasattr(importlib.import_module(module), name)] == []


def test_guide_to_extending_names_only_what_plugins_may_import() -> None:
    text = EXTENDING.read_text("utf-8")
    nodes = [
        node
        for block in code_blocks(re.sub(r"(?m)^(```python) .*$", r"\1", text))
        for node in ast.walk(ast.parse(block))
    ]
    used = {
        (node.module, alias.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mkdocs_roaming")
        for alias in node.names
    }
    used |= {(module, name) for module, name in re.findall(r"`(mkdocs_roaming(?:\.\w+)*)\.(\w+)`", text)}
    public = {(module, name) for module, names in FOR_PLUGINS.items() for name in names}
    public |= {("mkdocs_roaming", name) for name in mkdocs_roaming.__all__}
    assert len(used) > 10
    assert used <= public


# Documentation


@pytest.mark.parametrize("name", [name for name in mkdocs_roaming.__all__ if name not in ("Event", "__version__")])
def test_exported_object_has_docstring_with_example(name: str) -> None:
    docstring = inspect.getdoc(resolve(name)) or ""
    assert docstring.strip()
    assert name in UNDOCUMENTED or "Example:\n    ```python\n" in docstring


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS, "Library"])
def test_function_docstring_describes_arguments(name: str) -> None:
    docstring = inspect.getdoc(resolve(name)) or ""
    parameters = set(inspect.signature(resolve(name)).parameters) - {"self"}
    described = set(re.findall(r"^    (\w+): ", docstring.partition("Args:\n")[2], re.MULTILINE))
    assert parameters <= described


def test_reference_page_lists_all_exports() -> None:
    page = PAGE.read_text("utf-8")
    listed = set(re.findall(r"^::: mkdocs_roaming\.(\w+)$", page, re.MULTILINE))
    documented_apart = {name for name in mkdocs_roaming.__all__ if name.endswith("Error")} | {"Event", "__version__"}
    assert listed - {"errors"} == set(mkdocs_roaming.__all__) - documented_apart


def test_examples_pass_type_check(tmp_path: Path) -> None:
    texts = [inspect.getdoc(resolve(name)) or "" for name in mkdocs_roaming.__all__ if name != "Event"]
    texts += [inspect.getdoc(resolve(name)) or "" for name in METHODS]
    blocks = [*code_blocks(PAGE.read_text("utf-8")), *(block for text in texts for block in code_blocks(text))]
    assert len(blocks) >= 10
    for number, block in enumerate(blocks):
        is_async = re.search(r"^(async|await) ", block, re.MULTILINE)
        body = "async def example() -> None:\n" + textwrap.indent(block, "    ") if is_async else block
        (tmp_path / f"example_{number}.py").write_text(PRELUDE + "\n" + body, "utf-8")
    # With the configuration of the project: its cache makes this fast after a run of `mypy`.
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout


# Behaviour


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work") / "site"
    pages = [
        mkdocs_roaming.Page("", "Home", article="<h1>Home</h1><p>The harbour has three pumps.</p>"),
        mkdocs_roaming.Page(
            "drain/", "Drain", article="<h1>Drain</h1><p>Drain the harbour with the drain window.</p><script></script>"
        ),
    ]
    report = mkdocs_roaming.publish_pages(pages, folder, url="https://docs.example", name="Harbour")
    assert (report.pages, report.sections) == (2, 2)
    return folder


def test_reference_page_examples_run(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(site.parent)
    first = next(code_blocks(PAGE.read_text("utf-8")))
    exec(compile(first, str(PAGE), "exec"), {})
    shown = capsys.readouterr().out
    assert "Drain the harbour with the drain window." in shown
    assert "Drain https://docs.example/drain/" in shown


def test_library_searches_outlines_and_expands(site: Path) -> None:
    library = mkdocs_roaming.open_library(site)
    (result,) = library.search("pumps")
    assert (result.title, result.url) == ("Home", "https://docs.example/")
    assert f"[{result.id}] Home" in library.outline(tokens=500)
    section = library.expand(result.id)
    assert (section.text, section.parts) == ("# Home\n\nThe harbour has three pumps.\n", 1)
    with pytest.raises(mkdocs_roaming.UsageError, match="no section 'nowhere'"):
        library.expand("nowhere")


def test_ask_opens_folder_and_cites_section(site: Path) -> None:
    answer = mkdocs_roaming.ask(str(site), "How many pumps has the harbour?", model="offline")
    assert answer.state == "results"
    assert answer.citations[0].url == "https://docs.example/"


def test_ask_in_scope_cites_only_pages_in_scope(site: Path) -> None:
    question = "How many pumps has the harbour?"
    for path, found in (("/", True), ("drain", False)):
        answer = mkdocs_roaming.ask(site, question, model="offline", scope=mkdocs_roaming.Scope(paths=(path,)))
        assert ("https://docs.example/" in [source.url for source in answer.citations]) == found
    with pytest.raises(mkdocs_roaming.UsageError, match="no page matches the path nowhere"):
        mkdocs_roaming.ask(str(site), question, model="offline", scope=mkdocs_roaming.Scope(paths=("nowhere",)))


def test_stream_yields_events_until_finished(site: Path) -> None:
    events = list(mkdocs_roaming.stream(site, "How many pumps has the harbour?", model="offline"))
    assert isinstance(events[-1], Finished)
    assert any(isinstance(event, TextReleased) for event in events)


def test_stream_left_early_stops_model(site: Path) -> None:
    class EndlessModel:
        """Never finishes its reply."""

        name = "endless"
        is_closed = False

        async def reply(self, request: object) -> Any:
            import anyio

            from mkdocs_roaming.answer.models.base import Text

            try:
                yield Text("The harbour ")
                await anyio.sleep_forever()
            finally:
                type(self).is_closed = True

    events = mkdocs_roaming.stream(site, "How many pumps has the harbour?", model=EndlessModel())
    next(events)
    next(events)
    events.close()
    assert EndlessModel.is_closed


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("nowhere", "why?"), mkdocs_roaming.LibraryError, "nowhere: no such folder or file"),
        ((None, " "), mkdocs_roaming.UsageError, "the question is empty"),
        ((None, "why?", "nobody"), mkdocs_roaming.UsageError, "unknown model 'nobody'"),
    ],
)
def test_ask_and_stream_raise_for_wrong_arguments(
    site: Path, arguments: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    where, question, *model = arguments
    for function in (mkdocs_roaming.ask, lambda *args, **options: list(mkdocs_roaming.stream(*args, **options))):
        with pytest.raises(error, match=message):
            function(where or site, question, model=model[0] if model else "offline")


def test_publish_site_publishes_html_folder(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(
        "<html><head><title>Boats</title></head><body><article><h1>Boats</h1><p>They float.</p></article>"
    )
    report = mkdocs_roaming.publish_site(tmp_path, url="https://boats.example/", name="Boats")
    assert report.pages == 1
    assert mkdocs_roaming.open_library(tmp_path).search("float")[0].title == "Boats"


def test_publish_pages_warns_of_duplicate_path(tmp_path: Path) -> None:
    page = mkdocs_roaming.Page("a/", "A", article="<h1>A</h1><p>Text.</p>")
    with pytest.warns(UserWarning, match="same path"):
        mkdocs_roaming.publish_pages([page, page], tmp_path, url="https://docs.example/", name="Docs")
