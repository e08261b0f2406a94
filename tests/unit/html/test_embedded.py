"""Tests of programs in addresses: they are decoded as far as they are valid, in bounded size."""

from __future__ import annotations

import base64
import zlib

import pytest
from tables import read_tables

from mkdocs_roaming.html.embedded import read_program, shorten_address

TABLES = read_tables(__file__)


def encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


@pytest.mark.parametrize(("address", "program"), TABLES["read program returns files of valid addresses"])
def test_read_program_returns_files_of_valid_addresses(address: str, program: dict[str, str]) -> None:
    assert read_program(f"https://play.example/{address}") == program


def test_read_program_limits_the_size_of_a_program() -> None:
    bomb = encode(zlib.compress(b"a" * 10_000_000))
    assert len(read_program(f"https://play.example/#pako:{bomb}")[""]) == 100_000
    many = "".join(f"%22{at}%22:%22a%22," for at in range(1000))
    assert len(read_program(f"https://play.example/?code=%7B{many}%22x%22:%22a%22%7D")) == 20


@pytest.mark.parametrize(("address", "short"), TABLES["shorten address removes long data but no anchors"])
def test_shorten_address_removes_long_data_but_no_anchors(address: str, short: str) -> None:
    data = "x" * 300
    assert shorten_address(address.replace("X", data)) == short.replace("X", data)
