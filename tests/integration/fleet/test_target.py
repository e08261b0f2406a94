"""`roaming ask`, `search`, `expand` and `outline` on a store."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fleet_servers.stores import add_site, make_store

from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.events import Answer
from mkdocs_roaming.cli import main
from mkdocs_roaming.cli.ask import _ask_until_answered
from mkdocs_roaming.library.targets import Candidate, open_library
from roaming_fleet.buckets.folder import FolderBucket
from roaming_fleet.catalog import rebuild_catalog
from roaming_fleet.namespaces import NAMESPACED_ID
from roaming_fleet.records import SiteRecord, write_record


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of some sites."""
    return make_store(tmp_path_factory.mktemp("shelf"))


def run(*command: object) -> Result:
    return CliRunner().invoke(main, [str(one) for one in command])


def test_ids_in_trail_can_be_expanded(shelf: Path) -> None:
    done = run("ask", shelf, "How long does a refund take?", "--whole-site-tokens", "0")
    assert done.exit_code == 0
    shown = re.findall(r"^Opened .+ \[(.+?)\]", done.stderr, re.M)
    assert shown
    opened = run("expand", shelf, *shown)
    assert opened.exit_code == 0
    assert "9 days" in opened.stdout
    assert run("expand", shelf, shown[0].upper()).stdout == run("expand", shelf, shown[0]).stdout
    assert run("outline", shelf, "TRAINS").stdout == run("outline", shelf, "trains").stdout


@pytest.fixture(scope="module")
def docks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a site on the web, and of one below it."""
    root = tmp_path_factory.mktemp("docks")
    add_site(root, "ships", "# Ships\n\n## Pumps\n\nA pump empties the hull.\n", "Ships", "https://a.example/docs/")
    add_site(root, "boats", "# Boats\n\n## Oars\n\nAn oar moves the boat.\n", "Boats", "https://a.example/docs/boats/")
    return root


@pytest.mark.parametrize(
    "spelt",
    [
        "ships:{id}",
        "Ships / {id}",
        "ships:{id}] Pumps",
        "ships:{id}+",
        "ships:#pumps",
        "ships:/#pumps",
        "https://a.example/docs/#pumps",
        "http://A.example/docs/?v=2#pumps",
    ],
)
def test_commands_accept_ids_as_agents_write_them(docks: Path, spelt: str) -> None:
    pumps = json.loads(run("search", docks, "ships: pumps", "--json").stdout)[0]["id"]
    asked = spelt.format(id=pumps.partition(":")[2])
    opened = run("expand", docks, asked)
    assert f"[{pumps}]" in opened.stdout, opened.output
    drawn = run("outline", docks, asked)
    assert f"[{pumps}] Pumps" in drawn.stdout, drawn.output
    assert "Ships" not in drawn.stdout.partition("\n")[2]


def test_url_resolves_to_deepest_site(docks: Path) -> None:
    assert "An oar moves" in run("expand", docks, "https://a.example/docs/boats/#oars").stdout
    assert "[boats:" in run("outline", docks, "https://a.example/docs/boats/").stdout
    assert run("outline", docks, "boats:").stdout == run("outline", docks, "Boats").stdout


def test_path_resolves_to_page_of_site(shelf: Path) -> None:
    assert "9 days" in run("expand", shelf, "trains:tickets/#refunds").stdout
    drawn = run("outline", shelf, "trains:tickets/").stdout
    assert "] Refunds" in drawn
    assert "] Brakes" not in drawn
    assert run("outline", shelf / "trains", "tickets/").stdout == drawn.partition("\n")[2].replace("[trains:", "[")


def test_results_contain_age_of_site(docks: Path) -> None:
    opened = run("expand", docks, "ships:#pumps", "boats:#oars").stdout.split("\n---\n\n")
    assert len(opened) == 2
    for site, section in zip(("ships", "boats"), opened, strict=True):
        assert re.match(rf"{site}, crawled (just now|\d+ minutes? ago)\n\S", section)
    assert re.match(r"ships, crawled (just now|\d+ minutes? ago)\n\[id\] Title", run("outline", docks, "ships").stdout)
    (record,) = json.loads(run("sites", docks, "ships", "--limit", 1, "--json").stdout)
    expected = ("ships", record["crawled"])
    for command in (["expand", docks, "ships:#pumps"], ["search", docks, "ships: pumps"]):
        result = json.loads(run(*command, "--json").stdout)[0]
        assert (result["site"], result["crawled"]) == expected
    result = json.loads(run("outline", docks, "https://a.example/docs/#pumps", "--json").stdout)
    assert (result["site"], result["crawled"]) == expected
    for command in (["expand", docks / "ships", "#pumps"], ["outline", docks / "ships"]):
        assert "crawled" not in run(*command).stdout
        assert "crawled" not in run(*command, "--json").stdout


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            ["expand", "https://b.example/"],
            "no site in it has the address https://b.example/; `roaming sites {0}` lists",
        ),
        (
            ["outline", "https://b.example/"],
            "no site in it has the address https://b.example/; `roaming sites {0}` lists",
        ),
        (["expand", "shops:07f3277d"], "no site shops; `roaming sites {0}` lists them"),
        (["outline", "shops"], "no site shops; `roaming sites {0}` lists them"),
        (["expand", "ships:"], "ships is a site; `roaming outline {0} ships` shows what is in it"),
        (["expand", "ships"], "ships is a site; `roaming outline {0} ships` shows what is in it"),
    ],
)
def test_unknown_address_has_hint(docks: Path, command: list[str], said: str) -> None:
    done = run(command[0], docks, *command[1:])
    assert done.exit_code == 1
    assert done.stderr.startswith(f"roaming: {docks}: {said.format(docks)}")


def ids_in(data: Any) -> list[str]:
    if isinstance(data, dict):
        own = [value for name, value in data.items() if name in ("id", "section") and value]
        return own + [id_ for value in data.values() for id_ in ids_in(value)]
    return [id_ for one in data for id_ in ids_in(one)] if isinstance(data, list) else []


@pytest.mark.parametrize("question", ["How long does a refund take?", "trains: zebras of refunds and doors?"])
def test_ids_in_json_are_namespaced(shelf: Path, question: str) -> None:
    result = json.loads(run("ask", shelf, question, "--json", "--whole-site-tokens", "0").stdout)
    named = ids_in(result)
    assert len(named) > 1
    assert all(re.fullmatch(NAMESPACED_ID, id_) for id_ in named), named
    assert result["site"] == "trains"


def test_question_about_no_site_exits_with_3(shelf: Path) -> None:
    done = run("ask", shelf, "xylophone?")
    assert (done.exit_code, done.stdout) == (3, "")
    assert "no site matches the question" in done.stderr
    done = run("ask", shelf, "xylophone?", "--json")
    assert done.exit_code == 3
    result = json.loads(done.stdout)
    assert (result["text"], result["state"]) == ("", "not_found")


def asked_in_turn(*command: object) -> list[str]:
    return re.findall(r"^Asking (\w+) ", run("ask", *command).stderr, re.M)


def test_site_of_page_is_asked_first(docks: Path) -> None:
    question = "What moves a boat?"
    assert asked_in_turn(docks, question)[0] == "boats"
    assert asked_in_turn(docks, "What empties the hull?", "--page", "https://a.example/docs/#pumps") == ["ships"]
    for page in ("https://a.example/docs/#pumps", "ships:#pumps", "ships:"):
        assert asked_in_turn(docks, question, "--page", page) == ["ships", "boats"]
        assert asked_in_turn(docks, f"boats: {question}", "--page", page) == ["boats"]
    assert asked_in_turn(docks, question, "--page", "https://a.example/docs/boats/") == ["boats"]


@pytest.mark.parametrize("page", ["http://A.example/docs/?v=2#pumps", "ships:#pumps", "ships:{id}"])
def test_page_is_passed_to_its_site_only(docks: Path, tmp_path: Path, page: str) -> None:
    (pumps,) = (place.id for place in open_library(docks / "ships").sections if place.position == 1)
    for site, known in (("ships", True), ("boats", False)):
        trace = tmp_path / f"{site}.json"
        run("ask", docks, f"{site}: What is a pump?", "--page", page.format(id=pumps), "--trace", trace)
        recorded = json.loads(trace.read_text("utf-8"))["answers"][0]["page"]
        place = open_library(docks / site).sections.resolve(recorded) if recorded else None
        assert (place.id if place else recorded) == (pumps if known else None)


def test_page_of_no_site_is_ignored_with_warning(docks: Path) -> None:
    done = run("ask", docks, "What moves a boat?", "--page", "https://b.example/")
    assert done.exit_code == 0
    assert "no site in it has the address https://b.example/" in done.stderr
    assert "Warning" not in run("ask", docks, "What moves a boat?", "--page", "#oars").stderr


@pytest.mark.parametrize("more", [[], ["--json"]])
@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("", "the question is empty; ask something"),
        (" ", "the question is empty; ask something"),
        ("trains: ", "the question is empty; ask something"),
        ("why? " * 2_001, "the question has 10005 characters; shorten it to 10000"),
    ],
)
def test_invalid_question_is_refused(shelf: Path, question: str, said: str, more: list[str]) -> None:
    done = run("ask", shelf, question, *more)
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", f"roaming: {said}\n")


def test_empty_store_has_hint(tmp_path: Path) -> None:
    add_site(tmp_path, "ships", "# Ships\n\nAll.\n", "Ships", "https://a.example/")
    assert run("sites", tmp_path, "--drop", "ships").exit_code == 0
    done = run("ask", tmp_path, "how?")
    cure = f"crawl some: `roaming crawl --many FILE -o {tmp_path}`"
    assert (done.exit_code, done.stderr) == (1, f"roaming: {tmp_path}: no sites in it; {cure}\n")
    record = SiteRecord(
        "gone", "https://gone.example/", "failed", "1", "run", 0, "failed", error="cannot be had", tries=1
    )
    write_record(FolderBucket(tmp_path), record)
    rebuild_catalog(FolderBucket(tmp_path))
    done = run("ask", tmp_path, "how?")
    cure = f"`roaming sites {tmp_path}` shows why"
    assert (done.exit_code, done.stderr) == (
        1,
        f"roaming: {tmp_path}: none of its sites could be crawled yet; {cure}\n",
    )
    assert "gone could not be crawled yet: cannot be had" in run("ask", tmp_path, "gone: how?").stderr


@pytest.mark.parametrize(("cost", "asked"), [(0.3, [1.0, 0.7, 0.4]), (0.6, [1.0, 0.4]), (1.5, [1.0])])
def test_sites_share_one_budget(shelf: Path, cost: float, asked: list[float]) -> None:
    money: list[float] = []

    def nobody_knows(asking: Candidate, budget: Budget) -> Any:
        assert budget.cost is not None
        money.append(round(budget.cost, 6))
        return SimpleNamespace(answer=Answer("", "not_found", "a model", cost=cost))

    libraries = [Candidate(open_library(shelf / site), "why?", None) for site in ("apps", "boats", "trains")]
    _ask_until_answered(libraries, nobody_knows, Budget(cost=1.0, prices=Prices()))
    assert money == asked


@pytest.mark.parametrize(
    "command",
    [
        ["chat"],
        ["explain", "a question"],
        ["lint"],
        ["validate"],
        ["eval", __file__],
        ["outline"],
        ["expand", "nothing"],
    ],
)
def test_single_site_command_refuses_store(shelf: Path, command: list[str]) -> None:
    done = run(command[0], shelf, *command[1:])
    assert done.exit_code == 1, done.output
    assert re.fullmatch(r"roaming: .+ contains many sites; name one of them: .+/SITE .+\n", done.stderr)


@pytest.mark.parametrize(
    "command", [["search", "pumps"], pytest.param(["serve", "--port", "0"], marks=pytest.mark.slow)]
)
def test_unreachable_store_is_reported(monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    began = time.monotonic()
    done = run(command[0], "s3://shelf/docs", *command[1:])
    assert done.exit_code == 1
    assert re.fullmatch(r"roaming: s3://shelf/docs: .+ check that the store is up.+\n", done.stderr)
    assert time.monotonic() - began < 40
