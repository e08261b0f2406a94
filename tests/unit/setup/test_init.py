"""`roaming init` on projects of each generator: tests/golden/init/CASE has a project before and after, and the output."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mkdocs_roaming.cli import main

GOLDEN = Path(__file__).parents[2] / "golden/init"
CASES = sorted(folder.name for folder in GOLDEN.iterdir())


def run(*arguments: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(main, ["init", *arguments], input=answer)


def read_tree(folder: Path) -> dict[str, str]:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes().decode() for file in files}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty project in the working directory."""
    folder = tmp_path / "osier"
    folder.mkdir()
    (tmp_path / ".git").mkdir()
    shutil.move(tmp_path / ".git", folder / ".git")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("case", CASES)
def test_project_is_set_up_as_in_golden_folder(case: str, project: Path) -> None:
    """UPDATE=1 writes the folder `after` and the output."""
    before, after, output = GOLDEN / case / "before", GOLDEN / case / "after", GOLDEN / case / "output.txt"
    shutil.copytree(before, project, dirs_exist_ok=True)
    done = run("--yes")
    assert done.exit_code == 0, done.output
    tree = read_tree(project)
    if os.environ.get("UPDATE"):
        shutil.rmtree(after, ignore_errors=True)
        for path, text in tree.items():
            if text != read_tree(before).get(path):
                (after / path).parent.mkdir(parents=True, exist_ok=True)
                (after / path).write_bytes(text.encode())
        output.write_text(done.output, "utf-8")
    assert tree == read_tree(before) | read_tree(after)
    assert done.output == output.read_text("utf-8")
    again = run("--yes")
    assert again.output.count("No file is changed.") == 1
    assert read_tree(project) == tree


def test_nothing_is_written_without_consent(project: Path) -> None:
    shutil.copytree(GOLDEN / "mkdocs-material/before", project, dirs_exist_ok=True)
    tree = read_tree(project)
    for done in (run("--dry-run"), run(answer="n\n")):
        assert done.exit_code == 0
        assert "+  - roaming:" in done.output
        assert "Build the site" not in done.output
        assert read_tree(project) == tree
    (project / "mkdocs.yml").chmod(0o755)
    assert run(answer="\n").exit_code == 0
    assert (project / "mkdocs.yml").stat().st_mode & 0o777 == 0o755
    assert "- roaming:" in (project / "mkdocs.yml").read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plugins: []\n", None),
        ("plugins:\n  search: {}\n", None),
        ("plugins: {search: {}}\n", None),
        ("plugins:\n", None),
        ("plugins:\n- search", "plugins:\n- search\n- roaming:\n    widget: true\n    page_menu: true\n"),
        ("plugins: &all\n- a\nextra: *all\n", None),
        ("plugins: search\n", None),
        ("plugins:\n- search\nplugins:\n- tags\n", None),
        (
            "INHERIT: mkdocs.yml\nplugins:\n- tags\n",
            "INHERIT: mkdocs.yml\nplugins:\n- tags\n- roaming:\n    widget: true\n    page_menu: true\n",
        ),
    ],
)
def test_forms_of_plugin_lists(text: str, expected: str | None, project: Path) -> None:
    file = project / "mkdocs.yml"
    file.write_text(f"site_url: https://osier.example/\n{text}", "utf-8")
    done = run("--yes")
    assert done.exit_code == 0, done.output
    assert file.read_text("utf-8") == f"site_url: https://osier.example/\n{expected or text}"
    assert ("which is left as it is" in done.output) is (expected is None)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"README.md": ""}, "no configuration of Zensical, ProperDocs, MkDocs, Docusaurus"),
        ({"mkdocs-online.yml": "site_name: A\n"}, "name one with --config-file: mkdocs-online.yml"),
        ({"a/mkdocs.yml": "", "b/mkdocs.yml": ""}, "several configurations; name one: roaming init a"),
    ],
)
def test_missing_or_ambiguous_configuration_names_a_way_on(files: dict[str, str], message: str, project: Path) -> None:
    for path, text in files.items():
        (project / path).parent.mkdir(exist_ok=True)
        (project / path).write_text(text, "utf-8")
    done = run("--yes")
    assert done.exit_code == 1
    assert message in done.output


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("conf.py", 'project = "Osier"\n', ["Sphinx: conf.py", "To do: set site_url"]),
        (
            "docusaurus.config.js",
            'export default {"url": "https://osier.example", "baseUrl": "/docs/"}\n',
            ["Docusaurus: docusaurus.config.js", "URL: https://osier.example/docs/\n"],
        ),
    ],
)
def test_short_configuration_is_recognized(name: str, text: str, lines: list[str], project: Path) -> None:
    (project / name).write_text(text)
    output = run("--dry-run").output
    assert [line for line in lines if line not in output] == []


def test_other_file_name_is_given(project: Path) -> None:
    (project / "mkdocs-online.yml").write_text("site_name: A\nsite_url: https://osier.example/\n", "utf-8")
    assert run("--yes", "--config-file", "mkdocs-online.yml").exit_code == 0
    assert "  - search\n  - roaming:\n" in (project / "mkdocs-online.yml").read_text("utf-8")


def test_missing_folder_is_named(project: Path) -> None:
    done = CliRunner().invoke(main, ["init", "nowhere"])
    assert (done.exit_code, done.stderr) == (
        1,
        "roaming: nowhere: no such folder; name that of the project or of its documentation\n",
    )


def test_cache_is_ignored_unless_it_is_already(project: Path) -> None:
    (project / "mkdocs.yml").write_text("site_url: https://osier.example/\n", "utf-8")
    (project / ".gitignore").write_text("# images\n/dist/", "utf-8")
    run("--yes")
    assert (project / ".gitignore").read_text("utf-8") == "# images\n/dist/\n**/.cache/roaming/\n"
    (project / ".gitignore").write_text("/.cache/\n", "utf-8")
    run("--yes")
    assert (project / ".gitignore").read_text("utf-8") == "/.cache/\n"


@pytest.mark.parametrize(
    "text", ['project = {site_name = "Osier"}\n', '[project]\nplugins = ["search"]\n', "[project\n", ""]
)
def test_forms_of_zensical_toml_that_cannot_be_edited(text: str, project: Path) -> None:
    (project / "zensical.toml").write_text(text, "utf-8")
    done = run("--yes")
    assert done.exit_code == 0, done.output
    assert ("which is left as it is" in done.output) is (text != "")
    assert "[project.plugins.roaming]\n" in done.output + (project / "zensical.toml").read_text("utf-8")
