"""`roaming build`: the generator runs, then its output is published."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from tables import read_tables

from mkdocs_roaming.cli import main
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.library.validate import validate_site

TABLES = read_tables(__file__)

PAGE = '<html lang="en"><head><title>Pumps</title></head><body><main><h1>Pumps</h1><p>Three.</p></main></body></html>'
GENERATOR = f"""\
import pathlib, sys
print("building", *sys.argv[1:])
print("careful", file=sys.stderr)
site = pathlib.Path("out")
site.mkdir(exist_ok=True)
(site / "index.html").write_text({PAGE!r})
"""
ZENSICAL = '[project]\nsite_name = "Harbour"\nsite_url = "https://docs.example/"\nsite_dir = "out"\n'


@dataclass
class Done:
    """A finished build: the output of the command and of the generator, which writes first."""

    returncode: int
    stdout: str
    stderr: str


Build = Callable[..., Done]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter and return a project with a generator that is a Python program."""
    (tmp_path / "generate.py").write_text(GENERATOR, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}")
    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    return tmp_path


@pytest.fixture
def build(project: Path, capfd: pytest.CaptureFixture[str]) -> Build:
    """Return a function that runs the command."""

    def run(*arguments: str) -> Done:
        capfd.readouterr()
        result = CliRunner().invoke(main, ["build", *arguments])
        generator = capfd.readouterr()
        return Done(result.exit_code, generator.out + result.stdout, generator.err + result.stderr)

    return run


def install(project: Path, name: str, text: str) -> None:
    program = project / "bin" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    program.chmod(0o755)


def test_command_is_run_and_its_output_published(project: Path, build: Build) -> None:
    arguments = ["--site-dir", "out", "--url", "https://docs.example/", "--", sys.executable, "generate.py", "--fast"]
    done = build(*arguments)
    assert (done.returncode, done.stderr) == (0, "careful\n")
    first, second = done.stdout.splitlines()
    assert first == "building --fast"
    assert second.startswith("out: 1 page, 1 section")
    assert validate_site(open_library(project / "out")).faults == ()


def test_generator_of_configuration_is_run(project: Path, build: Build) -> None:
    (project / "zensical.toml").write_text(ZENSICAL, "utf-8")
    install(project, "zensical", f'echo "$@"; exec "{sys.executable}" generate.py')
    done = build()
    assert (done.returncode, done.stdout.splitlines()[:2]) == (0, ["build", "building"])
    assert "Harbour" in (project / "out/llms.txt").read_text("utf-8")


def test_site_folder_and_options_come_from_own_table(project: Path, build: Build) -> None:
    table = '[publish]\nsite_url = "https://docs.example/"\nsite_dir = "out"\nllms_full = false\n'
    (project / "roaming.toml").write_text(table, "utf-8")
    assert build("--", sys.executable, "generate.py").returncode == 0
    assert (project / "out/llms.txt").exists()
    assert not (project / "out/llms-full.txt").exists()


def test_failed_build_publishes_nothing_and_keeps_exit_code(project: Path, build: Build) -> None:
    (project / "out").mkdir()
    (project / "out/index.html").write_text(PAGE, "utf-8")
    done = build("--site-dir", "out", "--", sys.executable, "-c", "raise SystemExit(7)")
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")
    assert [file.name for file in (project / "out").iterdir()] == ["index.html"]


def test_site_of_plugin_is_published_once(project: Path, build: Build) -> None:
    (project / "docs").mkdir()
    (project / "docs/index.md").write_text("# Pumps\n\nThree.\n", "utf-8")
    text = "site_name: Harbour\nsite_url: https://docs.example/\nplugins: [roaming]\n"
    (project / "mkdocs.yml").write_text(text, "utf-8")
    done = build("--", sys.executable, "-m", "mkdocs", "build")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.count("roaming: 1 page,") == 1
    (project / "mkdocs.yml").write_text(text.replace("[roaming]", "[]"), "utf-8")
    done = build("--", sys.executable, "-m", "mkdocs", "build", "-q", "--site-dir", "public")
    assert done.stdout.startswith("public: 1 page,")


@pytest.mark.parametrize(
    ("config", "arguments", "message"),
    TABLES["error says what to do"],
)
def test_error_says_what_to_do(project: Path, build: Build, config: str, arguments: list[str], message: str) -> None:
    if config:
        (project / "zensical.toml").write_text(config, "utf-8")
    install(project, "true", "exit 0")
    done = build(*arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_required_generator_is_preferred(project: Path, build: Build) -> None:
    (project / "mkdocs.yml").write_text("site_name: A\nsite_url: https://docs.example/\nsite_dir: out\n", "utf-8")
    install(project, "zensical", f'exec "{sys.executable}" generate.py zensical "$@"')
    (project / "requirements.txt").write_text("zensical>=0.0.42\nmkdocs-awesome-nav\n", "utf-8")
    done = build()
    assert (done.returncode, done.stderr) == (0, "careful\n")
    assert done.stdout.startswith("building zensical build\nout: 1 page")


def test_mkdocs_is_preferred_where_nothing_is_required(project: Path, build: Build) -> None:
    (project / "mkdocs.yml").write_text("site_name: A\nsite_url: https://docs.example/\n", "utf-8")
    (project / "docs").mkdir()
    (project / "docs/index.md").write_text("# Pumps\n\nThree.\n", "utf-8")
    install(project, "zensical", "exit 7")
    done = build()
    assert done.returncode == 0
    note = "mkdocs.yml: built with mkdocs; to use another generator: "
    assert note in done.stderr
    assert "roaming build -- zensical build\n" in done.stderr
    assert done.stdout.startswith("site: 1 page")


def test_disabled_site_is_built_but_not_published(project: Path, build: Build) -> None:
    (project / "roaming.toml").write_text('[publish]\nsite_dir = "out"\nenabled = false\n', "utf-8")
    done = build("--", sys.executable, "generate.py")
    assert done.returncode == 0
    assert done.stdout.splitlines()[1] == "out: not published, because `enabled` is false in roaming.toml"
    assert not (project / "out/llms.txt").exists()


def test_strict_lint_fails_after_publication(project: Path, build: Build) -> None:
    table = '[publish]\nsite_url = "https://docs.example/"\nsite_dir = "out"\nlint = "strict"\n'
    (project / "roaming.toml").write_text(table, "utf-8")
    page = PAGE.replace("Three.", "Three\u202e.")
    (project / "generate.py").write_text(GENERATOR.replace(PAGE, page), "utf-8")
    done = build("--", sys.executable, "generate.py")
    assert (project / "out/llms.txt").exists()
    assert (done.returncode, "hidden" in done.stderr) == (4, True), done.stderr


def test_signal_stops_generator(project: Path) -> None:
    program = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(9)); print('ready', flush=True)\n"
        "time.sleep(60)"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "mkdocs_roaming", "build", "--site-dir", "out", "--", sys.executable, "-c", program],
        cwd=project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 9
    process.stdout.close()
