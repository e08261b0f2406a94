"""Groups of questions that ask for the same thing."""

from __future__ import annotations

from itertools import combinations

import pytest

from mkdocs_roaming.report.groups import group_questions


def test_questions_with_shared_rare_words_are_one_group() -> None:
    questions = [
        "How do I change the oil of the pump?",
        "red lamp colours",
        "changing oil: how often?",
        "what colour has a lamp",
        "oil change interval",
        "is there an app",
    ]
    groups = group_questions([(question, "", ()) for question in questions])
    assert sorted(map(sorted, groups)) == [[0, 2, 4], [1, 3], [5]]
    assert len(groups[0]) == 3


def test_questions_with_the_same_best_section_are_one_group() -> None:
    others = [(f"word{number} thing{number}", "", ()) for number in range(10)]
    assert len(group_questions([("grease motor", "a", ()), ("interval nightly", "b", ()), *others])) == 12
    assert len(group_questions([("grease motor", "a", ()), ("interval nightly", "a", ()), *others])) == 11


def test_words_that_the_site_lacks_bring_questions_together() -> None:
    questions = ["can I log in by ldap with my windows account", "sync ldap groups and users every single night"]
    sections = ["a", "b"]
    for absent, count in (((), 2), (("ldap",), 1)):
        clues = [(question, section, absent) for question, section in zip(questions, sections, strict=True)]
        assert len(group_questions(clues)) == count


def test_no_questions_have_no_groups() -> None:
    assert group_questions([]) == []
    assert sorted(map(len, group_questions([("???", "", ()), ("the of", "", ())]))) == [1, 1]


@pytest.mark.parametrize("count", [2_000])
def test_many_different_questions_are_grouped_in_linear_time(count: int) -> None:
    words = [f"word{at}" for at in range(200)]
    pairs = [" ".join(pair) for pair in combinations(words, 2)][:count]
    groups = group_questions([(pair, "", ()) for pair in pairs])
    assert sorted(at for group in groups for at in group) == list(range(count))
