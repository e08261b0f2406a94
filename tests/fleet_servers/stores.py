"""Stores for tests: crawled from built sites, or written directly."""

from __future__ import annotations

import json
import time
import tomllib
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from mkdocs_roaming.cli import main
from mkdocs_roaming.library.targets import library_from_markdown
from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from roaming_fleet.catalog import update_catalog
from roaming_fleet.folder import StoreFolder
from roaming_fleet.records import SiteRecord, make_catalog_entry, write_record

TODAY = time.strftime("%Y-%m-%d", time.gmtime())
LONG_NAME = "l" + "o" * 98 + "g"
SITES: dict[str, dict[str, list[str]]] = {
    **tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")),
    LONG_NAME: {
        "Archive": [
            "The archive holds letters.",
            *(text for at in range(400) for text in (f"Letter {at}", f"Letter {at} tells of the sea. " * 12)),
        ]
    },
}


def write_site(folder: Path, pages: dict[str, list[str]]) -> None:
    """Write a built site of titles, texts and headings."""
    for at, (title, message) in enumerate(pages.items()):
        place = folder / ("" if at == 0 else title.lower())
        place.mkdir(parents=True, exist_ok=True)
        up = "" if at == 0 else "../"
        links = "".join(f'<a href="{up}{other.lower()}/">{other}</a>' for other in list(pages)[1:])
        body = "".join(
            f"<p>{text}</p>" if odd % 2 == 0 else f'<h2 id="{text.lower().replace(" ", "-")}">{text}</h2>'
            for odd, text in enumerate(message)
        )
        (place / "index.html").write_text(
            f"<!doctype html><html lang=en><head><title>{title}</title></head><body><nav>{links}</nav>"
            f"<main><h1>{title}</h1>{body}</main></body></html>",
            "utf-8",
        )


def crawl_sites(root: Path, *more: str) -> Result:
    listing = root / "sites.txt"
    listing.write_text("".join(f"{root / 'built' / name[:20]} {name}\n" for name in SITES), "utf-8")
    done = CliRunner().invoke(main, ["crawl", "--many", str(listing), "-o", str(root / "store"), *more])
    assert done.exit_code == 0, done.stderr
    return done


def make_store(root: Path) -> Path:
    """Crawl the sites into a store."""
    for name, pages in SITES.items():
        write_site(root / "built" / name[:20], pages)
    crawl_sites(root)
    return root / "store"


def add_site(root: Path, key: str, markdown: str, name: str, url: str, **message: Any) -> None:
    """Add a site to a store; keyword arguments change its manifest."""
    bucket = StoreFolder(root)
    library = library_from_markdown(markdown, name="Site", url=url)
    data = json.loads(library.file(MANIFEST_PATH))
    data["site"] |= {"name": name, **message.get("site", {})}
    for page in data["pages"]:
        page |= message.get("page", {})
        for section in page["sections"]:
            section |= message.get("section", {})
    data |= message.get("manifest", {})
    published = json.dumps(data).encode()
    bucket.put(f"{key}/{MANIFEST_PATH}", published)
    for page in library.manifest.pages:
        bucket.put(f"{key}/{page.markdown}", library.file(page.markdown))
    entry = make_catalog_entry(key, load_manifest(published), time.time())
    write_record(bucket, SiteRecord(key, url, "done", "1", "run", time.time(), result="new", entry=entry))
    update_catalog(bucket)
