"""The report on an endpoint's logs: numbers, groups, changes, sections and output."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from report_logs import line, rate, read

from mkdocs_roaming.answer.events import Finished, summarize
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.report.access import AccessReport, load_tables
from mkdocs_roaming.report.log import Log, read_log
from mkdocs_roaming.report.output import format_report, render_report
from mkdocs_roaming.report.report import make_report
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


def id_of(library: Library, title: str) -> str:
    return next(section.id for section in library.sections if section.section.title == title)


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
    assert (report.period.questions, report.states) == (3, {"answered": 2, "not_found": 1})
    assert (report.helpful, report.unhelpful) == (1, 1)
    assert [(asked.question, asked.comments) for asked in report.comments] == [("a", ("Thanks",))]
    assert (report.cost, report.unpriced, report.seconds, report.cached) == (0.75, 1, 4.0, 1)
    assert report.days == {"2026-03-01": {"answered": 2}, "2026-03-02": {}, "2026-03-03": {"not_found": 1}}
    assert sorted(group.questions[0].question for group in report.groups) == ["b", "c"]  # b was rated as not helpful


def test_groups_have_their_questions_and_nearest_sections(tmp_path: Path, library: Library) -> None:
    oil = id_of(library, "Oil")
    log = read(tmp_path, [line("oil interval: when?", "not_found", nearest=[oil]), line("interval of oil", "partial")])
    (group,) = make_report(log, library).groups
    assert (group.count, [asked.states for asked in group.questions]) == (2, [{"not_found": 1}, {"partial": 1}])
    assert group.nearest[0].title == "Pumps › Oil"
    assert [(one.id, one.title) for one in make_report(log).groups[0].nearest] == [(oil, "")]


def test_results_of_search_are_not_counted_as_answers(tmp_path: Path) -> None:
    found = [line(one, "results", model="offline") for one in ("oil", "Oil", "how is the lamp changed")]
    missed = line("kerberos", "not_found", model="offline")
    report = make_report(read(tmp_path, [*found, missed]))
    assert (report.period.share, report.period.in_vain) == (None, 1)
    text = "\n".join(format_report(report))
    assert "answered." not in text.partition("Not answered")[0]
    assert "No model answered: readers got results of the search for 3 of them." in text
    assert "Searched for\n    2  oil\n    1  how is the lamp changed" in text
    assert "    1  kerberos" in text
    assert "how is the lamp changed" in render_report(report)
    answered = [line("red lamp", "answered", model="claude"), line("b", "not_found", model="claude")]
    assert make_report(read(tmp_path, [*found, missed, *answered])).period.share == 0.5


# Changes, failures and greetings


def test_groups_are_compared_with_the_period_before(tmp_path: Path) -> None:
    asked = [("oil change", 1), ("oil change", 8), ("oil change", 9), ("red lamp", 2), ("app store", 9)]
    lines = [line(question, "not_found", day) for question, day in asked]
    log = read(tmp_path, [*lines, line("answered", day=15)], since=datetime(2026, 3, 8, 10, tzinfo=UTC))
    report = make_report(log)
    found = {group.questions[0].question: (group.count, group.before, group.change) for group in report.groups}
    assert found == {"oil change": (2, 1, "grown"), "app store": (1, 0, "new"), "red lamp": (0, 1, "gone")}
    assert (report.period.questions, report.before.questions) == (4, 2)
    assert (report.period.share, report.before.share) == (0.25, 0.0)


def test_changes_are_not_named_without_a_period_before(tmp_path: Path) -> None:
    (group,) = make_report(read(tmp_path, [line("oil", "not_found")])).groups
    assert group.change == ""


def test_failures_are_listed_by_cause(tmp_path: Path) -> None:
    lines = [
        line("a", "error", cause="overload"),
        line("b", "error", cause="overload"),
        line("c", "budget", cause="cost"),
    ]
    report = make_report(read(tmp_path, [*lines, line("d", "refused"), line("e", "error")]))
    found = {cause: [asked.question for asked in questions] for cause, questions in report.failures.items()}
    assert found == {"overload": ["a", "b"], "cost": ["c"], "refused": ["d"], "error": ["e"]}
    assert (report.period.failed, report.groups) == (5, ())
    assert set(found) <= load_tables()["causes"].keys()
    assert "2 × the provider was overloaded" in "\n".join(format_report(report))


def test_greetings_are_neither_gaps_nor_answered_questions(tmp_path: Path, library: Library) -> None:
    greetings = [line(one, "not_found") for one in ("Hello!", "hello", "???", "merci")]
    asked = [line("thanks", "answered"), line("how often is the oil changed", "answered")]
    asked += [line("best pizza recipe", "not_found")]
    report = make_report(read(tmp_path, [*greetings, *asked]), library)
    assert [group.questions[0].question for group in report.groups] == ["best pizza recipe"]
    assert (report.period.aside, report.period.in_vain, report.period.share) == (5, 1, 0.5)
    assert report.groups[0].missing.startswith("No section contains ")


def test_group_names_shared_words_that_the_nearest_section_lacks(tmp_path: Path, library: Library) -> None:
    log = read(tmp_path, [line(f"oil of the {lamp} lamp", "not_found") for lamp in ("red", "green")])
    (group,) = make_report(log, library).groups
    assert group.nearest[0].about
    assert re.fullmatch(r"“(Oil|Colours|Lamps)” does not contain “(oil|lamp)”\.", group.missing)


def test_comments_stand_with_their_question_and_its_ratings(tmp_path: Path) -> None:
    log = read(tmp_path, [line("oil?", turn="t"), line("lamp?", turn="u")], [rate("t", "Wrong pump"), rate("u")])
    report = make_report(log)
    (asked,) = report.comments
    assert (asked.question, asked.unhelpful, asked.comments) == ("oil?", 1, ("Wrong pump",))
    page = render_report(report)
    assert page.index("oil?") < page.index("Wrong pump")
    assert "Wrong pump (not helpful: oil?)" in "\n".join(format_report(report))


def test_rating_without_its_question_is_shown_with_question_of_its_turn(tmp_path: Path) -> None:
    ratings = [rate("gone", "Too old <b>", question="lamp?"), rate("older", "Not known"), rate("t", question="oil?")]
    report = make_report(read(tmp_path, [line("oil?", turn="t")], ratings))
    (asked,) = report.rated
    assert (asked.question, asked.unhelpful, asked.comments) == ("lamp?", 1, ("Too old <b>",))
    assert report.unhelpful == 1
    title = "Ratings of questions that are no longer in the log"
    page = render_report(report)
    assert page.index(title) < page.index("lamp?") < page.index("Too old &lt;b&gt;")
    text = "\n".join(format_report(report))
    assert f"{title}\n       lamp? (not helpful: Too old <b>)" in text
    assert title not in "\n".join(format_report(make_report(read(tmp_path, [line("oil?")]))))


def test_json_has_all_groups_and_the_page_folds_small_ones(tmp_path: Path) -> None:
    lines = [line(f"word{at} thing{at}", "not_found") for at in range(60)]
    report = make_report(read(tmp_path, lines))
    assert len(msgspec.to_builtins(report)["groups"]) == 60
    page = render_report(report)
    assert "55 more, with fewer questions" in page
    assert page.count("<h3>Questions</h3>") == 60
    assert len(list(format_report(report))) <= 60


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
    assert list(format_report(make_report(Log()))) == ["No questions in this period."]
    text = "\n".join(format_report(make_report(read(tmp_path, [line("is there an app", "not_found"), "{cut"]))))
    assert text.startswith(
        "1 question from 2026-03-01 to 2026-03-01, 0 % answered.\n1 gap. The largest, with 1 question:"
    )
    assert "not answered 1, cached 0\nno ratings; no cost; median 0.0 s\n" in text
    assert "Lines of the logs that could not be read: 1" in text
    assert "    1  is there an app" in text


def test_plot_stacks_states_and_groups_long_periods_by_weeks(tmp_path: Path) -> None:
    def read_bars(*lines: dict[str, Any]) -> list[tuple[str, str, str]]:
        page = render_report(make_report(read(tmp_path, lines)))
        return re.findall(r'<rect class="(\w+)"[^>]* y="([\d.]+)"[^>]* height="([\d.]+)"', page)

    assert read_bars(line("a"), line("b", "error"), line("c", day=2)) == [
        ("answered", "50.0", "50.0"),
        ("error", "0.0", "50.0"),
        ("answered", "50.0", "50.0"),
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


@pytest.mark.parametrize("days", [1, 2, 3, 7, 400])
def test_plot_has_two_dates_unless_the_period_is_one_day(tmp_path: Path, days: int) -> None:
    last = datetime.fromordinal(datetime(2026, 3, 1, tzinfo=UTC).toordinal() + days - 1)
    page = render_report(make_report(read(tmp_path, [line("a"), {**line("b"), "time": f"{last:%Y-%m-%d}T11:00:00Z"}])))
    ends = re.search(r'<div class="ends">(.*?)</div>', page)
    assert ends is not None
    assert (
        re.findall(r"<time>([^<]*)</time>", ends[1])
        == [f"{day:%Y-%m-%d}" for day in (datetime(2026, 3, 1), last)][-days:]
    )
    assert "<text" not in page


def test_report_of_agents_alone_has_no_questions() -> None:
    access = AccessReport(3, {"GPTBot": {"llms.txt": 2, "does not exist": 1}}, (), {"pumps/": 2, "lamps/": 0}, 1)
    report = make_report(Log(), access=access)
    text = "\n".join(format_report(report))
    assert text.startswith("Agents sent 3 requests, most of them GPTBot; 1 were for addresses that do not exist.\n")
    assert "    3  GPTBot: llms.txt 2, does not exist 1" in text
    assert "1 of 2 pages were read by no agent" in text
    page = render_report(report)
    assert "No questions" not in page
    assert "crawls for training" in page


def test_log_of_an_older_version_can_be_read(tmp_path: Path) -> None:
    old = {"time": "2026-03-01T10:00:00Z", "question": "oil?", "state": "error", "turn": ""}
    report = make_report(read(tmp_path, [old]))
    assert list(report.failures) == ["error"]
    assert "does not name the cause" in render_report(report)
