"""JSON that others wrote."""

from __future__ import annotations

import pytest

from mkdocs_roaming._json import decode_json


@pytest.mark.parametrize(
    "data",
    [
        b"1" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
        b'"\xff"',
        b'{"a": 1',
        b"",
        b'{"a": 01}',
    ],
    ids=["digits", "lists", "objects", "encoding", "truncated", "empty", "number"],
)
@pytest.mark.parametrize("kind", [object, dict[str, object], list[int]])
def test_decode_json_raises_value_error_for_every_fault(data: bytes, kind: type) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 -- messages differ by library
        decode_json(data, kind)


def test_decode_json_accepts_unpaired_surrogates() -> None:
    assert decode_json(b'{"a": "\\ud800 b"}', dict[str, str]) == {"a": "\ud800 b"}
