"""The parser of event streams."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.answer.models.openai import EventStreamParser, LineTooLongError

STREAM = 'data: {"a": "ü"}\r\n\r\n: hm\r\ndata:{"b": 1}\n\nevent: x\rdata: [DONE]\r\rid: 7\nretry: 1\n\ndata: "no end"'


@given(st.lists(st.integers(0, len(STREAM.encode())), max_size=12))
def test_parser_gives_equal_events_for_any_chunks(cuts: list[int]) -> None:
    data = STREAM.encode()
    bounds = [0, *sorted(cuts), len(data)]
    events = EventStreamParser()
    data_of_events = [one for start, end in pairwise(bounds) for one in events.feed(data[start:end])]
    assert [*data_of_events, *events.end()] == ['{"a": "ü"}', '{"b": 1}', "[DONE]", '"no end"']


@pytest.mark.parametrize("data", [b"data: " + b"x" * 100, b"data: " + b"x" * 100 + b"\n"])
def test_parser_rejects_line_beyond_maximum(data: bytes) -> None:
    with pytest.raises(LineTooLongError):
        list(EventStreamParser(100).feed(data))
    assert list(EventStreamParser(200).feed(data + b"\n")) == ["x" * 100]


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_parser_accepts_any_bytes(pieces: list[bytes]) -> None:
    events = EventStreamParser()
    for piece in pieces:
        assert all(isinstance(one, str) for one in events.feed(piece))
    list(events.end())
