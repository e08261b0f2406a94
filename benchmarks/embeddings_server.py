"""Serve OpenAI's embeddings API locally, for benchmarks without an embeddings service.

    python benchmarks/embeddings_server.py --site SITE_DIR [--dimensions 128] [--port 8124]
    python benchmarks/embeddings_server.py --words FILE [--port 8124]
    python benchmarks/embeddings_server.py --sentences FOLDER [--threads 1] [--port 8124]

`--site` computes latent semantic analysis of a published site: the singular value decomposition of the occurrences of
words in windows, which only knows synonyms within the site. `--words` reads word vectors from a text file with a word
and its numbers per line, as written by GloVe, word2vec and fastText; the vector of a text is the mean of its words,
weighted by rarity. `--sentences` loads a sentence model in the format of sentence-transformers from a folder; nothing is
downloaded. All require numpy, the last one also sentence-transformers.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from mkdocs_roaming.embeddings.store import split_windows
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.text.tokenizer import parse_words, split_words

EmbedFunction = Callable[[Sequence[str]], Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--site", help="Folder or URL of a published site.")
    source.add_argument("--words", type=Path, help="File of word vectors.")
    source.add_argument("--sentences", type=Path, help="Folder of a sentence model.")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of the sentence model (default: 1).")
    parser.add_argument("--dimensions", type=int, default=128, help="Dimensions of --site (default: 128).")
    parser.add_argument("--port", type=int, default=8124, help="Port (default: 8124).")
    options = parser.parse_args()
    if options.sentences:
        embed = load_sentence_model(options.sentences, options.threads)
    else:
        embed = load_site_model(options.site, options.dimensions) if options.site else load_word_vectors(options.words)
    serve(embed, options.port)


def load_site_model(location: str, dimensions: int) -> EmbedFunction:
    """Return latent semantic analysis of a site."""
    library = open_library(location)
    library.prefetch()
    language = library.manifest.site.language
    texts = [
        text
        for section in library.sections
        for text in split_windows(library.sections.breadcrumb(section), library.text(section), section.section.opening)
    ]
    counts = [Counter(significant_terms(text, language)) for text in texts]
    document_frequency = Counter(word for count in counts for word in count)
    rows = {
        word: index
        for index, word in enumerate(sorted(word for word, times in document_frequency.items() if times > 1))
    }
    weights = np.array([np.log(len(texts) / document_frequency[word]) for word in rows])
    table = np.zeros((len(texts), len(rows)), dtype=np.float32)
    for index, count in enumerate(counts):
        for word, times in count.items():
            if word in rows:
                table[index, rows[word]] = (1 + np.log(times)) * weights[rows[word]]
    table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)
    base = compute_principal_directions(table, dimensions)
    print(f"{location}: {len(texts)} windows, {len(rows)} words, {base.shape[1]} dimensions", flush=True)

    def embed(queries: Sequence[str]) -> Any:
        result = np.zeros((len(queries), len(rows)), dtype=np.float32)
        for index, text in enumerate(queries):
            for word, times in Counter(significant_terms(text, language)).items():
                if word in rows:
                    result[index, rows[word]] = (1 + np.log(times)) * weights[rows[word]]
        return result @ base

    return embed


def compute_principal_directions(table: Any, count: int) -> Any:
    """Return the first right singular vectors, by randomized SVD with a fixed seed."""
    rng = np.random.default_rng(7)
    count = min(count, *table.shape)
    basis = table @ rng.standard_normal((table.shape[1], count + 20), dtype=np.float32)
    for _ in range(4):
        basis, _ = np.linalg.qr(table @ (table.T @ basis))
    _, _, right = np.linalg.svd(basis.T @ table, full_matrices=False)
    return right[:count].T


def load_word_vectors(file: Path) -> EmbedFunction:
    """Return the weighted mean of word vectors. The words in the file are ordered by frequency."""
    vectors: dict[str, Any] = {}
    ranks: dict[str, int] = {}
    with file.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            word, *numbers = line.rstrip().split(" ")
            if len(numbers) > 2:  # the first line of some files contains the numbers of words and dimensions
                ranks[word] = len(ranks)
                vectors[word] = np.array(numbers, dtype=np.float32)
    size = len(next(iter(vectors.values())))
    print(f"{file}: {len(vectors)} words, {size} dimensions", flush=True)

    def embed(queries: Sequence[str]) -> Any:
        result = np.zeros((len(queries), size), dtype=np.float32)
        for index, text in enumerate(queries):
            for word in split_words(text.lower()):
                if word in vectors:
                    result[index] += vectors[word] * np.log(2 + ranks[word])
        return result

    return embed


def load_sentence_model(folder: Path, threads: int) -> EmbedFunction:
    """Load a sentence model."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # never download a model when the folder is missing
    import torch  # large optional dependency
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    model = SentenceTransformer(str(folder.resolve(strict=True)), device="cpu")
    max_tokens, size = model.max_seq_length, model.get_sentence_embedding_dimension()
    print(f"{folder}: {size} dimensions, maximum length {max_tokens} tokens", flush=True)
    return lambda texts: model.encode(list(texts), batch_size=8, show_progress_bar=False)


def significant_terms(text: str, language: str) -> list[str]:
    """Return the terms of the words that are not stop words."""
    return [term for word in parse_words(text, language) if not word.stop for term in word.terms]


def serve(embed: EmbedFunction, port: int) -> None:
    """Serve requests on 127.0.0.1 until interrupted."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
            rows = [{"index": index, "embedding": vector} for index, vector in enumerate(embed(texts).tolist())]
            body = json.dumps({"data": rows, "model": request["model"]}).encode()
            self.send_response(200 if self.path == "/v1/embeddings" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
