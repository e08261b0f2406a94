"""Make the table of word-piece vectors, `mkdocs_roaming/embeddings/table.bin`.

    pip install 'mkdocs-roaming[meaning]'
    python benchmarks/word_table.py MODEL FOLDER

MODEL has `tokenizer.json` and `model.onnx` of the model that `table.toml` next to the table names, FOLDER a clone of each
repository there as OWNER/NAME. It takes five minutes of one core; the same inputs give the same bytes on processors of
the same kind. docs/explanation/benchmarks.md explains the steps.
"""

from __future__ import annotations

import html
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from mkdocs_roaming.embeddings.table import MAGIC, TABLE_HEAD, TABLE_PATH, ZERO_HALF

PIECES = 11_000
DIMENSIONS = 192
TEXTS = 600
"""Maximum number of texts from one repository."""
TEXT_CHARS = 420
LEAST_LETTERS = 0.8
"""Share of letters and spaces in prose."""
MAX_TOKENS = 256
PRIOR = 5
"""The vector of a piece alone counts like this number of contexts."""
SMOOTHING = 5e-4
"""Share of a piece in all texts at which its weight is a half."""
SPREAD = 2.5
"""Standard deviations of a vector's numbers that half a byte covers on each side of zero."""
MAX_WEIGHT = 255
HEAVIEST = 0.999
"""Share of the pieces below the maximum weight."""
MARKUP = (
    (r"\A---\n.*?\n---\n|<!--.*?-->|<metadata.*?</metadata>|^(```|~~~).*?^\1[`~]*\s*$", ""),
    (r"</(?:para|title|item|section|note)>", "\n\n"),
    (r"!?\[([^\[\]]*)\](?:\([^()\s]*(?:\s\"[^\"]*\")?\)|\[[^\]]*\])|:[a-z:]+:`~?([^`<]*)(?:<[^>]*>)?`", r"\1\2"),
    (r"<[^<>]*>|https?://\S+|\{[%{].*?[%}]\}|[`*|#]|__", " "),
)
"""Markup of Markdown, reStructuredText and CNXML, and its replacements."""


def read_texts(folder: Path) -> Iterator[str]:
    """Yield a random choice of texts from each repository."""
    sources = tomllib.loads(TABLE_PATH.with_suffix(".toml").read_text("utf-8"))["texts"]
    for name, source in sources.items():
        texts = list(join_sentences(iter_sentences(folder / name, source["commit"], source["files"])))
        print(f"{name}: {len(texts)} texts", flush=True)
        yield from Random(name).sample(texts, min(TEXTS, len(texts)))


def iter_sentences(folder: Path, commit: str, pattern: str) -> Iterator[str]:
    """Yield the sentences of the prose in a repository's files."""
    git = ["git", "-C", str(folder)]
    names = subprocess.run([*git, "ls-tree", "-rz", "--name-only", commit], check=True, capture_output=True, text=True)
    for name in filter(re.compile(pattern).fullmatch, names.stdout.split("\0")):
        blob = subprocess.run([*git, "show", f"{commit}:{name}"], check=True, capture_output=True).stdout
        text = blob.decode("utf-8", "replace")
        for markup, replacement in MARKUP:
            text = re.sub(markup, replacement, text, flags=re.DOTALL | re.MULTILINE)
        for paragraph in re.split(r"\n\s*\n", html.unescape(text)):
            if sum(char.isalpha() or char == " " for char in paragraph) > LEAST_LETTERS * len(paragraph):
                yield from re.split(r"(?<=[.!?]) ", " ".join(paragraph.split()))


def join_sentences(sentences: Iterable[str]) -> Iterator[str]:
    """Yield sentences joined to texts."""
    text = ""
    for sentence in sentences:
        if text and len(text) + len(sentence) > TEXT_CHARS:
            yield text
            text = ""
        text = f"{text} {sentence}"[:TEXT_CHARS].strip()
    yield text


class Model:
    """The sentence model."""

    def __init__(self, folder: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(folder / "model.onnx", options, ["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self.pieces = sorted(self._tokenizer.get_vocab(), key=self._tokenizer.token_to_id)

    def run(self, ids: Sequence[int]) -> Any:
        """Return the output for each token."""
        tokens = np.array([ids])
        inputs = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        return self._session.run(None, inputs)[0][0]

    def sum_outputs(self, texts: Sequence[str]) -> tuple[Any, Any]:
        """Return the sum of the outputs for each piece, and how often it occurs."""
        sums = np.zeros((len(self.pieces), self._session.get_outputs()[0].shape[-1]))
        counts = np.zeros(len(self.pieces))
        for encoding in self._tokenizer.encode_batch(texts):
            np.add.at(sums, encoding.ids, self.run(encoding.ids))
            np.add.at(counts, encoding.ids, 1)
        return sums, counts

    def embed_pieces(self, rows: Sequence[int]) -> Any:
        """Return the vector of each piece as the only one of a text."""
        start, end = self._tokenizer.encode("").ids
        return np.array([self.run([start, row, end]).mean(0) for row in rows])


def choose_pieces(pieces: Sequence[str], counts: Any) -> list[int]:
    """Return the ids of all single characters and of the most frequent pieces, sorted by piece."""
    plain = {row: piece.removeprefix("##") for row, piece in enumerate(pieces)}
    known = [row for row, piece in plain.items() if piece.isascii() and piece.isalnum()]
    known.sort(key=lambda row: (len(plain[row]) > 1, -counts[row], row))
    return sorted(known[:PIECES], key=pieces.__getitem__)


def make_vectors(sums: Any, alone: Any, counts: Any) -> Any:
    """Return the weighted vectors of pieces, in few dimensions.

    Args:
        sums: The sums of their outputs in contexts.
        alone: The vectors of the pieces alone.
        counts: The numbers of contexts.
    """
    lengths = np.maximum(np.linalg.norm(sums, axis=1), 1)
    shares = (counts / (counts + PRIOR))[:, None]
    blended = shares * sums / lengths[:, None] + (1 - shares) * alone / np.linalg.norm(alone, axis=1, keepdims=True)
    centered = blended - np.average(blended, axis=0, weights=np.sqrt(counts + 1))
    weighted = centered * (SMOOTHING / (SMOOTHING + counts / counts.sum()))[:, None]
    _, axes = np.linalg.eigh(weighted.T @ weighted)
    return weighted @ axes[:, -DIMENSIONS:]


def encode_table(pieces: Sequence[str], vectors: Any) -> bytes:
    """Return the file of the table; the pieces are sorted."""
    names = "\n".join(pieces).encode()
    largest = ZERO_HALF - 1
    sizes = SPREAD / largest * vectors.std(1)
    halves = (np.clip(np.rint(vectors / sizes[:, None]), -largest, largest) + ZERO_HALF).astype(np.uint8)
    weights = np.clip(np.rint(MAX_WEIGHT * sizes / np.quantile(sizes, HEAVIEST)), 1, MAX_WEIGHT).astype(np.uint8)
    head = TABLE_HEAD.pack(MAGIC, *vectors.shape, len(names))
    return head + names + weights.tobytes() + (halves[:, ::2] | halves[:, 1::2] << 4).tobytes()


def main() -> None:
    """Run from the command line."""
    model = Model(Path(sys.argv[1]))
    sums, counts = model.sum_outputs(list(read_texts(Path(sys.argv[2]))))
    rows = choose_pieces(model.pieces, counts)
    vectors = make_vectors(sums[rows], model.embed_pieces(rows), counts[rows])
    TABLE_PATH.write_bytes(encode_table([model.pieces[row] for row in rows], vectors))


if __name__ == "__main__":
    main()
