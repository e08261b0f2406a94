"""Events come out whole, however the bytes were cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.answer.models.openai import EventStreamParser, LineTooLongError

STREAM = 'data: {"a": "ü"}\r\n\r\n: hm\r\ndata:{"b": 1}\n\nevent: x\rdata: [DONE]\r\rid: 7\nretry: 1\n\ndata: "no end"'


@given(st.lists(st.integers(0, len(STREAM.encode())), max_size=12))
def test_cuts_do_not_matter(cuts: list[int]) -> None:
    """In the middle of a character, of a line end, of a word."""
    data = STREAM.encode()
    bounds = [0, *sorted(cuts), len(data)]
    events = EventStreamParser()
    said = [one for start, end in pairwise(bounds) for one in events.feed(data[start:end])]
    assert [*said, *events.end()] == ['{"a": "ü"}', '{"b": 1}', "[DONE]", '"no end"']


@pytest.mark.parametrize("data", [b"data: " + b"x" * 100, b"data: " + b"x" * 100 + b"\n"])
def test_a_line_is_never_longer_than_it_may_be(data: bytes) -> None:
    """With its end or without."""
    with pytest.raises(LineTooLongError):
        list(EventStreamParser(100).feed(data))
    assert list(EventStreamParser(200).feed(data + b"\n")) == ["x" * 100]


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_any_bytes_are_taken(pieces: list[bytes]) -> None:
    """What is not text is replaced."""
    events = EventStreamParser()
    for piece in pieces:
        assert all(isinstance(one, str) for one in events.feed(piece))
    list(events.end())
