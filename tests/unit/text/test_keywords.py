"""Keywords tell a section from all others, in words that its reader knows."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_roaming.text import tokenizer as words
from mkdocs_roaming.text.keywords import extract_keywords

OTHERS = ["The server listens on a port.", "Restart the server after an update.", "The server writes a log."]


def of(text: str, language: str = "en", shown: str = "") -> tuple[str, ...]:
    """Give the keywords of a section that stands among others."""
    return extract_keywords([text, *OTHERS], language, shown=[shown])[0]


def test_what_stands_everywhere_tells_nothing() -> None:
    """A word of every section comes last; a word of this one alone comes first."""
    assert of("The server drains. Draining closes a server.")[0] == "drains"
    assert of("The server drains. Draining closes a server.")[-1] == "server"


def test_a_large_site_leaves_common_words_out() -> None:
    """On a site of some size, what a fifth of the sections hold is no keyword of any."""
    texts = [f"The gateway knows topic{number}." for number in range(30)]
    assert not any("gateway" in given for given in extract_keywords(texts))


def test_keywords_are_spelt_as_the_site_spells_them() -> None:
    """Inflections count as one word, shown in the most frequent spelling."""
    assert extract_keywords(["Retries stall. Two retries. A retry."])[0] == ("retries", "stall")
    assert extract_keywords(["PostgreSQL stores it.", "PostgreSQL or postgresql."])[1] == ("PostgreSQL",)


@pytest.mark.parametrize("name", ["--drain-window", "HTTPServerTimeout", "max_retry_count", "C++", "bar.yml", "$HOME"])
def test_identifiers_come_as_written(name: str) -> None:
    """An identifier keeps its signs and outweighs a plain word that is as rare."""
    assert of(f"Choose wisely, then set `{name}`.")[0] == name


def test_parts_of_a_chosen_identifier_say_nothing_new() -> None:
    """Beside an identifier, neither its parts nor a shorter form of it are given."""
    given = of("Set `config.drain_window`, the drain_window: a window to drain.")
    assert [each for each in given if "drain" in each or "window" in each] == ["config.drain_window"]


def test_what_is_shown_is_left_out() -> None:
    """Words of the title and opening, in any inflection, stand beside the keywords already."""
    given = of("Draining retries with HTTPServer and --force.", shown="Drain an HTTPServer")
    assert given == ("--force", "retries")


@pytest.mark.parametrize(
    "noise",
    [
        "the",
        "how",
        "42",
        "7",
        "ab",
        "|---|---|",
        "https://x.example/alpha/beta?gamma=1#delta",
        "[](../alpha/beta.md)",
        "[ref]: alpha/beta.md",
        "<table><td colspan=2></td></table>",
        "&nbsp;",
        "07f3277d1c",
        "550e8400-e29b-41d4-a716-446655440000",
        "12345678",
        "#1234",
        "2026-11-05",
        "don't",
        "someone@x.example",
        "e.g.",
        "however",
        "x" * 50,
        "```toml\n```",
        "- ~~~ shell-session\n  ~~~",
    ],
)
def test_noise_is_no_keyword(noise: str) -> None:
    """Stop words, bare short numbers, addresses, digests, HTML and fillers tell a reader nothing."""
    assert extract_keywords([noise]) == [()]


@pytest.mark.parametrize("telling", ["8080", "1.2.3", "404", "UTF-8", "naïve", "10,000"])
def test_what_a_reader_may_look_for_is_kept(telling: str) -> None:
    """Ports, versions and sizes are looked for by their numbers."""
    assert extract_keywords([telling]) == [(telling,)]


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("ドレイン期間を設定する", "ja", ("ドレイン", "期間", "設定")),
        ("서버를 설정", "ko", ("서버", "설정")),
        ("die Größe der Warteschlange", "de", ("Größe", "Warteschlange")),
        ("les paramètres de l'installation", "fr", ("paramètres", "installation")),
        ("the user’s timeout", "en", ("user", "timeout")),
    ],
)
def test_other_languages_have_keywords(text: str, language: str, expected: tuple[str, ...]) -> None:
    """Words are cut and spelt as each language writes them."""
    assert extract_keywords([text], language) == [expected]


def test_chinese_words_are_those_that_come_again() -> None:
    """Pairs of characters that meet in one section only are no words."""
    texts = ["您必须先检查端口是否占用", "服务器端口已经打开完毕", "防火墙会关闭闲置端口连接"]
    assert extract_keywords(texts, "zh", limit=20) == [("端口",)] * 3


def test_at_most_so_many() -> None:
    """No section has more than asked for, and equals stand in the order of the text."""
    text = "alpha bravo charlie delta echoes foxtrot"
    assert extract_keywords([text], limit=3) == [("alpha", "bravo", "charlie")]
    assert extract_keywords([text], limit=0) == [()]


def test_no_sections_have_no_keywords() -> None:
    """An empty site and an empty section are none too hard."""
    assert extract_keywords([]) == []
    assert extract_keywords(["", " "]) == [(), ()]


@given(st.lists(st.text(max_size=60), max_size=6), st.sampled_from(["en", "de", "ja", "zh", "ko", "th", "xx"]))
@settings(max_examples=200)
def test_keywords_are_words_of_their_section(texts: list[str], language: str) -> None:
    """Whatever the texts, each keyword finds its section, comes once, and is none of the shown."""
    given = extract_keywords(texts, language)
    assert given == extract_keywords(texts, language)
    for text, chosen in zip(texts, given, strict=True):
        assert len(chosen) == len(set(chosen)) <= 10
        terms = words.extract_terms(text, language)
        assert all(words.occurs_in(word, terms) for each in chosen for word in words.parse_query(each, language))
    assert extract_keywords(texts, language, shown=texts) == [()] * len(texts)


def test_thousands_of_sections_take_seconds() -> None:
    """A large site's keywords are no burden on its build."""
    names = [f"{head}{tail}" for head in ("drain", "queue", "proxy", "cache", "shard") for tail in range(400)]
    texts = [" ".join(names[(at * 7 + step * step) % 2000] for step in range(200)) for at in range(2000)]
    start = process_time()
    extract_keywords(texts)
    assert process_time() - start < 12
