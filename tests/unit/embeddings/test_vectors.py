"""The file of vectors holds what was put in, byte for byte the same each time, and is refused when it is broken."""

from __future__ import annotations

import math
import random
import struct
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_roaming.embeddings.store import (
    VectorFile,
    VectorsError,
    decode_vectors,
    digest_text,
    encode_vectors,
    quantize,
)
from mkdocs_roaming.library.hybrid import VectorColumns

Rows = list[list[float]]


def packed(rows: Rows, model: str = "m") -> bytes:
    digests = [digest_text(str(at)) for at in range(len(rows))]
    vectors = dict(zip(digests, map(quantize, rows), strict=True))
    sections = [(f"{at:08x}", [digest]) for at, digest in enumerate(digests)]
    return encode_vectors(model, sections, vectors, len(rows[0]))


def cosine(one: list[float], other: list[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / math.hypot(*one) / math.hypot(*other)


@given(st.integers(1, 40), st.integers(1, 30), st.integers(0, 10**6))
def test_cosines_are_those_of_the_vectors(dimensions: int, count: int, seed: int) -> None:
    """A byte for each dimension costs less than a hundredth."""
    draw = random.Random(seed)
    rows = [[draw.gauss(0, 1) for _ in range(dimensions)] for _ in range(count)]
    asked = [draw.gauss(0, 1) for _ in range(dimensions)]
    found = VectorColumns(decode_vectors(packed(rows))).cosines(asked)
    assert found == pytest.approx([cosine(asked, row) for row in rows], abs=0.01)


def test_cosines_are_exact_in_bytes() -> None:
    """What is added up in long integers is what a loop over the bytes gives, also across blocks and at the extremes."""
    draw = random.Random(1)
    rows = [[draw.choice([-1.0, 1.0, draw.random()]) for _ in range(24)] for _ in range(5_000)]
    vectors = decode_vectors(packed(rows))
    asked = [float(draw.choice([-1, 1])) for _ in range(24)]
    found = VectorColumns(vectors).cosines(asked)
    for at in (0, 1, 4_095, 4_096, 4_999):
        window = vectors.window(at)
        dot = sum(a * b for a, b in zip(asked, struct.unpack("24b", window.values), strict=True))
        assert found[at] == pytest.approx(dot * window.scale / math.sqrt(24), abs=1e-9)


@given(
    st.integers(1, 4_096),
    st.integers(1, 5),
    st.integers(0, 10**6),
    st.sampled_from(["most", "least", "extreme", "any"]),
)
@settings(max_examples=40, deadline=None)  # long vectors take their time
def test_no_lane_runs_over_into_the_next(dimensions: int, count: int, seed: int, kind: str) -> None:
    """Whatever bytes a file holds, also -128, which none that is written here does: all dimensions, all signs."""
    draw = random.Random(seed)
    bytes_of = {
        "most": lambda: 127,
        "least": lambda: -128,
        "extreme": lambda: draw.choice([-128, -127, 127]),
        "any": lambda: draw.randint(-128, 127),
    }[kind]
    rows = [[bytes_of() for _ in range(dimensions)] for _ in range(count)]
    values = b"".join(struct.pack(f"{dimensions}b", *row) for row in rows)
    scales = [draw.random() for _ in rows]
    columns = VectorColumns(VectorFile("m", dimensions, (), [], scales, values))
    signs = [1.0] if kind == "most" else [-1.0, 0.0, 1.0]  # all of them at once fill a lane to its last bit
    asked = [draw.choice(signs) for _ in range(dimensions - 1)] + [1.0]
    length = math.hypot(*asked)
    dots = [sum(a * b for a, b in zip(asked, row, strict=True)) for row in rows]
    found = columns.cosines([1e-9 * number for number in asked])
    assert found == pytest.approx([dot * scale / length for dot, scale in zip(dots, scales, strict=True)], abs=1e-6)


def test_vectors_that_lead_nowhere_are_near_to_nothing() -> None:
    """Zeros are no error: a text without a word has them."""
    columns = VectorColumns(decode_vectors(packed([[0.0, 0.0], [1.0, 0.0]])))
    assert columns.cosines([1.0, 0.0]) == pytest.approx([0.0, 1.0], abs=0.001)
    assert columns.cosines([0.0, 0.0]) == []


def test_the_same_vectors_give_the_same_bytes() -> None:
    """And what was read can be written again."""
    data = packed([[0.1, -3.0, 2.0], [7.0, 1e-9, 0.0]], "modèle")
    vectors = decode_vectors(data)
    again = {digest: vectors.window(at) for at, digest in enumerate(vectors.digests)}
    own = [(id_, [vectors.digests[at]]) for at, (id_, _) in enumerate(vectors.sections)]
    assert (
        encode_vectors(vectors.model, own, again, vectors.dimensions)
        == data
        == packed([[0.1, -3.0, 2.0], [7.0, 1e-9, 0.0]], "modèle")
    )


def test_a_broken_file_is_refused() -> None:
    """Cut short anywhere, grown, with scales that are no numbers, of a later version, something else altogether."""
    data = packed([[1.0, 2.0], [3.0, 4.0]])
    for end in range(len(data)):
        with pytest.raises(VectorsError):
            decode_vectors(data[:end])
    scale = data.index(struct.pack("<f", quantize([1.0, 2.0]).scale))
    for broken in (data + b"x", data[:scale] + struct.pack("<f", math.nan) + data[scale + 4 :], b"x" * 99):
        with pytest.raises(VectorsError, match="broken or truncated"):
            decode_vectors(broken)
    with pytest.raises(VectorsError, match="a later version"):
        decode_vectors(data[:7] + b"\x02" + data[8:])


@given(st.binary(max_size=200))
def test_no_bytes_make_it_fail_otherwise(noise: bytes) -> None:
    """Whatever a site publishes there."""
    data = packed([[1.0, 2.0]])
    for broken in (data[:24] + noise, noise + data, data[:8] + noise + data[8 + len(noise) :]):
        with suppress(VectorsError):
            decode_vectors(broken)
