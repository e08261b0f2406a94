"""The report on an endpoint's logs: numbers, groups, sections, ratings and output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from report_logs import line, rate, read

from mkdocs_roaming.answer.events import Finished, summarize
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.report.log import Log, read_log
from mkdocs_roaming.report.output import format_report, load_tables, render_report
from mkdocs_roaming.report.report import Period, Report, make_report
from mkdocs_roaming.serve.log import Journal
from mkdocs_roaming.serve.requests import parse_question
from mkdocs_roaming.serve.schemas import Feedback

PAGES = (
    ("pumps/", "# Pumps\n\nAll of them.\n\n## Pressure\n\nA pump works at 4.7 bar.\n\n## Oil\n\nChange the oil.\n"),
    ("lamps/", "# Lamps\n\nRed and green.\n\n## Colours\n\nA red lamp means port.\n"),
)


@pytest.fixture
def library(make_site: Callable) -> Library:
    return make_site(PAGES).library()


def period_of(report: Report) -> Period:
    assert report.period is not None
    return report.period


def text_of(report: Report) -> str:
    return "\n".join(format_report(report))


def test_report_counts_states_and_the_last_rating_of_each_answer(tmp_path: Path) -> None:
    lines = [line("oil", turn="t1"), line("bar", turn="t2"), line("port", "not_found", 3, turn="t3", model="claude")]
    ratings = [
        {"time": "2026-03-01T10:01:00Z", "helpful": False, "turn": "t1"},
        rate("t1", "Thanks", helpful=True, time="2026-03-01T10:02:00Z", question="oil"),
        rate("t2", question="bar"),
        rate("gone", "Too old <b>", question="lamp?"),
        rate("unknown", "of no known question"),
    ]
    report = make_report(read(tmp_path, lines, ratings))
    period = period_of(report)
    assert (period.questions, period.in_vain, period.share) == (3, 2, 0.3333)
    assert report.states == {"answered": 2, "not_found": 1}
    assert sorted(group.questions[0].question for group in report.groups) == [
        "bar",
        "port",
    ]  # bar was rated as not helpful
    assert [(rating.question, rating.comment) for rating in report.ratings] == [
        ("lamp?", "Too old <b>"),
        ("oil", "Thanks"),
        ("bar", ""),
    ]
    text, page = text_of(report), render_report(report)
    assert "3 questions from 2026-03-01 to 2026-03-03, 33 % answered.\nanswered 2, not answered 1\n" in text
    assert "Ratings: 1 helpful, 2 not helpful\n       not helpful: lamp?\n         “Too old <b>”\n" in text
    assert page.index("Ratings: 1 helpful, 2 not helpful") < page.index("lamp?") < page.index("Too old &lt;b&gt;")


def test_groups_have_their_questions_and_nearest_sections(tmp_path: Path, library: Library) -> None:
    log = read(tmp_path, [line("oil interval: when?", "not_found"), line("Interval of oil", "partial")] * 2)
    (group,) = make_report(log, library).groups
    assert (group.count, [(asked.question, asked.count) for asked in group.questions]) == (
        4,
        [("oil interval: when?", 2), ("Interval of oil", 2)],
    )
    assert (group.nearest[0].title, group.nearest[0].about, group.absent) == (
        "Pumps › Oil",
        "Change the oil.",
        ("interval",),
    )
    report = make_report(log, library)
    expected = "    4  oil interval: when?\n       Interval of oil\n       nearest: Pumps › Oil\n       in no section: interval"
    assert expected in text_of(report)
    assert "Pumps › Oil</bdi></a>" in render_report(report)
    assert make_report(log).groups[0].nearest == ()


def test_results_of_search_are_not_counted_as_answers(tmp_path: Path) -> None:
    lines = [line("oil", "results", model="offline"), line("kerberos", "not_found", model="offline")]
    report = make_report(read(tmp_path, lines))
    assert (period_of(report).share, [group.count for group in report.groups]) == (None, [1])
    assert "answered." not in text_of(report).partition("Not answered")[0]
    answered = [line("red lamp", model="claude"), line("b", "not_found", model="claude")]
    assert period_of(make_report(read(tmp_path, [*lines, *answered]))).share == 0.5


def test_failures_are_counted_by_cause_with_advice(tmp_path: Path) -> None:
    causes = [("error", "overload"), ("error", "overload"), ("budget", "cost"), ("refused", ""), ("error", "")]
    report = make_report(read(tmp_path, [line("a", state, cause=cause) for state, cause in causes]))
    assert report.failures == {"overload": 2, "cost": 1, "refused": 1, "error": 1}
    assert (report.groups, report.failures.keys() <= load_tables()["causes"].keys()) == ((), True)
    assert "    2  the provider was overloaded. Nothing to do if it is rare" in text_of(report)
    assert "Nothing to do if it is rare" in render_report(report)


def test_greetings_are_no_questions(tmp_path: Path, library: Library) -> None:
    greetings = [line(text, "not_found") for text in ("Hello!", "hello", "???", "merci")]
    asked = [line("thanks"), line("how often is the oil changed"), line("best pizza recipe", "not_found")]
    report = make_report(read(tmp_path, [*greetings, *asked]), library)
    assert [group.questions[0].question for group in report.groups] == ["best pizza recipe"]
    assert (period_of(report).questions, period_of(report).share) == (2, 0.5)


def test_json_has_all_groups_and_the_page_folds_small_ones(tmp_path: Path) -> None:
    report = make_report(read(tmp_path, [line(f"word{at} thing{at}", "not_found") for at in range(60)]))
    assert len(msgspec.to_builtins(report)["groups"]) == 60
    page = render_report(report)
    assert "48 more" in page
    assert page.count("<h3>Questions</h3>") == 60
    assert "and 50 more" in text_of(report)


def test_page_escapes_readers_text_and_has_no_scripts(tmp_path: Path, library: Library) -> None:
    lines = [line("<script>alert(1)</script> oil", "not_found", turn="t")]
    page = render_report(make_report(read(tmp_path, lines, [rate("t", "<img src=x>")]), library))
    assert "&lt;script&gt;alert(1)" in page
    assert [text for text in ("<script", "<img") if text in page] == []
    assert "default-src 'none'" in page


def test_text_of_an_empty_log_and_of_unreadable_lines(tmp_path: Path) -> None:
    assert text_of(make_report(Log())) == "No questions in this period."
    assert "Lines of the logs that could not be read: 1" in text_of(make_report(read(tmp_path, [line("a"), "{cut"])))


def test_lines_of_the_endpoint_can_be_read(tmp_path: Path) -> None:
    answer = summarize([Finished(state="answered", model="claude", rounds=1)])
    journal = Journal(tmp_path / "q.jsonl", tmp_path / "f.jsonl", clock=lambda: 1.0)
    journal.log_question(parse_question(b'{"question": "oil?"}'), answer, turn="signed", seconds=1.5, cached=True)
    journal.log_feedback(Feedback("signed", True, "Good"), "oil?")
    log = read_log(tmp_path / "q.jsonl", tmp_path / "f.jsonl")
    assert (log.entries[0].question, log.skipped) == ("oil?", 0)
    assert [(rating.question, rating.helpful, rating.comment) for rating in make_report(log).ratings] == [
        ("oil?", True, "Good")
    ]
