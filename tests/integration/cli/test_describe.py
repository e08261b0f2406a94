"""`roaming describe`, and what a build publishes of the file that it writes."""

from __future__ import annotations

import json
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from described import write_descriptions
from messages_api import MessagesApi, serving
from messages_api.writer import Writer

from mkdocs_roaming import Page, publish_pages, publish_site
from mkdocs_roaming.cli import main
from mkdocs_roaming.library.targets import open_library

PAGE = """<html lang='en'><head><title>{title}</title><link rel=canonical href="https://docs.example/{path}"></head>
<body><main><h1>{title}</h1><p>{title} belong to the port.</p><h2 id=tides>{part}</h2><p>{text}</p></main></body></html>"""
PAGES = {
    "pumps/": ("Pumps", "Priming", "Fill the bilge housing with water before the impeller starts."),
    "gates/": ("Gates", "Interlock", "Both leaves are held until the level is equal on either side."),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter and return a folder with a built and published site."""
    for path, (title, part, text) in PAGES.items():
        write_page(tmp_path, path, title, part, text)
    (tmp_path / "site/index.html").write_text(PAGE.format(path="", title="Harbour", part="All", text="Two parts."))
    monkeypatch.chdir(tmp_path)
    assert invoke("index", "site").exit_code == 0
    return tmp_path


def write_page(folder: Path, path: str, title: str, part: str, text: str) -> None:
    file = folder / "site" / path / "index.html"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(PAGE.format(path=path, title=title, part=part, text=text), "utf-8")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def write_replies(folder: Path) -> None:
    """Answer the requests of a plan as a coding agent does."""
    for file in folder.glob("*.request.json"):
        asked = json.loads(file.read_text("utf-8"))
        (folder / asked["reply_file"]).write_text(json.dumps(describe(asked)), "utf-8")


def describe(asked: dict[str, Any]) -> dict[str, Any]:
    asks = {
        "Priming": ["Why does my motor run dry of water?"],
        "Interlock": ["Why do the doors not move to either side?"],
    }
    sections = [
        {"id": one["id"], "about": f"About {one['title']}", "asks": asks.get(one["title"], [])}
        for one in asked["sections"]
    ]
    return {"sections": sections, "description": f"{asked['page']} of the harbour" if asked.get("asked_for") else ""}


def find(query: str) -> str:
    library = open_library("site")
    return library.search(query)[0].title


def apply_plan(project: Path) -> str:
    """Plan, answer and apply descriptions of all sections; return the output of the last command."""
    invoke("describe", "site", "--plan", "plan")
    write_replies(project / "plan")
    return invoke("describe", "site", "--apply", "plan").output


def test_planned_texts_are_applied_published_and_found(project: Path) -> None:
    assert "6 sections and" in apply_plan(project)
    assert len(list((project / "plan").glob("*.json"))) == 6
    indexed = invoke("index", "site", "--descriptions", "descriptions.json", "--widget")
    assert indexed.exit_code == 0, indexed.output
    assert "6 sections described" in indexed.output
    assert find("motor runs dry") == "Priming"
    assert find("doors not moving") == "Interlock"
    assert invoke("describe", "site", "--check").exit_code == 0
    asks = [
        json.dumps(["Why does my motor run dry of water?"]),
        json.dumps(["Why do the doors not move to either side?"]),
    ]  # the widget suggests them
    assert escape(asks[0]) in (project / "site/pumps/index.html").read_text("utf-8")
    assert escape(asks[1]) in (project / "site/gates/index.html").read_text("utf-8")
    home = (project / "site/index.html").read_text("utf-8")
    assert all(escape(ask[1:-1]) in home for ask in asks)


def test_llms_txt_marks_descriptions_of_a_model(project: Path) -> None:
    write_page(project, "valves/", "Valves", "Kinds", "<code>valve --list</code>")  # no sentence describes this page
    invoke("index", "site")
    apply_plan(project)
    assert "italics" not in (project / "site/llms.txt").read_text("utf-8")
    invoke("index", "site", "--descriptions", "descriptions.json")
    text = (project / "site/llms.txt").read_text("utf-8")
    written = [page for page in open_library("site").manifest.pages if page.summary]
    assert "Descriptions in *italics* were written by a model." in text
    assert written
    for page in written:
        assert f": *{page.summary}*" in text


def describe_priming(project: Path) -> str:
    """Write a file with a question about a section, and return its path."""
    texts = {"Priming": ("Water for the housing", "Why does my motor run dry of water?")}
    return str(write_descriptions(project / "d.json", project / "site", texts))


@pytest.mark.parametrize("command", [("index", "site"), ("build", "--site-dir", "site")])
def test_index_and_build_publish_a_file(command: tuple[str, ...], project: Path) -> None:
    file, run = describe_priming(project), ("--", "true") if command[0] == "build" else ()
    result = invoke(*command, "--descriptions", file, *run)
    assert result.exit_code == 0, result.output
    assert "1 section described" in result.output
    assert find("motor runs dry") == "Priming"


def test_python_api_publishes_a_file(project: Path) -> None:
    file = describe_priming(project)
    assert "1 section described" in publish_site("site", descriptions=file).notes
    assert find("motor runs dry") == "Priming"
    page = Page("pumps/", "Pumps", markdown="# Pumps\n\n## Priming\n\nFill the bilge housing.\n")
    publish = partial(publish_pages, [page], "site", url="https://docs.example/", name="Docs", overwrite=True)
    publish()
    assert "1 section described" in publish(descriptions=describe_priming(project)).notes
    assert find("motor runs dry") == "Priming"
    with pytest.warns(UserWarning, match="roaming describe SITE_DIR --file no.json"):
        publish(descriptions="no.json")


def test_file_that_does_not_exist_yet_is_a_warning_that_names_the_command(project: Path) -> None:
    """The site has to be published before its sections can be described."""
    indexed = invoke("index", "site", "--descriptions", "texts.json")
    assert indexed.exit_code == 0, indexed.output
    assert "texts.json: does not exist yet" in indexed.output
    assert "`roaming describe SITE_DIR --file " in indexed.output
    assert invoke("index", "site", "--descriptions", "texts.json", "--strict").exit_code == 1


def test_check_fails_until_changed_sections_are_described(project: Path) -> None:
    checked = invoke("describe", "site", "--check")
    assert checked.exit_code == 4
    assert "6 sections and" in checked.output
    apply_plan(project)
    write_page(project, "pumps/", "Pumps", "Priming", "Fill the housing with oil instead.")
    indexed = invoke("index", "site", "--strict", "--descriptions", "descriptions.json")
    assert indexed.exit_code == 0, indexed.output
    assert "1 stale" in indexed.output
    checked = invoke("describe", "site", "--check")
    assert checked.exit_code == 4
    assert "1 section (1 stale)" in checked.output


def test_model_writes_the_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(MessagesApi(Writer(describe))) as api:
        monkeypatch.setenv("OPENAI_API_KEY", api.key)
        (project / "roaming.toml").write_text(
            f'[model]\nname = "openai:test"\nbase_url = "{api.url}/v1"\n[prices]\ninput = 1.0\noutput = 5.0\n', "utf-8"
        )
        described = invoke("describe", "site")
        assert described.exit_code == 0, described.output
        assert "6 sections and" in described.output
        assert len(api.requests) == 3
        assert invoke("describe", "site").output.endswith("nothing to describe\n")
        assert len(api.requests) == 3
    assert json.loads((project / "descriptions.json").read_text("utf-8"))["pages"]["pumps/"]["sections"]


def test_run_ends_with_an_error_when_the_cost_is_reached(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(MessagesApi(Writer(describe))) as api:
        monkeypatch.setenv("ANTHROPIC_API_KEY", api.key)
        (project / "roaming.toml").write_text(
            f'[model]\nname = "claude:test"\nbase_url = "{api.url}"\n[prices]\ninput = 1000.0\noutput = 5000.0\n',
            "utf-8",
        )
        described = invoke("describe", "site", "--max-cost", "0.01")
        assert described.exit_code == 1
        assert "would pass --max-cost 0.01" in described.output
        assert api.requests == []


def test_hosted_model_without_prices_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    described = invoke("describe", "site", "--model", "claude:unknown")
    assert described.exit_code == 1
    assert "set [prices] in roaming.toml" in described.output


def test_apply_of_some_replies_says_what_is_missing_and_deletes_nothing(project: Path) -> None:
    invoke("describe", "site", "--plan", "my plan")
    assert "--apply 'my plan'" in (project / "my plan/README.md").read_text("utf-8")
    write_replies(project / "my plan")
    unanswered, *_ = sorted((project / "my plan").glob("*.reply.json"))
    unanswered.unlink()
    files = sorted((project / "my plan").iterdir())
    applied = invoke("describe", "site", "--apply", "my plan")
    assert applied.exit_code == 4
    assert "without a description" in applied.output
    assert sorted((project / "my plan").iterdir()) == files
    invoke("describe", "site", "--plan", "my plan")
    assert len(list((project / "my plan").glob("*.request.json"))) == 1
    assert invoke("describe", "site", "--apply", "no plan").exit_code == 2
