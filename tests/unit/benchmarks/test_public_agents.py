"""The benchmark of coding agents: what they may read, what is recorded, and names that nothing has."""

from __future__ import annotations

from pathlib import Path

import pytest
from public.agents.documentation import MAX_CHARS, Documentation, read
from public.agents.names import find_invented
from public.agents.report import AgentRecord, Outcome, iter_tables
from public.agents.run import Session, Setup, prepare
from public.agents.tasks import find_tasks
from public.corpus import Checkout

CODE = Checkout("code", "c0ffee")
URL = "https://docs.example/guide/"
KNOWN = "class Pump:\n    def prime(self, seconds): ..."


@pytest.fixture
def docs(tmp_path: Path) -> Documentation:
    site = tmp_path / "site"
    (site / "pumps").mkdir(parents=True)
    (site / "llms.txt").write_text("# Pumps", "utf-8")
    (site / "pumps/index.html").write_text("<h1>Pumps</h1>", "utf-8")
    (site / "long.md").write_text("a" * (MAX_CHARS + 5), "utf-8")
    (tmp_path / "secret.md").write_text("solution", "utf-8")
    return Documentation("llms.txt", URL, str(site))


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (f"{URL}llms.txt", "# Pumps"),
        (f"{URL}pumps/#prime", "<h1>Pumps</h1>"),
        (f"{URL}pumps", "<h1>Pumps</h1>"),
        (f"{URL}none.md", "404 Not Found"),
        (f"{URL}../secret.md", "404 Not Found"),
        ("https://other.example/llms.txt", "https://other.example/llms.txt: no such host"),
    ],
)
def test_address_returns_the_file_of_the_site(address: str, text: str, docs: Documentation) -> None:
    assert read(docs, address) == text


def test_long_document_is_cut(docs: Documentation) -> None:
    text = read(docs, f"{URL}long.md")

    assert text.startswith("a" * MAX_CHARS + "\n\n[cut: 50,005 characters")


@pytest.mark.parametrize(
    ("solution", "invented"),
    [
        ("from pump import Pump\nPump().prime(seconds=3)", []),
        ("from pump import Pump, Valve\nPump().prime(minutes=3).shut()", ["Valve", "minutes", "shut"]),
        ("import pump\npump.Pump().prime(3)\npump.seconds(3)", ["seconds"]),
        ("import pump as p\np.parts.Gauge\np.parts.Lamp", ["Lamp"]),
        ("from pump.parts import Gauge, json, Lamp", ["Lamp"]),
        ("from pump.valves import Valve", ["Valve"]),
        ("import json\njson.dumps([], sort_keys=True).strip()", []),
        ("import datetime\ndatetime.datetime.now().isoformat(timespec='seconds')", []),
        ("import http.server\nhttp.server.HTTPServer(1, 2).server_port", []),
        ("def run(speed): ...\nrun(speed=2)", []),
        ("class Own:\n    def __init__(self):\n        self.rate = 1\nOwn().rate", []),
        ("import urllib.request\nurllib.request.urlopen('x', timeout=1).read()", []),
        ("def broken(:", []),
    ],
)
def test_invented_names_are_those_that_nothing_has(solution: str, invented: list[str], tmp_path: Path) -> None:
    package = tmp_path / "pump"
    package.mkdir()
    (package / "__init__.py").write_text(KNOWN, "utf-8")
    (package / "parts.py").write_text("import json\n\nclass Gauge: ...\n", "utf-8")

    assert find_invented(solution, "pump", tmp_path, "Lamps are not part of it.") == invented


def test_session_records_what_an_agent_reads_and_its_first_solution(docs: Documentation, tmp_path: Path) -> None:
    first, second, *_ = (task for task in find_tasks() if task.library == "quern")
    Session.create(tmp_path / "run", "one", Setup("quern", (first.name, second.name), docs, CODE))
    session = Session(tmp_path / "run/state/one")
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import quern\nquern.guess_it()", "utf-8")

    assert session.do("task", []) == first.read_statement()
    session.do("get", [f"{URL}llms.txt"])
    session.do("submit", [str(first.folder / "solution.py")])
    assert session.do("task", []) == second.read_statement()
    assert session.do("submit", [str(wrong)]) == "All tasks are done."
    assert session.do("get", [f"{URL}llms.txt"]) == "All tasks are done."
    right, failed = session.outcomes()
    assert (right.task, right.place, right.reason, right.requests, right.tokens, right.invented) == (
        first.name,
        1,
        None,
        1,
        2,
        (),
    )
    assert (failed.task, failed.requests, failed.tokens, failed.invented) == (second.name, 0, 0, ("guess_it",))
    assert failed.reason


def test_agent_sees_its_folder_with_the_tasks_one_by_one(docs: Documentation, tmp_path: Path) -> None:
    Session.create(tmp_path / "run", "one", Setup("quern", ("visits",), docs, CODE))
    own = tmp_path / "run/agents/one"

    assert sorted(file.name for file in own.iterdir()) == ["PROMPT.md", "agent"]
    assert f"{URL}llms.txt" in (own / "PROMPT.md").read_text("utf-8")
    assert "visits" not in (own / "PROMPT.md").read_text("utf-8")


def test_limited_agent_reads_no_more_than_it_may(docs: Documentation, tmp_path: Path) -> None:
    Session.create(tmp_path / "run", "one", Setup("quern", ("visits",), docs, CODE, limit=100))
    session = Session(tmp_path / "run/state/one")

    assert "100 tokens" in (tmp_path / "run/agents/one/PROMPT.md").read_text("utf-8")
    assert session.do("get", [f"{URL}llms.txt"]) == "# Pumps\n\n[98 tokens left]"
    assert session.do("get", [f"{URL}long.md"]) == "a" * 392 + "\n\n[0 tokens left]"
    assert session.do("get", [f"{URL}llms.txt"]) == "You have read as much as you may."
    assert [event.tokens for event in session.events] == [2, 98]


@pytest.mark.parametrize("command", [["run", "a.py"], ["call", "grep", "valve"], ["submit", "none.py"], ["get"]])
def test_wrong_command_prints_the_usage(command: list[str], docs: Documentation, tmp_path: Path) -> None:
    Session.create(tmp_path / "run", "one", Setup("quern", ("visits",), docs, CODE))
    session = Session(tmp_path / "run/state/one")

    assert session.do(command[0], command[1:]).startswith("usage: ./agent task | get URL")
    assert session.events == []


def test_agents_of_an_earlier_run_are_kept(tmp_path: Path) -> None:
    prepare(tmp_path, ["nothing"], 5, 0)
    log = tmp_path / "state/quern-nothing-1/log.jsonl"
    log.write_text("", "utf-8")

    with pytest.raises(SystemExit, match="already has agents"):
        prepare(tmp_path, ["nothing"], 5, 0)
    assert log.exists()
    assert len(list((tmp_path / "agents").iterdir())) == 4


def test_tables_have_a_row_for_each_condition_with_outcomes() -> None:
    outcomes = (
        Outcome("nothing", "quern", "visits", 0, 1, "no such name", 0, 0, ("guess", "run")),
        Outcome("mcp", "quern", "visits", 0, 1, None, 4, 3_000, ()),
        Outcome("mcp", "quern", "visits", 500, 1, None, 2, 490, ()),
        Outcome("mcp", "ebbkeeper", "upload", 0, 2, "wrong header", 2, 1_000, ()),
    )
    (_, lines), *libraries = iter_tables(AgentRecord("by hand", (CODE,), outcomes))

    assert [title for title, _ in libraries] == ["all, ebbkeeper", "all, quern", "limit 500"]
    assert lines[2:] == [
        "| no documentation | 1 | 0% (0%–79%) | 0.0 | 0 | 0.0 | 0 | 2 |",
        "| MCP server, `roaming mcp` | 2 | 50% (9%–91%) | 4.0 | 3,000 | 3.0 | 2,000 | 0 |",
    ]
