"""Keywords of sections."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_roaming.text import tokenizer
from mkdocs_roaming.text.keywords import extract_keywords

OTHERS = ["The server listens on a port.", "Restart the server after an update.", "The server writes a log."]


def extract(text: str, language: str = "en", shown: str = "") -> tuple[str, ...]:
    return extract_keywords([text, *OTHERS], language, shown=[shown])[0]


def test_words_of_every_section_rank_last() -> None:
    assert extract("The server drains. Draining closes a server.")[0] == "drains"
    assert extract("The server drains. Draining closes a server.")[-1] == "server"


def test_common_words_are_omitted_on_large_sites() -> None:
    texts = [f"The gateway knows topic{number}." for number in range(30)]
    assert not any("gateway" in keywords for keywords in extract_keywords(texts))


def test_keyword_has_most_frequent_spelling_of_its_inflections() -> None:
    assert extract_keywords(["Retries stall. Two retries. A retry."])[0] == ("retries", "stall")
    assert extract_keywords(["PostgreSQL stores it.", "PostgreSQL or postgresql."])[1] == ("PostgreSQL",)


@pytest.mark.parametrize("name", ["--drain-window", "HTTPServerTimeout", "max_retry_count", "C++", "bar.yml", "$HOME"])
def test_identifiers_keep_their_signs_and_outrank_plain_words(name: str) -> None:
    assert extract(f"Choose wisely, then set `{name}`.")[0] == name


def test_parts_of_chosen_identifiers_are_omitted() -> None:
    keywords = extract("Set `config.drain_window`, the drain_window: a window to drain.")
    assert [each for each in keywords if "drain" in each or "window" in each] == ["config.drain_window"]


def test_words_that_are_shown_are_omitted() -> None:
    keywords = extract("Draining retries with HTTPServer and --force.", shown="Drain an HTTPServer")
    assert keywords == ("--force", "retries")


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
def test_noise_is_omitted(noise: str) -> None:
    assert extract_keywords([noise]) == [()]


@pytest.mark.parametrize("telling", ["8080", "1.2.3", "404", "UTF-8", "naïve", "10,000"])
def test_ports_versions_and_sizes_are_keywords(telling: str) -> None:
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
def test_keywords_follow_the_rules_of_the_language(text: str, language: str, expected: tuple[str, ...]) -> None:
    assert extract_keywords([text], language) == [expected]


def test_chinese_pairs_of_one_section_are_no_keywords() -> None:
    texts = ["您必须先检查端口是否占用", "服务器端口已经打开完毕", "防火墙会关闭闲置端口连接"]
    assert extract_keywords(texts, "zh", limit=20) == [("端口",)] * 3


def test_limit_restricts_keywords_in_text_order() -> None:
    text = "alpha bravo charlie delta echoes foxtrot"
    assert extract_keywords([text], limit=3) == [("alpha", "bravo", "charlie")]
    assert extract_keywords([text], limit=0) == [()]


def test_empty_input_has_no_keywords() -> None:
    assert extract_keywords([]) == []
    assert extract_keywords(["", " "]) == [(), ()]


@given(st.lists(st.text(max_size=60), max_size=6), st.sampled_from(["en", "de", "ja", "zh", "ko", "th", "xx"]))
@settings(max_examples=200, deadline=None)
def test_keywords_occur_in_their_section_once(texts: list[str], language: str) -> None:
    keywords = extract_keywords(texts, language)
    assert keywords == extract_keywords(texts, language)
    for text, chosen in zip(texts, keywords, strict=True):
        assert len(chosen) == len(set(chosen)) <= 10
        terms = tokenizer.extract_terms(text, language)
        assert all(
            tokenizer.occurs_in(word, terms) for each in chosen for word in tokenizer.parse_query(each, language)
        )
    assert extract_keywords(texts, language, shown=texts) == [()] * len(texts)


def test_extraction_is_fast_for_thousands_of_sections() -> None:
    names = [f"{head}{tail}" for head in ("drain", "queue", "proxy", "cache", "shard") for tail in range(400)]
    texts = [" ".join(names[(at * 7 + step * step) % 2000] for step in range(200)) for at in range(2000)]
    start = process_time()
    extract_keywords(texts)
    assert process_time() - start < 12
