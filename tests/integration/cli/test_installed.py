"""The documentation in installed packages: `roaming bundle`, `--installed` and `installed:`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from click.testing import CliRunner
from wheels import write_wheel

from mkdocs_roaming.cli import main
from mkdocs_roaming.library.installed import find_bundles
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.library.targets import open_library


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, sample: Path) -> Path:
    """A folder with two installed packages that contain documentation, and two that announce none that can be read."""
    folder = tmp_path_factory.mktemp("environment")
    (folder / "LICENSE").write_text("Free.\n")
    kite = folder / "kite"
    kite.mkdir()
    (kite / "index.html").write_text(
        "<html><head><title>Kite</title></head><body><main><h1>Kite</h1><p>A kite needs a steady wind of 15 km/h.</p>"
        "<h2 id=line>Line</h2><p>The kite's line is 50 m long.</p></main></body></html>"
    )
    installed = folder / "installed"
    run("index", kite, "--url", "https://kite.example/", cwd=folder)
    run("bundle", kite, "-o", "kite-docs", cwd=folder)
    run("bundle", sample, "-o", "ebb-docs", cwd=folder)
    broken = folder / "broken/roaming"
    broken.mkdir(parents=True)
    (broken / "manifest.json").write_text("{")
    wheels = [
        write_wheel(folder, "ebb-client", "4.2.0", folder / "ebb-docs"),
        write_wheel(folder, "kite", "0.9", folder / "kite-docs"),
        write_wheel(folder, "broken", "1.0", folder / "broken"),
        write_wheel(folder, "odd", "1.0", None, entry_point="../../etc"),
    ]
    for wheel in wheels:  # as an installer does for wheels without scripts
        with ZipFile(wheel) as archive:
            archive.extractall(installed)
    return installed


def run(*arguments: object, cwd: Path, installed: Path | None = None, code: int = 0) -> str:
    """Run a command in the environment, and return its output; of commands that print JSON that of stdout alone."""
    words = [str(argument) for argument in arguments]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        if installed:
            patch.syspath_prepend(installed)
        done = CliRunner().invoke(main, words)
    assert done.exit_code == code, done.output
    return done.stdout if "--json" in words or "--print-config" in words else done.stdout + done.stderr


def test_question_is_answered_from_the_right_package_and_names_its_version(environment: Path, tmp_path: Path) -> None:
    kite = run("ask", "--installed", "How long is the line of a kite?", cwd=tmp_path, installed=environment)
    assert "50 m long" in kite
    assert kite.startswith(
        "**Line** · kite 0.9 › Kite\n\nThe kite's line is 50 m long.\n\nhttps://kite.example/#line\n"
    )
    ebb = run("ask", "--installed", "--drain-window default", cwd=tmp_path, installed=environment)
    assert "ebb-client 4.2.0 › " in ebb
    assert "83 s" in ebb


def test_all_commands_read_installed_documentation(environment: Path, tmp_path: Path) -> None:
    outline = run("outline", "installed:", cwd=tmp_path, installed=environment)
    assert "] ebb-client 4.2.0" in outline
    assert "] kite 0.9" in outline
    hits = json.loads(run("search", "installed:kite", "line", "--json", cwd=tmp_path, installed=environment))
    assert hits[0]["breadcrumb"] == ["kite 0.9", "Kite", "Line"]
    opened = run("expand", "installed:", hits[0]["id"], cwd=tmp_path, installed=environment)
    assert "The kite's line is 50 m long." in opened
    found = run("grep", "installed:Kite", "50 m", cwd=tmp_path, installed=environment)
    assert f"[{hits[0]['id']}] kite 0.9 › Kite › Line" in found


def test_package_that_cannot_be_read_is_left_out_with_a_warning(
    environment: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run("outline", "installed:", cwd=tmp_path, installed=environment)
    assert "broken 1.0: its documentation is left out" in caplog.text
    assert "odd: the entry point roaming.docs = ../../etc is no module name" in caplog.text


def test_unknown_package_is_named_with_those_that_there_are(environment: Path, tmp_path: Path) -> None:
    said = run("search", "installed:flask", "x", cwd=tmp_path, installed=environment, code=1)
    assert "flask is not installed here, or contains no documentation" in said
    assert "ebb-client, kite" in said


def test_option_and_library_exclude_each_other(tmp_path: Path) -> None:
    for options in (["--installed", "lib"], ["lib", "--installed"]):
        assert "unexpected extra argument" in run("ask", *options, "question", cwd=tmp_path, code=2)
    both = run("ask", "--deps", "--installed", "question", cwd=tmp_path, code=2)
    assert "--deps and --installed exclude each other" in both
    assert "Missing argument 'QUESTION'" in run("ask", "question", cwd=tmp_path, code=2)


def test_tools_of_installed_packages_name_them(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(environment)
    about = Navigator(open_library("installed:")).about
    assert about.startswith("The documentation: ")
    assert "ebb-client 4.2.0, kite 0.9" in about


def test_bundles_of_another_environment_are_found_in_it_alone(environment: Path) -> None:
    found = [(bundle.package, bundle.version, bundle.folder.parts[-2:]) for bundle in find_bundles([str(environment)])]
    assert found == [
        ("broken", "1.0", ("broken", "_docs")),
        ("ebb-client", "4.2.0", ("ebb_client", "_docs")),
        ("kite", "0.9", ("kite", "_docs")),
    ]
    assert find_bundles([]) == []


def test_mcp_server_of_installed_packages_runs_in_their_environment(environment: Path, tmp_path: Path) -> None:
    config = run("mcp", "installed:", "--print-config", "cursor", cwd=tmp_path, installed=environment)
    server = json.loads(config)["mcpServers"]["installed-packages"]
    assert (server["command"], server["args"]) == (sys.executable, ["-m", "mkdocs_roaming", "mcp", "installed:"])


def test_bundle_of_a_crawled_site_is_refused(tmp_path: Path, sample: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    for path in ("roaming", "index.md"):
        (site / path).symlink_to(sample / path)
    (site / ".roaming").mkdir()
    (site / ".roaming/state.json").write_text("{}")
    for command in (["bundle", str(site), "-o", str(tmp_path / "out")], ["export", "agents-md", str(site)]):
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 1
        assert "a site that you built" in result.stderr
    assert not (tmp_path / "out").exists()


def test_bundle_without_licence_names_the_option(tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["bundle", str(sample), "-o", "out"])
    assert (result.exit_code, "--license" in result.stderr) == (1, True)
