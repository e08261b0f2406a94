"""Output, exit codes and error messages of the commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import click
import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace
from reference import load_commands
from serving import serve_static

from mkdocs_roaming.cli import COMMANDS as BUILT_IN
from mkdocs_roaming.cli import main
from mkdocs_roaming.cli.common import FAULTS_FOUND, NOTHING_FOUND, ErrorReportingGroup
from mkdocs_roaming.manifest.io import dump_manifest, load_manifest
from mkdocs_roaming.manifest.models import NavItem, Page, RuleCondition, RuleEntry, Site
from mkdocs_roaming.publish.cache import ConversionCache
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.publish.pipeline import convert_pages
from mkdocs_roaming.publish.writer import publish_batch

COMMANDS = sorted(load_commands())
NAV = (NavItem("Home", ""), NavItem("Guide", children=(NavItem("Pumps", "pumps/"), NavItem("Lamps", "lamps/"))))
PAGES = (
    Page("", "Home", '<h1>Welcome</h1><p>Start with <a href="pumps/">the pumps</a>.</p>'),
    Page(
        "pumps/",
        "Pumps",
        '<h1>Pumps</h1><h2 id="pressure">Pressure</h2><p>A bilge pump works at 4.7 bar. Above 6.1 bar it stops.</p>'
        '<h2 id="oil">Oil</h2><p>Change the oil every 310 hours.</p>',
    ),
    Page("lamps/", "Lamps", '<h1>Lamps</h1><h2 id="colours">Colours</h2><p>A red lamp means port side.</p>'),
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    batch = convert_pages(
        Site("Boat", "https://boat.example/", nav=NAV), PAGES, cache=ConversionCache(None), warn=print
    )
    publish_batch(batch, folder, PublishOptions())
    return folder


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    with serve_static(site, "https://boat.example/") as url:
        yield url


def roaming(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_outline_prints_ids_titles_and_openings_in_nav_order(site: Path) -> None:
    result = roaming("outline", site)
    assert result.exit_code == 0
    titles = [line.split("] ")[1].split(" — ")[0] for line in result.stdout.splitlines()[1:]]
    assert titles == ["Welcome", "Guide", "Pumps", "Pressure", "Oil", "Lamps", "Colours"]


def test_outline_prints_branch_below_id(site: Path) -> None:
    id_ = json.loads(roaming("search", site, "bilge", "--json").stdout)[0]["id"]
    assert "Pressure" in roaming("outline", site, id_).stdout
    result = roaming("outline", site, "00000000")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "take an id from the outline" in result.stderr


def test_expand_accepts_paths_and_urls(site: Path) -> None:
    result = roaming("expand", site, "pumps/#oil", "https://boat.example/lamps/#colours")
    assert result.exit_code == 0
    assert "every 310 hours" in result.stdout
    assert "Guide › Lamps › Colours" in result.stdout
    assert roaming("expand", site, "pumps/#nowhere").exit_code == 1


def test_search_prints_best_results_first(site: Path) -> None:
    result = roaming("search", site, "bilge pump bar")
    lines = result.stdout.splitlines()
    assert lines[0].endswith("Guide › Pumps › Pressure")
    assert lines[1].strip() == "https://boat.example/pumps/#pressure"
    assert "4.7 bar" in lines[2]


def test_grep_prints_lines_with_ids_of_their_sections(site: Path) -> None:
    id_ = json.loads(roaming("search", site, "bilge", "--json").stdout)[0]["id"]
    result = roaming("grep", site, "4.7 bar")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == f"[{id_}] Guide › Pumps › Pressure"
    assert lines[1:] == ["  3: A bilge pump works at 4.7 bar. Above 6.1 bar it stops.", "Lines: 1, sections: 1."]
    (found,) = json.loads(roaming("grep", site, "hours", "--json", "--limit", 1).stdout)["sections"]
    assert found["title"] == "Oil"


def test_grep_explains_errors_and_exits_with_3_without_match(site: Path) -> None:
    missing = roaming("grep", site, "xylophone")
    assert (missing.exit_code, missing.stdout) == (NOTHING_FOUND, "")
    assert "No line matches." in missing.stderr
    wrong = roaming("grep", site, " ")
    assert wrong.exit_code == 1
    assert "the pattern is empty" in wrong.stderr


@pytest.mark.parametrize("command", ["grep", "search", "ask"])
def test_swapped_arguments_are_named(site: Path, command: str) -> None:
    result = roaming(command, "4.7 bar", site)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"roaming: 4.7 bar: no such folder; LIB comes first: roaming {command} {site} '4.7 bar'\n"


def test_search_and_ask_without_result_exit_with_3(site: Path) -> None:
    assert roaming("search", site, "xylophone").exit_code == NOTHING_FOUND
    assert roaming("ask", site, "who composed the xylophone concerto").exit_code == NOTHING_FOUND


def test_search_accepts_query_that_starts_with_dashes(site: Path) -> None:
    assert roaming("search", site, "--bilge pump").exit_code == 0


def test_commands_accept_url_of_site(served: str) -> None:
    assert "Pressure" in roaming("outline", served).stdout
    assert "310 hours" in roaming("expand", served + "roaming/manifest.json", "pumps/#oil").stdout
    assert "4.7 bar" in roaming("ask", served, "At which pressure does a bilge pump work?").stdout
    assert roaming("validate", served).exit_code == 0


@pytest.mark.parametrize(
    ("command", "more"),
    [("outline", []), ("search", ["oil"]), ("expand", ["pumps/#oil"]), ("grep", ["310 hours"])],
    ids=["outline", "search", "expand", "grep"],
)
def test_reading_commands_label_site_of_somebody_else(site: Path, served: str, command: str, more: list[str]) -> None:
    def run(lib: object, *options: str) -> str:
        arguments = [lib, *more]
        return roaming(command, *arguments, *options).stdout

    host = served.split("/")[2]
    assert run(served).startswith(f"untrusted content from {host}\n")
    assert "untrusted" not in run(site)
    labelled, own = json.loads(run(served, "--json")), json.loads(run(site, "--json"))
    first, first_own = (data[0] if isinstance(data, list) else data for data in (labelled, own))
    assert first["untrusted"] == host
    assert first.keys() - first_own.keys() == {"untrusted"}


def test_commands_accept_markdown_file_or_url(tmp_path: Path, site: Path, served: str) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n\nHello.\n\n## Keel\n\nThe keel weighs 812 kg.\n")
    assert "Keel" in roaming("outline", tmp_path / "notes.md").stdout
    assert "812 kg" in roaming("ask", tmp_path / "notes.md", "What does the keel weigh?").stdout
    found = roaming("search", served + "llms-full.txt", "oil").stdout
    assert found.startswith("untrusted content from 127.0.0.1:")
    assert "310 hours" in found


def test_outline_of_text_in_no_dialect_names_those_that_were_tried(tmp_path: Path) -> None:
    file = tmp_path / "llms-full.txt"
    file.write_text("# Keel\n\nIt weighs 812 kg.\n\n# Mast\n\nIt is of ash.\n")
    result = roaming("outline", file)
    assert "Mast" in result.stdout
    assert result.stderr.startswith(f"{file}: read by its headings, as no other borders of pages were found: ")
    assert "front matter" in result.stderr
    file.write_text("# Keel\nSource: https://boat.example/keel\n\n# Mast\nSource: https://boat.example/mast\n\nAsh.\n")
    assert roaming("outline", file).stderr == ""


def test_ask_of_list_of_pages_says_how_to_crawl_them(tmp_path: Path) -> None:
    file = tmp_path / "llms.txt"
    file.write_text(
        "# Boat\n\n- [Keel](https://boat.example/docs/keel/): its weight\n- https://boat.example/docs/mast/\n"
    )
    result = roaming("ask", file, "What does the keel weigh?")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "only lists pages; crawl it with `roaming crawl https://boat.example/docs/ -o DIR`" in result.stderr
    assert "its weight" in roaming("search", file, "keel").stdout


def test_validate_reports_faults_and_exits_with_4(site: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(site, tmp_path / "site")
    page = tmp_path / "site/pumps/index.md"
    page.write_text(page.read_text().replace("4.7", "9.9"))
    next(iter((tmp_path / "site/roaming/sections").iterdir())).unlink()
    (tmp_path / "site/llms.txt").write_text("# Boat\n")
    manifest = load_manifest((tmp_path / "site/roaming/manifest.json").read_bytes())
    lost = RuleEntry(RuleCondition(always=True), ("00000000",), name="lost")
    (tmp_path / "site/roaming/manifest.json").write_text(dump_manifest(replace(manifest, rules=(lost,))))
    result = roaming("validate", tmp_path / "site")
    assert result.exit_code == FAULTS_FOUND
    assert "pumps/index.md: does not match its digest" in result.stdout
    assert ".md: missing" in result.stdout
    assert "rule lost: opens 00000000, which is no section" in result.stdout
    assert "llms.txt: lamps/index.md is not listed" in result.stdout


def test_validate_lists_broken_links_of_the_site(tmp_path: Path) -> None:
    links = "".join(f'<a href="/gone/{number:02}/">gone</a> ' for number in (*range(23), 0))  # one of them twice
    (tmp_path / "index.html").write_text(
        f"<html><head><title>Boat</title></head><main><h1>Boat</h1><p>{links}</p></main>"
    )
    roaming("index", tmp_path, "--url", "https://boat.example/")
    result = roaming("validate", tmp_path)
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0] == "broken link: index.md: https://boat.example/gone/00/ does not exist"
    assert lines[20] == "broken links: 3 more; --json lists all of them"
    assert len(json.loads(roaming("validate", tmp_path, "--json").stdout)["notes"]) == 23


def test_validate_refuses_markdown_file(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text("# X\n")
    result = roaming("validate", tmp_path / "x.md")
    assert (result.exit_code, "not a published site" in result.stderr) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["outline", "nowhere"], "no such folder or file"),
        (["outline", "."], "build the site first"),
        (["outline", "ftp://x/"], "only http"),
        (["ask", "http://127.0.0.1:9/", "x"], "cannot be fetched"),
        (["index", "nowhere"], "build the site first"),
    ],
)
def test_usage_error_is_one_line_without_traceback(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = roaming(*arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith("roaming: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


@pytest.mark.parametrize("command", BUILT_IN)
def test_help_summary_is_first_line_of_command_help(command: str) -> None:
    assert (load_commands()[command].help or "").split("\n")[0] == BUILT_IN[command][1]


def test_help_imports_no_answer_or_server_modules() -> None:
    code = "import sys\nfrom mkdocs_roaming.cli import main\nmain(['--help'], standalone_mode=False)\n"
    code += (
        "print([m for m in sys.modules if m.startswith(('mkdocs_roaming.answer', 'mkdocs_roaming.serve', 'anyio'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_closed_pipe_is_not_an_error(site: Path) -> None:
    command = f"{sys.executable} -m mkdocs_roaming outline {site} | head -c 10"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_closed_output_is_an_error_on_one_line(site: Path) -> None:
    command = f"{sys.executable} -m mkdocs_roaming outline {site} >&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "standard output is closed" in done.stderr


def test_interrupt_while_modules_are_imported_leaves_no_traceback() -> None:
    code = "import sys\nclass Finder:\n    def find_spec(self, name, *_):\n        if name == 'click': raise KeyboardInterrupt\n"
    code += "sys.meta_path.insert(0, Finder())\nfrom mkdocs_roaming.__main__ import main\nmain()\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "Aborted!\n")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGHUP")
@pytest.mark.parametrize(
    ("ignored", "number", "output"),
    [
        (signal.SIGUSR1, signal.SIGTERM, "stopped\n\nAborted!\n"),
        (signal.SIGUSR1, signal.SIGHUP, "stopped\n\nAborted!\n"),
        (signal.SIGINT, signal.SIGTERM, "stopped\n\nAborted!\n"),  # a command in the background of a script
        (signal.SIGHUP, signal.SIGHUP, "done\n"),  # nohup
    ],
)
def test_signal_stops_command_like_ctrl_c(ignored: signal.Signals, number: signal.Signals, output: str) -> None:
    """A closed terminal sends SIGHUP twice; the second one does not disturb what is done after the first."""

    async def wait() -> None:
        signal.raise_signal(number)
        await anyio.sleep(0)
        click.echo("done")

    def command() -> None:
        try:
            anyio.run(wait)
        except KeyboardInterrupt:
            if number == signal.SIGHUP:
                signal.raise_signal(number)
            click.echo("stopped")
            raise

    before = signal.signal(ignored, signal.SIG_IGN)
    try:
        group = ErrorReportingGroup(commands={"x": click.Command("x", callback=command)})
        assert CliRunner().invoke(group, ["x"]).output == output
    finally:
        signal.signal(ignored, before)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_full_disk_is_reported_on_one_line(site: Path, options: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "mkdocs_roaming", "outline", site, *options]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("roaming: the output: cannot be used (")


@pytest.mark.parametrize("place", ["roaming", "roaming/sections", "index.md/folder"])
def test_file_or_folder_in_the_way_is_reported_on_one_line(tmp_path: Path, place: str) -> None:
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text("in the way")
    (tmp_path / "index.html").write_text(
        "<html><head><title>Tide</title></head><body><h1>Tide</h1><p>Low.</p></body></html>"
    )
    done = CliRunner().invoke(main, ["index", str(tmp_path), "--url", "https://tide.example/", "--overwrite"])
    assert done.exit_code == 1
    (error,) = [line for line in done.stderr.splitlines() if not line.startswith("Warning: ")]
    assert error.startswith(f"roaming: {tmp_path}/{place.partition('/folder')[0]}")
    assert ": cannot be used (" in error


def test_index_names_configuration_outside_of_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.html").write_text("<head></head><main><h1>Tide</h1><p>Low.</p></main>")
    (tmp_path / "mkdocs.yml").write_text("site_name: Tide\nsite_url: https://tide.example/\n")
    (tmp_path / "elsewhere").mkdir()
    used = f"configured by {tmp_path / 'mkdocs.yml'}\n"
    for folder, is_named in (("elsewhere", True), (".", False)):
        monkeypatch.chdir(tmp_path / folder)
        result = CliRunner().invoke(main, ["index", str(tmp_path / "site")])
        assert (result.exit_code, result.stdout.endswith(used)) == (0, is_named)


def test_output_replaces_unencodable_characters(site: Path) -> None:
    environ = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    command = [sys.executable, "-m", "mkdocs_roaming", "outline", site]
    done = subprocess.run(command, capture_output=True, env=environ, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"?" in done.stdout


def test_output_strips_control_characters_of_pages(tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text("# Evil\n\nThe \x1b[31mred\x1b]0;title\x07 word is plover.\n")
    for arguments in (("outline",), ("search", "plover"), ("ask", "what is the word plover"), ("expand", "#")):
        result = roaming(arguments[0], tmp_path / "x.md", *arguments[1:])
        assert "\x1b" not in result.stdout + result.stderr
