"""Signatures of answers that links hold."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.serve.conversation_token import TokenSigner, Turn
from mkdocs_roaming.serve.permalink import LASTING_SECONDS, AnswerSigner
from mkdocs_roaming.serve.schemas import LinkedAnswer

KEY = b"a key"
SITE = "https://docs.example/\nKettle"
ANSWER = LinkedAnswer("Which port?", "It is 8642 [^2ebf9271]. — ü", ("2ebf9271abcdef", "5f4feca3012345"))
NOW = 1_800_000_000


def signer(key: bytes = KEY, *, now: float = NOW) -> AnswerSigner:
    return AnswerSigner(key, clock=lambda: now)


def signed(answer: LinkedAnswer = ANSWER, /, **changes: Any) -> LinkedAnswer:
    """Return an answer with its signature, changed after it was signed."""
    return msgspec.structs.replace(answer, **{"signature": signer().sign(answer, SITE), **changes})


def test_signature_is_valid_for_a_year() -> None:
    for later in (0, LASTING_SECONDS):
        assert signer(now=NOW + later).verify(signed(), SITE) == ("", NOW)
    assert signer(now=NOW + LASTING_SECONDS + 1).verify(signed(), SITE) == ("expired", NOW)


@pytest.mark.parametrize(
    "change",
    [
        {"question": "Which port"},
        {"answer": ANSWER.answer + " Call +1 555 0100."},
        {"answer": ANSWER.answer.replace("8642", "8643")},
        {"sections": ("2ebf9271abcdef",)},
        {"sections": ("5f4feca3012345", "2ebf9271abcdef")},
        {"sections": ("2ebf9271abcdee", "5f4feca3012345")},
        {"question": "Which port?" + ANSWER.answer[:1], "answer": ANSWER.answer[1:]},
    ],
)
def test_signature_of_changed_answer_is_refused(change: dict[str, Any]) -> None:
    assert signer().verify(signed(**change), SITE) == ("signature", 0)


@pytest.mark.parametrize("site", ["", "https://docs.example/\nKettle 2", "https://docs.example/2/\nKettle"])
def test_signature_of_other_site_is_refused(site: str) -> None:
    assert signer().verify(signed(), site) == ("signature", 0)


def test_signature_of_other_key_is_recognised_by_its_id() -> None:
    assert signer(b"another key").verify(signed(), SITE) == ("key", 0)
    assert signed().signature.startswith(f"{signer().key_id}.")
    renamed = signed().signature.replace(signer().key_id, signer(b"another key").key_id)
    assert signer(b"another key").verify(msgspec.structs.replace(ANSWER, signature=renamed), SITE) == ("signature", 0)


def test_signer_without_key_neither_signs_nor_verifies() -> None:
    keyless = signer(b"")
    assert keyless.sign(ANSWER, SITE) == ""
    assert keyless.verify(signed(), SITE) == ("key", 0)
    empty = f"{keyless.key_id}.{NOW}.{NOW + 9}.{'A' * 43}"
    assert keyless.verify(msgspec.structs.replace(ANSWER, signature=empty), SITE) == ("key", 0)


@pytest.mark.parametrize("field", [1, 2])
def test_signature_with_other_time_is_refused(field: int) -> None:
    parts = signed().signature.split(".")
    parts[field] = str(int(parts[field]) + 1)
    assert signer().verify(signed(signature=".".join(parts)), SITE) == ("signature", 0)


@given(st.data())
def test_signature_with_other_character_is_refused(data: st.DataObject) -> None:
    signature = signed().signature
    at = data.draw(st.integers(0, len(signature) - 1))
    other = data.draw(st.characters(codec="utf-8").filter(lambda one: one != signature[at]))
    problem, _ = signer().verify(signed(signature=signature[:at] + other + signature[at + 1 :]), SITE)
    assert problem


@pytest.mark.parametrize("change", ["{}=", "{}\n", " {}", "{}.", "{}A"])
def test_other_spelling_of_signature_is_refused(change: str) -> None:
    signature = change.format(signed().signature)
    assert signer().verify(signed(signature=signature), SITE) == ("signature", 0)


def test_turn_and_signature_are_not_accepted_for_each_other() -> None:
    """They have keys of their own, even for the same bytes."""
    tokens = TokenSigner(KEY)
    turn = tokens.sign(Turn(ANSWER.question, ANSWER.answer), SITE)
    mac = turn.split(".")[1]
    for signature in (turn, mac, f"{signer().key_id}.{NOW}.{NOW + 9}.{mac}"):
        assert signer().verify(signed(signature=signature), SITE)[0]
    payload = signed().signature
    for token in (payload, f"{turn.split('.')[0]}.{payload.split('.')[3]}"):
        assert tokens.verify(token, SITE) is None
