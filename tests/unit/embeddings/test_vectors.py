"""The file of vectors, and cosines computed from it."""

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
from mkdocs_roaming.library.meaning import VectorColumns

Rows = list[list[float]]


def encode(rows: Rows, model: str = "m") -> bytes:
    digests = [digest_text(str(at)) for at in range(len(rows))]
    vectors = dict(zip(digests, map(quantize, rows), strict=True))
    sections = [(f"{at:08x}", [digest]) for at, digest in enumerate(digests)]
    return encode_vectors(model, sections, vectors)


def cosine(one: list[float], other: list[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / math.hypot(*one) / math.hypot(*other)


@given(st.integers(1, 40), st.integers(1, 30), st.integers(0, 10**6))
def test_cosines_of_quantized_vectors_are_close_to_exact_ones(dimensions: int, count: int, seed: int) -> None:
    """One byte for each dimension changes a cosine by less than a hundredth."""
    draw = random.Random(seed)
    rows = [[draw.gauss(0, 1) for _ in range(dimensions)] for _ in range(count)]
    query = [draw.gauss(0, 1) for _ in range(dimensions)]
    cosines = VectorColumns(decode_vectors(encode(rows))).cosines(query)
    assert cosines == pytest.approx([cosine(query, row) for row in rows], abs=0.01)


def test_cosines_in_long_integers_equal_a_loop_over_bytes() -> None:
    """Also in the last window of a block, and with extreme values."""
    draw = random.Random(1)
    rows = [[draw.choice([-1.0, 1.0, draw.random()]) for _ in range(24)] for _ in range(5_000)]
    vectors = decode_vectors(encode(rows))
    query = [float(draw.choice([-1, 1])) for _ in range(24)]
    cosines = VectorColumns(vectors).cosines(query)
    for at in (0, 1, 4_095, 4_096, 4_999):
        window = vectors.window(at)
        dot = sum(a * b for a, b in zip(query, struct.unpack("24b", window.values), strict=True))
        assert cosines[at] == pytest.approx(dot * window.scale / math.sqrt(24), abs=1e-9)


@given(
    st.integers(1, 4_096),
    st.integers(1, 5),
    st.integers(0, 10**6),
    st.sampled_from(["highest", "lowest", "extreme", "any"]),
)
@settings(max_examples=40)
def test_lanes_never_overflow(dimensions: int, count: int, seed: int, kind: str) -> None:
    """With all byte values, including -128, which `quantize` never writes."""
    draw = random.Random(seed)
    draw_byte = {
        "highest": lambda: 127,
        "lowest": lambda: -128,
        "extreme": lambda: draw.choice([-128, -127, 127]),
        "any": lambda: draw.randint(-128, 127),
    }[kind]
    rows = [[draw_byte() for _ in range(dimensions)] for _ in range(count)]
    values = b"".join(struct.pack(f"{dimensions}b", *row) for row in rows)
    scales = [draw.random() for _ in rows]
    columns = VectorColumns(VectorFile("m", dimensions, (), [], scales, values))
    signs = [1.0] if kind == "highest" else [-1.0, 0.0, 1.0]  # the highest values fill a lane to its last bit
    query = [draw.choice(signs) for _ in range(dimensions - 1)] + [1.0]
    length = math.hypot(*query)
    dots = [sum(a * b for a, b in zip(query, row, strict=True)) for row in rows]
    cosines = columns.cosines([1e-9 * number for number in query])
    assert cosines == pytest.approx([dot * scale / length for dot, scale in zip(dots, scales, strict=True)], abs=1e-6)


def test_zero_vectors_have_zero_cosine() -> None:
    """A text without words has such a vector."""
    columns = VectorColumns(decode_vectors(encode([[0.0, 0.0], [1.0, 0.0]])))
    assert columns.cosines([1.0, 0.0]) == pytest.approx([0.0, 1.0], abs=0.001)
    assert columns.cosines([0.0, 0.0]) == []


def test_encode_vectors_is_reproducible_after_decoding() -> None:
    data = encode([[0.1, -3.0, 2.0], [7.0, 1e-9, 0.0]], "modèle")
    vectors = decode_vectors(data)
    again = {digest: vectors.window(at) for at, digest in enumerate(vectors.digests)}
    own = [(id_, [vectors.digests[at]]) for at, (id_, _) in enumerate(vectors.sections)]
    assert encode_vectors(vectors.model, own, again) == data == encode([[0.1, -3.0, 2.0], [7.0, 1e-9, 0.0]], "modèle")


def test_decode_vectors_rejects_broken_files_and_later_versions() -> None:
    data = encode([[1.0, 2.0], [3.0, 4.0]])
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
def test_decode_vectors_raises_only_vectors_error(noise: bytes) -> None:
    data = encode([[1.0, 2.0]])
    for broken in (data[:24] + noise, noise + data, data[:8] + noise + data[8 + len(noise) :]):
        with suppress(VectorsError):
            decode_vectors(broken)
