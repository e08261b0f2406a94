"""A server on this machine with OpenAI's embeddings API, for measuring where no embedding model is at hand.

    python benchmarks/embeddings_server.py --site SITE_DIR [--dimensions 128] [--port 8124]
    python benchmarks/embeddings_server.py --words FILE [--port 8124]
    python benchmarks/embeddings_server.py --sentences FOLDER [--threads 1] [--port 8124]

`--site` knows what words mean from a published site alone: latent semantic analysis, the singular value decomposition
of which words stand in which windows. So it finds only what the site itself says in two ways. `--words` reads word
vectors that you bring: a text file with a word and its numbers on each line, as GloVe, word2vec and fastText write it;
a text is the mean of its words, weighed by how rare they are. `--sentences` reads a model of whole sentences from a
folder, as sentence-transformers writes it; nothing is fetched. All need numpy, the last one sentence-transformers too.
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
from mkdocs_roaming.library.library import open_library
from mkdocs_roaming.text.tokenizer import parse_words, split_words

Embed = Callable[[Sequence[str]], Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--site", help="a published site: its folder or address")
    source.add_argument("--words", type=Path, help="a file of word vectors")
    source.add_argument("--sentences", type=Path, help="the folder of a model of whole sentences")
    parser.add_argument("--threads", type=int, default=1, help="what a model of whole sentences may take")
    parser.add_argument("--dimensions", type=int, default=128)
    parser.add_argument("--port", type=int, default=8124)
    options = parser.parse_args()
    if options.sentences:
        embed = of_sentences(options.sentences, options.threads)
    else:
        embed = of_site(options.site, options.dimensions) if options.site else of_words(options.words)
    serve(embed, options.port)


def of_site(where: str, dimensions: int) -> Embed:
    """Give what a published site's own text says of its words."""
    library = open_library(where)
    library.prefetch()
    language = library.manifest.site.language
    texts = [
        text
        for place in library.sections
        for text in split_windows(library.sections.breadcrumb(place), library.text(place), place.section.opening)
    ]
    counts = [Counter(telling(text, language)) for text in texts]
    spread = Counter(word for count in counts for word in count)
    rows = {word: at for at, word in enumerate(sorted(word for word, times in spread.items() if times > 1))}
    weights = np.array([np.log(len(texts) / spread[word]) for word in rows])
    table = np.zeros((len(texts), len(rows)), dtype=np.float32)
    for at, count in enumerate(counts):
        for word, times in count.items():
            if word in rows:
                table[at, rows[word]] = (1 + np.log(times)) * weights[rows[word]]
    table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)
    base = directions(table, dimensions)
    print(f"{where}: {len(texts)} windows, {len(rows)} words, {base.shape[1]} dimensions", flush=True)

    def embed(asked: Sequence[str]) -> Any:
        found = np.zeros((len(asked), len(rows)), dtype=np.float32)
        for at, text in enumerate(asked):
            for word, times in Counter(telling(text, language)).items():
                if word in rows:
                    found[at, rows[word]] = (1 + np.log(times)) * weights[rows[word]]
        return found @ base

    return embed


def directions(table: Any, count: int) -> Any:
    """Give the directions in which a table's rows differ most, found by chance and made better: the same every time."""
    draw = np.random.default_rng(7)
    count = min(count, *table.shape)
    found = table @ draw.standard_normal((table.shape[1], count + 20), dtype=np.float32)
    for _ in range(4):
        found, _ = np.linalg.qr(table @ (table.T @ found))
    _, _, right = np.linalg.svd(found.T @ table, full_matrices=False)
    return right[:count].T


def of_words(file: Path) -> Embed:
    """Give the mean of the words' vectors; the words stand in the file by how common they are."""
    vectors: dict[str, Any] = {}
    ranks: dict[str, int] = {}
    with file.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            word, *numbers = line.rstrip().split(" ")
            if len(numbers) > 2:  # the first line of some files counts words and dimensions
                ranks[word] = len(ranks)
                vectors[word] = np.array(numbers, dtype=np.float32)
    size = len(next(iter(vectors.values())))
    print(f"{file}: {len(vectors)} words, {size} dimensions", flush=True)

    def embed(asked: Sequence[str]) -> Any:
        found = np.zeros((len(asked), size), dtype=np.float32)
        for at, text in enumerate(asked):
            for word in split_words(text.lower()):
                if word in vectors:
                    found[at] += vectors[word] * np.log(2 + ranks[word])
        return found

    return embed


def of_sentences(folder: Path, threads: int) -> Embed:
    """Give what a model of whole sentences makes of a text."""
    os.environ["HF_HUB_OFFLINE"] = "1"  # a folder that is none must not be looked for elsewhere
    import torch  # heavy, and for those who bring a model
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    model = SentenceTransformer(str(folder.resolve(strict=True)), device="cpu")
    longest, size = model.max_seq_length, model.get_sentence_embedding_dimension()
    print(f"{folder}: {size} dimensions, reads {longest} tokens of a text", flush=True)
    return lambda asked: model.encode(list(asked), batch_size=8, show_progress_bar=False)


def telling(text: str, language: str) -> list[str]:
    """Give the terms of the words that tell something."""
    return [term for word in parse_words(text, language) if not word.stop for term in word.terms]


def serve(embed: Embed, port: int) -> None:
    """Answer requests on this machine until it is stopped."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
            rows = [{"index": at, "embedding": vector} for at, vector in enumerate(embed(texts).tolist())]
            body = json.dumps({"data": rows, "model": asked["model"]}).encode()
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
