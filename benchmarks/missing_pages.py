"""Measure how often the 404 page suggests the right page for a guessed address.

    python benchmarks/missing_pages.py SITE... [--cases 300] [--seed 7] [--show]

SITE is the folder of a published site. Each case changes the path of one of its pages in one or two ways: an ending or
other case, a version or language in front, another folder, a typing error, the slug of the title, another usual word,
joined or underlined words.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.addresses import AddressMatcher, collect_addresses
from mkdocs_roaming.manifest.models import Site

LETTERS = "abcdefghijklmnoprstuvwy"
FOLDERS = ("api", "concepts", "docs", "guide", "guides", "manual", "reference", "tutorial", "usage", "user-guide")
VERSIONS = (
    "0.27.0",
    "1.0",
    "dev",
    "docs",
    "docs/latest",
    "en",
    "en/latest",
    "latest",
    "main",
    "next",
    "stable",
    "v2.1",
)
OTHER_WORDS = {
    "authentication": ("auth", "login"),
    "changelog": ("history", "release-notes", "releases"),
    "config": ("configuration", "settings"),
    "configuration": ("config", "configure", "settings"),
    "contributing": ("contribute", "development"),
    "exceptions": ("errors", "exception"),
    "getting-started": ("first-steps", "quickstart", "start"),
    "install": ("installation", "setup"),
    "installation": ("install", "installing", "setup"),
    "quickstart": ("getting-started", "tutorial"),
    "release-notes": ("changelog", "releases"),
    "testing": ("test", "tests"),
}


class Target(NamedTuple):
    """A page: path without slashes around it, and title."""

    path: str
    title: str


def change_ending(page: Target, chance: random.Random) -> str:
    """Return the path as another generator or a careless reader writes it."""
    path = page.path
    slashes = path.replace("/", "//")
    endings = [path + ending for ending in (".html", ".md", ".mdx", ".htm", "/index.html", "/index.md")]
    return chance.choice([*endings, path.upper(), path.title(), slashes])


def add_version(page: Target, chance: random.Random) -> str:
    """Return the path below a version or language."""
    return f"{chance.choice(VERSIONS)}/{page.path}"


def change_folder(page: Target, chance: random.Random) -> str:
    """Return the last part of the path without its folder, or in another or further one."""
    folder, _, last = page.path.rpartition("/")
    return chance.choice([last, f"{chance.choice(FOLDERS)}/{last}", f"{folder}/{chance.choice(FOLDERS)}/{last}"])


def misspell(page: Target, chance: random.Random) -> str:
    """Return the path with a typing error in its last part, or with a plural for a singular."""
    folder, slash, last = page.path.rpartition("/")
    if chance.random() < 0.3:
        return folder + slash + (last.removesuffix("s") if last.endswith("s") else f"{last}s")
    at = chance.randrange(max(1, len(last) - 1))
    letter = chance.choice(LETTERS)
    exchanged = last[at + 1 : at + 2] + last[at : at + 1]
    typed = chance.choice(["", letter, letter + last[at], exchanged])
    return folder + slash + last[:at] + typed + last[at + (2 if typed == exchanged else 1) :]


def use_title(page: Target, chance: random.Random) -> str:
    """Return the path with the slug of the page's title."""
    folder, slash, _ = page.path.rpartition("/")
    return folder + slash + re.sub(r"\W+", "-", page.title.lower()).strip("-")


def use_other_word(page: Target, chance: random.Random) -> str:
    """Return the path with another usual name of the page, or with a word more or less."""
    folder, slash, last = page.path.rpartition("/")
    words = re.split("[-_]", last)
    if last in OTHER_WORDS:
        return folder + slash + chance.choice(OTHER_WORDS[last])
    if len(words) > 1:
        del words[chance.randrange(len(words))]
    else:
        words.append(chance.choice(["guide", "overview", "usage"]))
    return folder + slash + "-".join(words)


def join_words(page: Target, chance: random.Random) -> str:
    """Return the path with the words of its last part written in another way."""
    folder, slash, last = page.path.rpartition("/")
    words = re.split("[-_]", last)
    camel = "".join(word.title() for word in words)
    return folder + slash + chance.choice(["_".join(words), camel, "".join(words)])


CHANGES: tuple[Callable[[Target, random.Random], str], ...] = (
    change_ending, add_version, change_folder, misspell, use_title, use_other_word, join_words,
)  # fmt: skip


def make_cases(pages: list[Target], count: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """Yield the kind of each case, the guessed path, and the path of the page; half of the cases have two changes."""
    chance = random.Random(seed)
    taken = {page.path.lower() for page in pages}
    while count:
        page, changes = chance.choice(pages), chance.sample(CHANGES, chance.choice([1, 2]))
        guessed = page
        for change in changes:
            guessed = guessed._replace(path=change(guessed, chance))
        if guessed.path.lower().strip("/") not in taken:
            count -= 1
            yield " + ".join(change.__name__ for change in changes), guessed.path, page.path


def measure(folder: Path, count: int, seed: int, *, show: bool) -> tuple[int, int]:
    """Print a line for a site, and return how many cases have the right page first and among the first three."""
    manifest = open_library(folder).manifest
    addresses = collect_addresses(manifest, Site(manifest.site.name, manifest.site.url))
    matcher = AddressMatcher(addresses)
    pages = [Target(page.path.strip("/"), page.title) for page in addresses.pages if page.path.strip("/")]
    first = found = 0
    for kind, guessed, expected in make_cases(pages, count, seed):
        suggested = [page.path.strip("/") for page in matcher.suggest(guessed)]
        first += suggested[:1] == [expected]
        found += expected in suggested[:3]
        if show and expected not in suggested[:3]:
            print(f"  {kind}: {guessed} → {suggested[:3]}, not {expected}")
    print(f"| {folder.name} | {len(pages)} | {first / count:.1%} | {found / count:.1%} |")
    return first, found


def main() -> None:
    """Measure the sites, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", nargs="+", type=Path, metavar="SITE")
    parser.add_argument("--cases", type=int, default=300, help="number of cases of each site")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--show", action="store_true", help="print the cases whose page is not among the first three")
    given = parser.parse_args()
    print("| site | pages | right page first | among the first three |\n| --- | --: | --: | --: |")
    results = [measure(site, given.cases, given.seed, show=given.show) for site in given.sites]
    total = given.cases * len(results)
    first, found = (sum(column) for column in zip(*results, strict=True))
    print(f"| all | | {first / total:.1%} | {found / total:.1%} |")


if __name__ == "__main__":
    main()
