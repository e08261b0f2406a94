"""Tests of programs in addresses: they are decoded as far as they are valid, in bounded size."""

from __future__ import annotations

import base64
import json
import zlib

import pytest

from mkdocs_roaming.html.embedded import read_program, shorten_address

MERMAID = json.dumps({"code": "graph LR", "mermaid": "{}"}).encode()
FILES = json.dumps({"App.vue": "<template/>", "import-map.json": "{}"}).encode()


def encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


@pytest.mark.parametrize(
    ("address", "program"),
    [
        ("?code=print(1)%0Aprint(2%2B3)", {"": "print(1)\nprint(2+3)"}),
        ("?version=stable&code=fn+main()+%7B%7D&edition=2024", {"": "fn main() {}"}),
        ("#code/DYUwLgBAhhC8EEYDcAoIA", {"": "let a = 1;\n"}),  # by lz-string
        ("?code=DYUwLgBAhhC8EEYDcAoIA===", {"": "let a = 1;\n"}),
        ("#code/JcAkSYQoRPaOraIA4CcCWA7ALgCgOQB+sEog", {"": "é → 漢字 print('ü')"}),
        ("#code/M4QwngBIPBuFD7Q", {"": "say 🌊"}),
        ("#code/DYUwLgBAhhC8EEYDc", {}),
        (f"#code/DYUwLgBAhhC8EEYDcAoIA{'A' * 20}", {}),
        (f"#pako:{encode(zlib.compress(MERMAID))}", {"": "graph LR"}),
        (f"#base64:{encode(MERMAID)}", {"": "graph LR"}),
        (f"#{encode(zlib.compress(FILES, 9))}", {"App.vue": "<template/>", "import-map.json": "{}"}),
        ("?code=%5B1%2C2%5D", {"": "[1,2]"}),
        ("?code=%5B%7B%22name%22%3A%20%5B%5D%7D%5D", {"": '[{"name": []}]'}),
        ("?code=%7B%22a%5Cnb%22:%22x%22,%22c%22:%22%5Cud800%22,%22d%22:%22%5Cu0000%22,%22e%22:%22f%22%7D", {"e": "f"}),
        ("?code=%00%01a%20b", {}),
        ("?code=", {}),
        ("?code=%20%0A", {}),
        ("#encoded", {}),
    ],
)
def test_read_program_returns_files_of_valid_addresses(address: str, program: dict[str, str]) -> None:
    assert read_program(f"https://play.example/{address}") == program


def test_read_program_limits_the_size_of_a_program() -> None:
    bomb = encode(zlib.compress(b"a" * 10_000_000))
    assert len(read_program(f"https://play.example/#pako:{bomb}")[""]) == 100_000
    many = "".join(f"%22{at}%22:%22a%22," for at in range(1000))
    assert len(read_program(f"https://play.example/?code=%7B{many}%22x%22:%22a%22%7D")) == 20


@pytest.mark.parametrize(
    ("address", "short"),
    [
        ("https://a.example/?b=1&code=X&c=2#code/X", "https://a.example/?b=1&c=2"),
        ("https://a.example/?code=X", "https://a.example/"),
        ("../play/#pako:X", "../play/"),
        ("api.html#_CPPv4X", "api.html#_CPPv4X"),
        ("https://a.example/?q=short#part", "https://a.example/?q=short#part"),
    ],
)
def test_shorten_address_removes_long_data_but_no_anchors(address: str, short: str) -> None:
    data = "x" * 300
    assert shorten_address(address.replace("X", data)) == short.replace("X", data)
