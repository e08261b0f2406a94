"""The report on an endpoint's logs: reading, groups, numbers, sections and output."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from mkdocs_roaming.answer.events import Finished, summarize
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.evals.questions import read_questions
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.lint.context import Finding
from mkdocs_roaming.manifest.descriptions import describe_manifest, read_descriptions
from mkdocs_roaming.report.output import format_report, render_report
from mkdocs_roaming.report.report import Log, group_questions, make_report, parse_since, read_log
from mkdocs_roaming.serve.log import Journal
from mkdocs_roaming.serve.requests import parse_question
from mkdocs_roaming.serve.schemas import Feedback

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
PAGES = (
    ("pumps/", "# Pumps\n\nAll of them.\n\n## Pressure\n\nA pump works at 4.7 bar.\n\n## Oil\n\nChange the oil.\n"),
    ("lamps/", "# Lamps\n\nRed and green.\n\n## Colours\n\nA red lamp means port.\n"),
)


@pytest.fixture
def library(make_site: Callable) -> Library:
    return make_site(PAGES).library()


def id_of(library: Library, title: str) -> str:
    return next(section.id for section in library.sections if section.section.title == title)


def write_lines(path: Path, lines: Iterable[dict[str, Any] | str]) -> Path:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines), "utf-8")
    return path


def line(question: str, state: str = "answered", day: int = 1, **more: Any) -> dict[str, Any]:
    return {"time": f"2026-03-{day:02}T10:00:00Z", "question": question, "state": state, **more}


def read(tmp_path: Path, lines: Iterable[dict[str, Any] | str], ratings: Iterable[dict[str, Any]] = ()) -> Log:
    questions = write_lines(tmp_path / "questions.jsonl", lines)
    return read_log(questions, write_lines(tmp_path / "feedback.jsonl", ratings))


# Reading


def test_log_is_read_with_its_rotated_files_oldest_first(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "q.jsonl", [line("new", day=9)])
    write_lines(tmp_path / "q.jsonl.1", [line("middle", day=5)])
    write_lines(tmp_path / "q.jsonl.2", [line("old", day=1)])
    assert [entry.question for entry in read_log(path).entries] == ["old", "middle", "new"]


def test_unreadable_lines_are_counted(tmp_path: Path) -> None:
    log = read(tmp_path, ["{cut", line("kept", unknown_field=1), '{"time": 7}', "", "[]"])
    assert [entry.question for entry in log.entries] == ["kept"]
    assert log.skipped == 3


def test_period_leaves_out_older_questions(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "q.jsonl", [line("old", day=1), line("new", day=13)])
    assert [one.question for one in read_log(path, since=parse_since("7d", NOW)).entries] == ["new"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24h", datetime(2026, 3, 13, 12, tzinfo=UTC)),
        ("2w", datetime(2026, 2, 28, 12, tzinfo=UTC)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T08:00:00+02:00", datetime(2026, 3, 1, 6, tzinfo=UTC)),
    ],
)
def test_periods_and_dates(text: str, expected: datetime) -> None:
    assert parse_since(text, NOW) == expected


@pytest.mark.parametrize("text", ["yesterday", "7", "-3d", ""])
def test_other_periods_are_rejected(text: str) -> None:
    with pytest.raises(UsageError, match="neither a period, such as 7d, nor a date"):
        parse_since(text, NOW)


def test_missing_and_foreign_files_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_log(tmp_path / "missing.jsonl")
    with pytest.raises(UsageError, match="no line is a question"):
        read_log(write_lines(tmp_path / "other.jsonl", ["a", "b"]))


# Groups


def test_questions_with_shared_rare_words_are_one_group() -> None:
    questions = [
        "How do I change the oil of the pump?",
        "red lamp colours",
        "changing oil: how often?",
        "what colour has a lamp",
        "oil change interval",
        "is there an app",
    ]
    groups = group_questions(questions, [()] * 6)
    assert sorted(map(sorted, groups)) == [[0, 2, 4], [1, 3], [5]]
    assert len(groups[0]) == 3


def test_same_nearest_sections_bring_questions_together() -> None:
    others = [f"word{number} thing{number}" for number in range(10)]
    questions = ["oil change pump", "oil change interval nightly", *others]
    apart = group_questions(questions, [("a", "b"), ("c", "d"), *[()] * 10])
    together = group_questions(questions, [("a", "b"), ("a", "b"), *[()] * 10])
    assert (len(apart), len(together)) == (12, 11)


def test_no_questions_have_no_groups() -> None:
    assert group_questions([], []) == []
    assert group_questions(["???", "the of"], [(), ()]) != []


# Numbers


def test_report_counts_states_ratings_cost_and_days(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        [
            line("a", "answered", 1, turn="t1", cost=0.25, seconds=2.0, model="claude"),
            line("b", "answered", 1, turn="t2", cost=0.5, seconds=4.0, cached=True, model="claude"),
            line("c", "not_found", 3, turn="t3", seconds=6.0, model="claude"),
        ],
        [
            {"time": "2026-03-01T10:01:00Z", "helpful": False, "turn": "t1"},
            {"time": "2026-03-01T10:02:00Z", "helpful": True, "comment": "Thanks", "turn": "t1"},
            {"time": "2026-03-01T10:03:00Z", "helpful": False, "turn": "t2"},
            {"time": "2026-03-01T10:03:00Z", "helpful": True, "turn": "unknown"},
        ],
    )
    report = make_report(log)
    assert (report.questions, report.states) == (3, {"answered": 2, "not_found": 1})
    assert (report.helpful, report.unhelpful, report.satisfaction, report.comments) == (1, 1, 0.5, ("Thanks",))
    assert (report.cost, report.unpriced, report.seconds, report.cached) == (0.75, 1, 4.0, 1)
    assert [(day.date, day.states) for day in report.days] == [
        ("2026-03-01", {"answered": 2}),
        ("2026-03-02", {}),
        ("2026-03-03", {"not_found": 1}),
    ]
    assert sorted(group.questions for group in report.groups) == [("b",), ("c",)]  # b was rated as not helpful


def test_report_names_sections_and_pages(tmp_path: Path, library: Library) -> None:
    pressure, oil, colours = (id_of(library, title) for title in ("Pressure", "Oil", "Colours"))
    asked = [line(f"pump pressure {at}", opened=[pressure, oil], cited=[pressure], page="pumps/") for at in range(3)]
    missing = line("app", "not_found", opened=[colours], cited=[], page="pumps/#oil")
    report = make_report(read(tmp_path, [*asked, missing, line("gone", cited=["ffffffff"])]), library)
    assert [(one.title, one.count) for one in report.cited] == [("Pumps › Pressure", 3)]
    assert [(one.title, one.count) for one in report.never_cited] == [("Pumps › Oil", 3)]
    assert [(one.title, one.count, one.unanswered) for one in report.pages] == [("Pumps", 4, 1)]


def test_groups_have_nearest_sections_a_finding_and_a_valid_question_entry(tmp_path: Path, library: Library) -> None:
    oil = id_of(library, "Oil")
    finding = Finding("thin", "hint", "“Oil” is short.", "Say more.", section=oil, breadcrumb=("Pumps", "Oil"))
    log = read(tmp_path, [line("oil interval: when?", "not_found", nearest=[oil]), line("interval of oil", "partial")])
    (group,) = make_report(log, library, lambda: [finding]).groups
    assert (group.count, group.states) == (2, {"partial": 1, "not_found": 1})
    assert group.nearest[0].title == "Pumps › Oil"
    assert group.finding == "Pumps › Oil: “Oil” is short. Say more."
    file = tmp_path / "set.yml"
    file.write_text(yaml.safe_dump({"questions": yaml.safe_load(group.entry)}), "utf-8")
    (question,) = read_questions(file).questions
    assert (question.ask, question.sections) == (group.questions[0], (oil,))


def test_group_without_section_becomes_an_unanswerable_question(tmp_path: Path) -> None:
    (group,) = make_report(read(tmp_path, [line("is there an app", "not_found")])).groups
    assert yaml.safe_load(group.entry) == [{"ask": "is there an app", "answerable": False}]


def test_group_has_an_entry_for_the_file_of_descriptions_that_is_not_published_before_it_is_reworded(
    tmp_path: Path, library: Library
) -> None:
    oil = id_of(library, "Oil")
    asked = ["motor grease k1x?", "grease motor k1x", "Miller: motor grease k1x", "motor grease k1x [redacted]"]
    asked += ["grease motor k1x [redacted]"]
    log = read(tmp_path, [line(one, "not_found", nearest=[oil]) for one in asked])
    (group,) = make_report(log, library).groups
    file = tmp_path / "descriptions.json"
    file.write_text(f'{{"pages": {{{group.description}}}}}', "utf-8")
    texts = read_descriptions(file).pages["pumps/"].sections[oil]
    assert texts.asks == ("reword: grease, motor",)
    assert texts.title == "Oil"
    assert all(question not in group.description for question in group.questions)
    described, counts = describe_manifest(library.manifest, read_descriptions(file))
    assert (counts.sections, counts.stale) == (1, [])
    assert not any(section.asks for section in described.sections())
    report = make_report(log, library)
    assert f"       describe: {group.description}" in list(format_report(report))
    assert "reword: grease, motor" in render_report(report)


def test_words_of_a_single_question_are_not_proposed(tmp_path: Path, library: Library) -> None:
    oil = id_of(library, "Oil")
    log = read(tmp_path, [line("grease the motor of Miller", "not_found", nearest=[oil]) for _ in range(3)])
    (group,) = make_report(log, library).groups
    assert (group.count, group.description) == (3, "")


# Output


def test_page_escapes_readers_text_and_has_no_scripts(tmp_path: Path, library: Library) -> None:
    log = read(
        tmp_path,
        [line("<script>alert(1)</script> oil", "not_found", turn="t")],
        [{"time": "2026-03-01T10:00:00Z", "helpful": False, "comment": "<img src=x>", "turn": "t"}],
    )
    page = render_report(make_report(log, library))
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
    assert "<img" not in page
    assert "default-src 'none'" in page


def test_text_of_an_empty_and_of_a_small_log(tmp_path: Path) -> None:
    assert list(format_report(make_report(Log((), {})))) == ["No questions in this period."]
    text = "\n".join(format_report(make_report(read(tmp_path, [line("is there an app", "not_found"), "{cut"]))))
    assert text.startswith("1 questions from 2026-03-01 to 2026-03-01\n  not answered 1\n  no ratings; no cost;")
    assert "lines of the logs that could not be read: 1" in text
    assert "    1  is there an app" in text


def test_plot_stacks_states_and_groups_long_periods_by_weeks(tmp_path: Path) -> None:
    def read_bars(*lines: dict[str, Any]) -> list[tuple[str, str, str]]:
        page = render_report(make_report(read(tmp_path, lines)))
        return re.findall(r'<rect class="(\w+)"[^>]* y="([\d.]+)"[^>]* height="([\d.]+)"', page)

    assert read_bars(line("a"), line("b", "error"), line("c", day=2)) == [
        ("answered", "75.0", "75.0"),
        ("error", "0.0", "75.0"),
        ("answered", "75.0", "75.0"),
    ]
    assert len(read_bars(line("a"), {**line("b"), "time": "2026-08-01T10:00:00Z"})) == 2
    assert not read_bars()


def test_lines_of_the_endpoint_can_be_read(tmp_path: Path) -> None:
    answer = summarize([Finished(state="answered", model="claude", rounds=1)])
    journal = Journal(tmp_path / "q.jsonl", tmp_path / "f.jsonl", clock=lambda: 1.0)
    question = parse_question(b'{"question": "oil?"}')
    journal.log_question(question, answer, turn="signed", seconds=1.5, cached=True)
    journal.log_feedback(Feedback("signed", True, "Good"))
    log = read_log(tmp_path / "q.jsonl", tmp_path / "f.jsonl")
    assert (log.entries[0].question, log.entries[0].cached, log.skipped) == ("oil?", True, 0)
    assert make_report(log).helpful == 1
