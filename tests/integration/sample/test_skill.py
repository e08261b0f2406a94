"""The way of an agent with plain HTTP: from the home page to the skill, and from there to a section."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen

import pytest
from serving import serve_static


def read_site_url(site: Path) -> str:
    """Return the URL of a published site."""
    manifest = json.loads((site / "roaming" / "manifest.json").read_bytes())
    return str(manifest["site"]["url"])


@pytest.fixture
def fetch(sample: Path) -> Iterator[Callable[[str], str]]:
    """Return a function that fetches addresses of the sample site from a static server."""
    site_url = read_site_url(sample)
    with serve_static(sample, site_url) as local_url:

        def get(address: str) -> str:
            with urlopen(address.replace(site_url, local_url), timeout=30) as response:
                return str(response.read().decode())

        yield get


@pytest.fixture
def skill_url(sample: Path, fetch: Callable[[str], str]) -> str:
    """Return the address of the skill, found from the home page."""
    home = read_site_url(sample)
    llms_txt = urljoin(home, re.findall(r'<a href="([^"]*)">llms\.txt</a>', fetch(home))[0])
    return re.findall(r"^How agents find and read sections is described at (\S+)$", fetch(llms_txt), re.MULTILINE)[0]


def test_example_of_the_skill_opens_the_section_that_it_names(fetch: Callable[[str], str], skill_url: str) -> None:
    text = fetch(skill_url)
    id_, title, address = re.findall(r"lists `\[(\w+)\] ([^`]+)`\. Fetch (\S+)\. ", text)[0]
    outline = re.findall(r"Fetch the outline, (\S+) ", text)[0]
    section = fetch(address)
    assert f"[{id_}] {title}" in fetch(outline)
    assert f"\n## {title}\n" in section
    cited = re.findall(r"^\[\w+\] (\S+)$", section, re.MULTILINE)[0]
    page, _, anchor = cited.partition("#")
    assert f'id="{anchor}"' in fetch(page)


def test_all_addresses_of_the_skill_respond(sample: Path, fetch: Callable[[str], str], skill_url: str) -> None:
    found = set(re.findall(rf"{read_site_url(sample)}[^\s)`,]*", fetch(skill_url)))
    addresses = {address.rstrip(".") for address in found if "<id>" not in address}
    assert len(addresses) >= 7
    assert all(map(fetch, addresses))
