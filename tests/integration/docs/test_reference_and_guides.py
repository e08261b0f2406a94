"""README and documentation agree with the code."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import msgspec
import pytest
from click.testing import CliRunner
from reference import PAGES, load_commands

from mkdocs_roaming.cli import main
from mkdocs_roaming.cli.common import LibraryCommand
from mkdocs_roaming.config import TABLES, load_settings
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.settings import table_keys

ROOT = Path(__file__).parents[3]
COMMANDS_BY_NAME = load_commands()
TEXTS = ["README.md", *sorted(file.relative_to(ROOT).as_posix() for file in (ROOT / "docs").rglob("*.md"))]
CONSOLE = re.compile(r"^(`{3,})console\n(?P<block>\$ roaming .*?)^\1$", re.MULTILINE | re.DOTALL)


def run(command: str, site: Path) -> str:
    """Return the output of a command on the sample site: standard error, unless it is discarded, then standard output."""
    is_quiet = command.endswith(" 2>/dev/null")
    words, _, typed = command.removesuffix(" 2>/dev/null").partition(" <<< ")
    arguments = [str(site) if word == "sample_site/site" else word for word in shlex.split(words)[1:]]
    result = CliRunner().invoke(main, arguments, input="\n".join(shlex.split(typed)))
    shown = result.stderr.strip() + "\n\n" + result.stdout if result.stderr and not is_quiet else result.stdout
    return shown.replace(str(site), "sample_site/site").strip()


@pytest.mark.parametrize("file", ["README.md", "docs/guides/agents.md", "docs/guides/ask.md", "docs/guides/rules.md"])
def test_documented_output_equals_command_output(
    file: str, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / file).read_text("utf-8")
    blocks = [found["block"] for found in CONSOLE.finditer(text)]
    assert blocks
    for block in blocks:
        commands = re.findall(r"^\$ (roaming .*)$", block, re.MULTILINE)
        shown = "\n\n".join(f"$ {command}\n{run(command, sample)}" for command in commands) + "\n"
        if os.environ.get("UPDATE"):
            text = text.replace(block, shown)
        else:
            assert block == shown
    (ROOT / file).write_text(text, "utf-8")


FENCE = re.compile(r"^( *)(`{3,})(\w*)[^\n]*\n(.*?)^\1\2`*$", re.MULTILINE | re.DOTALL)


def find_commands(text: str) -> list[tuple[str, bool]]:
    """Return the `roaming …` commands of a text, and whether each is a complete line; in prose an option may be alone."""
    lines: list[str] = []
    for _, _, kind, block in FENCE.findall(text):
        if kind in ("console", "sh"):
            lines += re.findall(r"^ *(?:\$ )?(roaming .*)$", block.replace("\\\n", ""), re.MULTILINE)
    spans = re.findall(r"`(roaming [^`]+)`", FENCE.sub("", text))
    return [*((line, True) for line in lines), *((" ".join(span.split()), False) for span in spans)]


def find_misuse(command: str, *, complete: bool) -> str:
    """Return the error of a command: unknown name or option, invalid value, missing argument; `""` if it is valid."""
    words = shlex.split(re.split(r" (?:<<<|2?[|<>&]) ?", command)[0], comments=True)[1:]
    if words[0].startswith(("-", "…")):
        return "" if words[0] in ("…", "--version", "--help") else f"no option {words[0]}"
    if words[0] not in COMMANDS_BY_NAME:
        return f"no command {words[0]}"
    called = COMMANDS_BY_NAME[words[0]]
    if isinstance(called, click.Group) and (complete or len(words) > 1):
        words = words[1:]
        if not words or words[0] not in called.commands:
            return f"no command of roaming {called.name}: {words}"
        called = called.commands[words[0]]
    context = click.Context(called, help_option_names=["-h", "--help"])  # click keeps those that come first
    try:
        args = called.insert_library(words[1:]) if isinstance(called, LibraryCommand) else words[1:]
        given, left, _ = called.make_parser(context).parse_args(args)
        for parameter in called.params:
            value = given.get(parameter.name or "")
            if isinstance(value, str) and not isinstance(parameter.type, click.Path | click.File):
                parameter.type(value, parameter, context)
            if complete and parameter.required and not (value and isinstance(value, str | tuple)):
                return f"no {parameter.human_readable_name}"
    except click.UsageError as error:
        if isinstance(error, click.BadOptionUsage) and not complete and words[-1] == error.option_name:
            return ""  # named without its value
        return error.format_message()
    return f"{left} too much" if left else ""


@pytest.mark.parametrize("file", TEXTS)
def test_documented_commands_are_valid(file: str) -> None:
    found = find_commands((ROOT / file).read_text("utf-8"))
    wrong = {command: message for command, complete in found if (message := find_misuse(command, complete=complete))}
    assert wrong == {}


ELSEWHERE = tomllib.loads((ROOT / "tests/golden/documented-commands.toml").read_text("utf-8"))
RUN = sorted(
    {command for file in TEXTS for command, complete in find_commands((ROOT / file).read_text("utf-8")) if complete}
)


@pytest.fixture(scope="module")
def project(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the guides work with: sources, built site, questions."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "sample_site", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("site", ".cache"))
    shutil.copytree(sample, folder / "site")
    shutil.copytree(sample, folder / "sample_site" / "site")
    shutil.copy(ROOT / "LICENSE", folder)
    return folder


@pytest.mark.parametrize(
    "command", [command for command in RUN if not any(re.search(pattern, command) for pattern in ELSEWHERE)]
)
def test_documented_commands_run(command: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They exit with 0, or with 3 where nothing is found. Patterns without a command are not needed any more."""
    assert [pattern for pattern in ELSEWHERE if not any(re.search(pattern, one) for one in RUN)] == []
    monkeypatch.chdir(project)
    monkeypatch.setenv("BROWSER", "true")  # the program that `--open` starts
    words, _, typed = re.split(r" (?:2?>|\|)", command)[0].partition(" <<< ")
    arguments = shlex.split(words, comments=True)[1:]
    result = CliRunner().invoke(main, arguments, input="\n".join(shlex.split(typed)))
    assert result.exit_code in (0, 3), result.output


@pytest.mark.parametrize("file", PAGES)
def test_generated_pages_are_current(file: str) -> None:
    if os.environ.get("UPDATE"):
        (ROOT / file).write_text(PAGES[file](), "utf-8")
    assert (ROOT / file).read_text("utf-8") == PAGES[file]()


def test_sample_site_is_valid(sample: Path) -> None:
    result = validate_site(open_library(sample))
    assert (result.faults, result.notes) == ((), ())


def test_options_page_lists_all_options_with_their_defaults() -> None:
    table = (ROOT / "docs/reference/options.md").read_text("utf-8").split("\n## ")[0]
    documented: dict[str, str] = {}
    for names, defaults in re.findall(r"^\| (`[^|]*) \| ([^|]*) \|", table, re.MULTILINE):
        # A default that is not code describes an empty value.
        values = [text.strip("`") if "`" in text else "" for text in defaults.split(", ")]
        documented |= zip(re.findall(r"`(\w+)`", names), values * 2, strict=False)
    declared = msgspec.structs.asdict(PublishOptions())
    empty = (None, (), [], {})
    assert documented == {
        name: "" if value in empty else str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in declared.items()
    }


def test_ask_guide_names_all_options_and_settings() -> None:
    text = (ROOT / "docs/guides/ask.md").read_text("utf-8")
    wanted = [option for one in COMMANDS_BY_NAME["ask"].params for option in one.opts if option.startswith("--")]
    wanted += [f"[{table}]" for table in TABLES] + [f"{key} = " for kind in TABLES.values() for key in table_keys(kind)]
    wanted.remove("prices = ")  # a table
    assert [one for one in wanted if one not in text] == []


def test_python_example_of_ask_guide_runs(sample: Path, tmp_path: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/guides/ask.md").read_text("utf-8"), re.M | re.S)
    (tmp_path / "main.py").write_text(program.replace("sample_site/site", str(sample)), "utf-8")
    done = subprocess.run([sys.executable, tmp_path / "main.py"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("ToolCalled(")
    assert "Finished(state='results', model='offline'" in done.stdout


def test_configuration_example_of_ask_guide_is_valid(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```toml\n(.*?)^```$", (ROOT / "docs/guides/ask.md").read_text("utf-8"), re.M | re.S)
    (tmp_path / "roaming.toml").write_text(block, "utf-8")
    assert load_settings(tmp_path / "roaming.toml").budget.prices is not None


def test_readme_of_package_index_has_absolute_links_to_files_of_the_repository() -> None:
    hook = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["metadata"]["hooks"]
    text = (ROOT / "README.md").read_text("utf-8")
    for one in hook["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(one["pattern"], one["replacement"], text)
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert [link for link in links if not link.startswith(("https://", "http://", "#"))] == []
    own = [found[1] for link in links if (found := re.search(r"/mkdocs-roaming/(?:blob/)?main/([^#]+)", link))]
    assert len(own) > 30
    assert [path for path in own if not (ROOT / path).exists()] == []


def test_figures_in_readme_are_on_pages_of_measurements() -> None:
    rows = (ROOT / "README.md").read_text("utf-8").split("## Measured")[1].split("\n## ")[0].splitlines()[4:]
    figures = {one for row in rows if row.startswith("|") for one in re.findall(r"\d*\.\d+", row)}
    pages = ("benchmarks.md", "how-well.md")
    measured = "".join((ROOT / "docs/explanation" / page).read_text("utf-8") for page in pages)
    assert len(figures) > 5
    assert [one for one in figures if one not in measured] == []


def test_guides_show_every_command() -> None:
    pages = [*(ROOT / "docs/guides").glob("*.md"), ROOT / "docs/tutorial.md"]
    text = "".join(page.read_text("utf-8") for page in pages)
    assert [name for name in COMMANDS_BY_NAME if f"roaming {name} " not in text] == []


def test_architecture_page_explains_every_dependency() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    text = (ROOT / "docs/explanation/architecture.md").read_text("utf-8")
    names = [re.split(r"[<>=!\[]", requirement)[0] for requirement in project["dependencies"]]
    assert [name for name in names if f"`{name}`" not in text] == []


def test_no_file_names_a_package_registry_host() -> None:
    hosts = ("pypi" + ".org", "pythonhosted" + ".org", "registry.npmjs" + ".org")
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split(
        "\n"
    )
    for name in filter(None, files):
        data = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b""
        assert not [host for host in hosts if host.encode() in data], name
