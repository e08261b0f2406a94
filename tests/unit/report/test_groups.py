"""Groups of questions that ask for the same thing."""

from __future__ import annotations

from itertools import combinations

from mkdocs_roaming.report.groups import Clue, group_questions


def test_questions_with_shared_rare_words_are_one_group() -> None:
    questions = [
        "How do I change the oil of the pump?",
        "red lamp colours",
        "changing oil: how often?",
        "what colour has a lamp",
        "oil change interval",
        "is there an app",
    ]
    groups = group_questions([Clue(question) for question in questions])
    assert sorted(map(sorted, groups)) == [[0, 2, 4], [1, 3], [5]]


def test_questions_with_the_same_best_section_are_one_group() -> None:
    others = [Clue(f"word{number} thing{number}") for number in range(10)]
    for section, count in (("b", 12), ("a", 11)):
        assert len(group_questions([Clue("grease motor", "a"), Clue("interval nightly", section), *others])) == count


def test_words_that_the_site_lacks_bring_questions_together() -> None:
    questions = ["can I log in by ldap with my windows account", "sync ldap groups and users every single night"]
    sections = ["a", "b"]
    for absent, count in (((), 2), (("ldap",), 1)):
        clues = [Clue(question, section, absent) for question, section in zip(questions, sections, strict=True)]
        assert len(group_questions(clues)) == count


def test_no_questions_have_no_groups() -> None:
    assert group_questions([]) == []
    assert sorted(map(len, group_questions([Clue("???"), Clue("the of")]))) == [1, 1]


def test_many_different_questions_are_grouped_in_linear_time() -> None:
    words = [f"word{at}" for at in range(200)]
    pairs = [Clue(" ".join(pair)) for pair in combinations(words, 2)][:2_000]
    assert sorted(at for group in group_questions(pairs) for at in group) == list(range(2_000))
