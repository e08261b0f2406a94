"""Signed turns of a conversation."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving import read_kettle_pages

from mkdocs_roaming.manifest.lookup import SectionIndex
from mkdocs_roaming.serve.conversation_token import (
    MAX_TOKEN_CHARS,
    TOKEN_SECONDS,
    SignedTurn,
    TokenSigner,
    make_turn,
    restore_memory,
)

SIGNER = TokenSigner(b"a key")
SITE = "https://docs.example/\nKettle"
TURN = SignedTurn("Which port?", "It is 8642 [^2ebf9271].", ("5f4feca3", "2ebf9271"), "sha256:0123456789abcdef")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=3_000)
ids = st.lists(st.from_regex(r"\A[0-9a-f]{8}\Z"), max_size=40)


def test_verify_returns_signed_turn() -> None:
    assert SIGNER.verify(SIGNER.sign(TURN, SITE), SITE) == TURN


def test_equal_turns_have_different_tokens() -> None:
    signer = TokenSigner(b"a key", clock=lambda: 1_000.0)
    tokens = {signer.sign(TURN, SITE) for _ in range(100)}
    assert len(tokens) == 100
    assert {signer.verify(token, SITE) for token in tokens} == {TURN}


@given(texts, texts, ids)
def test_token_is_at_most_two_kibibytes(question: str, answer: str, opened: list[str]) -> None:
    signed = SIGNER.sign(make_turn(question, answer, opened, opened[:5], "sha256:" + "0" * 64), SITE)
    assert len(signed) <= MAX_TOKEN_CHARS
    read = SIGNER.verify(signed, SITE)
    assert read is not None
    assert question.startswith(read.question.removesuffix("…"))


def test_truncated_answer_has_no_partial_citation() -> None:
    for length in range(650, 700):
        read = SIGNER.verify(
            SIGNER.sign(msgspec.structs.replace(TURN, answer="x" * length + " [^2ebf9271] and more" * 9), SITE), SITE
        )
        assert read is not None
        assert read.answer.count("[^") == read.answer.count("[^2ebf9271]")


@given(st.data())
def test_verify_refuses_token_with_flipped_bit(data: st.DataObject) -> None:
    payload, mark = (base64.urlsafe_b64decode(part + "==") for part in SIGNER.sign(TURN, SITE).split("."))
    whole = bytearray(payload + mark)
    at = data.draw(st.integers(0, len(whole) * 8 - 1))
    whole[at // 8] ^= 1 << at % 8
    forged = b".".join(map(base64.urlsafe_b64encode, (whole[: len(payload)], whole[len(payload) :])))
    assert SIGNER.verify(forged.decode().replace("=", ""), SITE) is None


@given(st.one_of(st.text(max_size=200), st.from_regex(r"\A[A-Za-z0-9_-]{0,200}(\.[A-Za-z0-9_-]{0,100}){0,3}\Z")))
def test_verify_refuses_random_text(text: str) -> None:
    assert SIGNER.verify(text, SITE) is None


@pytest.mark.parametrize("change", ["*{}", "{}=", "{}*", "{}.", " {}", "{}\n"])
def test_verify_refuses_other_spelling_of_token(change: str) -> None:
    assert SIGNER.verify(change.format(SIGNER.sign(TURN, SITE)), SITE) is None


def test_verify_refuses_other_unused_bits_of_token() -> None:
    signed = SIGNER.sign(TURN, SITE)
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    same_bytes = signed[:-1] + digits[digits.index(signed[-1]) + 1]  # 32 bytes leave two of the last six bits unused
    assert SIGNER.verify(same_bytes, SITE) is None


def test_verify_refuses_token_of_other_key() -> None:
    assert TokenSigner(b"another key").verify(SIGNER.sign(TURN, SITE), SITE) is None


@pytest.mark.parametrize(
    "other", ["", "https://docs.example/", "https://docs.example/\nKettle 2", "https://docs.example/2/\nKettle"]
)
def test_verify_refuses_token_of_other_site(other: str) -> None:
    assert SIGNER.verify(SIGNER.sign(TURN, SITE), other) is None


def test_verify_refuses_expired_token() -> None:
    now = [1_000.0]
    signer = TokenSigner(b"a key", clock=lambda: now[0])
    signed = signer.sign(TURN, SITE)
    now[0] += TOKEN_SECONDS - 1
    assert signer.verify(signed, SITE) == TURN
    now[0] += 3
    assert signer.verify(signed, SITE) is None


def test_make_turn_puts_cited_sections_last() -> None:
    turn = make_turn("?", "!", ["aaaaaaaa", "bbbbbbbb", "cccccccc"], ["bbbbbbbb", "dddddddd"], "")
    assert turn.opened == ("aaaaaaaa", "cccccccc", "dddddddd", "bbbbbbbb")


@pytest.fixture
def renamed(make_site: Callable[..., Any]) -> tuple[SectionIndex, dict[str, str]]:
    """Return the site after *Server* was renamed and *Logs* removed, and the former ids of its sections."""
    pages = read_kettle_pages()
    before = make_site(pages).manifest
    was = {section.title: section.id for page in before.pages for section in page.sections}
    gone = [(path, text.replace("## Server", "## Network").partition("## Logs")[0]) for path, text in pages]
    manifest = make_site(gone).manifest
    aliased = [
        msgspec.structs.replace(
            page,
            sections=tuple(
                msgspec.structs.replace(section, aliases=(was["Server"],)) if section.title == "Network" else section
                for section in page.sections
            ),
        )
        for page in manifest.pages
    ]
    return SectionIndex(msgspec.structs.replace(manifest, pages=tuple(aliased))), was


def test_restore_memory_updates_ids_of_older_site(renamed: tuple[SectionIndex, dict[str, str]]) -> None:
    places, was = renamed
    now = next(place.id for place in places if place.section.title == "Network")
    answer = f"Port 8642 [^{was['Server']}]. Logs go [^{was['Logs']}]."
    signed = SIGNER.sign(SignedTurn("Which port?", answer, (was["Logs"], was["Server"]), "sha256:0"), SITE)
    memory = restore_memory([signed, "forged"], SIGNER, places, SITE)
    assert memory.opened == (now,)
    assert memory.history[0].answer == f"Port 8642 [^{now}]. Logs go ."
    assert memory.dropped == 1
