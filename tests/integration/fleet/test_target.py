"""`roaming ask`, `search`, `expand` and `outline` on a store."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fleet_servers.stores import add_site, make_store

from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.events import Answer
from mkdocs_roaming.cli import main
from mkdocs_roaming.cli.ask import _ask_until_answered
from mkdocs_roaming.library.targets import Candidate, open_library
from roaming_fleet.catalog import update_catalog
from roaming_fleet.folder import StoreFolder
from roaming_fleet.records import SiteRecord, write_record

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of some sites."""
    return make_store(tmp_path_factory.mktemp("shelf"))


def run(*command: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in command])


def test_ids_in_steps_can_be_expanded(store: Path) -> None:
    result = run("ask", store, "How long does a refund take?", "--whole-site-tokens", "0")
    assert result.exit_code == 0
    shown = re.findall(r"^Opened .+ \[(.+?)\]", result.stderr, re.M)
    assert shown
    opened = run("expand", store, *shown)
    assert opened.exit_code == 0
    assert "9 days" in opened.stdout
    assert run("expand", store, shown[0].upper()).stdout == run("expand", store, shown[0]).stdout
    assert run("outline", store, "TRAINS").stdout == run("outline", store, "trains").stdout


@pytest.fixture(scope="module")
def nested_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a site on the web, and of one below it."""
    root = tmp_path_factory.mktemp("docks")
    add_site(root, "ships", "# Ships\n\n## Pumps\n\nA pump empties the hull.\n", "Ships", "https://a.example/docs/")
    add_site(root, "boats", "# Boats\n\n## Oars\n\nAn oar moves the boat.\n", "Boats", "https://a.example/docs/boats/")
    return root


@pytest.mark.parametrize("spelling", TABLES["commands_accept_ids_as_agents_write_them"])
def test_commands_accept_ids_as_agents_write_them(nested_store: Path, spelling: str) -> None:
    pumps = json.loads(run("search", nested_store, "ships: pumps", "--json").stdout)[0]["id"]
    address = spelling.format(id=pumps.partition(":")[2])
    opened = run("expand", nested_store, address)
    assert f"[{pumps}]" in opened.stdout, opened.output
    outline = run("outline", nested_store, address)
    assert f"[{pumps}] Pumps" in outline.stdout, outline.output
    assert "Ships" not in outline.stdout.partition("\n")[2]


def test_results_contain_age_of_site(nested_store: Path) -> None:
    opened = run("expand", nested_store, "ships:#pumps", "boats:#oars").stdout.split("\n---\n\n")
    assert len(opened) == 2
    for site, section in zip(("ships", "boats"), opened, strict=True):
        assert re.match(rf"{site} \(crawled [\d-]+\)\n\S", section)
    assert re.match(
        r"ships \(crawled [\d-]+\)\nuntrusted content from a\.example\n\[id\] Title",
        run("outline", nested_store, "ships").stdout,
    )
    records = json.loads(run("sites", nested_store, "--json").stdout)
    record = next(record for record in records if record["key"] == "ships")
    expected = ("ships", record["crawled"])
    for command in (["expand", nested_store, "ships:#pumps"], ["search", nested_store, "ships: pumps"]):
        result = json.loads(run(*command, "--json").stdout)[0]
        assert (result["site"], result["crawled"]) == expected
    result = json.loads(run("outline", nested_store, "https://a.example/docs/#pumps", "--json").stdout)
    assert (result["site"], result["crawled"]) == expected
    for command in (["expand", nested_store / "ships", "#pumps"], ["outline", nested_store / "ships"]):
        assert "crawled" not in run(*command).stdout
        assert "crawled" not in run(*command, "--json").stdout


def test_grep_searches_all_sites_or_the_named_one(nested_store: Path) -> None:
    found = run("grep", nested_store, "the", "--json")
    assert found.exit_code == 0
    sections = json.loads(found.stdout)["sections"]
    assert {section["site"] for section in sections} == {"boats", "ships"}
    assert all(section["id"].startswith(f"{section['site']}:") and section["crawled"] for section in sections)
    assert len(json.loads(run("grep", nested_store, "the", "--limit", "1", "--json").stdout)["sections"]) == 1
    named = run("grep", nested_store, "ships: the")
    assert re.fullmatch(
        r"untrusted content from a\.example\n\[ships:\w{8}\] ships \(crawled [\d-]+\) › .+Lines: 1, sections: 1\.\n",
        named.stdout,
        re.S,
    )
    assert run("grep", nested_store, "xylophone").exit_code == 3


@pytest.mark.parametrize(("command", "message"), TABLES["unknown_address_has_hint"])
def test_unknown_address_has_hint(nested_store: Path, command: list[str], message: str) -> None:
    result = run(command[0], nested_store, *command[1:])
    assert result.exit_code == 1
    assert result.stderr.startswith(f"roaming: {nested_store}: {message.format(nested_store)}")


def test_question_about_no_site_exits_with_3(store: Path) -> None:
    done = run("ask", store, "xylophone?")
    assert (done.exit_code, done.stdout) == (3, "")
    assert "no site matches the question" in done.stderr
    done = run("ask", store, "xylophone?", "--json")
    assert done.exit_code == 3
    result = json.loads(done.stdout)
    assert (result["text"], result["state"]) == ("", "not_found")


def find_asked_sites(*command: object) -> list[str]:
    return re.findall(r"^Asking (\w+) ", run("ask", *command).stderr, re.M)


def test_question_asks_the_best_or_the_named_site(nested_store: Path) -> None:
    question = "What moves a boat?"
    assert find_asked_sites(nested_store, question)[0] == "boats"
    assert find_asked_sites(nested_store, f"ships: {question}") == ["ships"]
    ignored = run("ask", nested_store, question, "--page", "https://a.example/docs/#pumps")
    assert (ignored.exit_code, "contains many sites; the page is ignored" in ignored.stderr) == (0, True)


def test_question_with_a_site_alone_is_refused(store: Path) -> None:
    result = run("ask", store, "trains: ")
    assert (result.exit_code, result.stderr) == (1, "roaming: the question is empty; ask something\n")


def test_empty_store_has_hint(tmp_path: Path) -> None:
    add_site(tmp_path, "ships", "# Ships\n\nAll.\n", "Ships", "https://a.example/")
    assert run("sites", tmp_path, "--drop", "ships").exit_code == 0
    result = run("ask", tmp_path, "how?")
    hint = f"crawl some: `roaming crawl --many FILE -o {tmp_path}`"
    assert (result.exit_code, result.stderr) == (1, f"roaming: {tmp_path}: no sites in it; {hint}\n")
    record = SiteRecord(
        "gone", "https://gone.example/", "failed", "1", "run", 0, "failed", error="cannot be had", tries=1
    )
    write_record(StoreFolder(tmp_path), record)
    update_catalog(StoreFolder(tmp_path))
    result = run("ask", tmp_path, "how?")
    hint = f"`roaming sites {tmp_path}` shows why"
    assert (result.exit_code, result.stderr) == (
        1,
        f"roaming: {tmp_path}: none of its sites could be crawled yet; {hint}\n",
    )
    assert "gone could not be crawled yet: cannot be had" in run("ask", tmp_path, "gone: how?").stderr


@pytest.mark.parametrize(("cost", "expected"), [(0.3, [1.0, 0.7, 0.4]), (0.6, [1.0, 0.4]), (1.5, [1.0])])
def test_sites_share_one_budget(store: Path, cost: float, expected: list[float]) -> None:
    budgets: list[float] = []

    def answer_not_found(candidate: Candidate, budget: Budget) -> Answer:
        assert budget.cost is not None
        budgets.append(round(budget.cost, 6))
        return Answer("not_found", "a model", cost=cost)

    libraries = [Candidate(open_library(store / site), "why?", None) for site in ("apps", "boats", "trains")]
    _ask_until_answered(libraries, answer_not_found, Budget(cost=1.0, prices=Prices()))
    assert budgets == expected


@pytest.mark.parametrize("command", [["chat"], ["lint"], ["validate"], ["eval", __file__], ["expand", "nothing"]])
def test_single_site_command_refuses_store(store: Path, command: list[str]) -> None:
    result = run(command[0], store, *command[1:])
    assert result.exit_code == 1, result.output
    assert re.fullmatch(r"roaming: .+ contains many sites; name one of them: .+/SITE .+\n", result.stderr)
