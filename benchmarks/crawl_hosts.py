"""Generate sites to crawl, and host sites locally with nginx.

A generated site resembles that of a theme: a nav of the page's group, an article of sections with
prose, lists, code and links, and a head and footer of several kilobytes. Words follow Zipf's law, and each page has
unique names, like an API.
"""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

GROUP = 50
"""Pages per group, to which the nav of a page links."""


def write_site(folder: Path, pages: int, *, sections: int = 6, group: int = GROUP) -> None:
    """Write a reproducible site of generated pages with a sitemap."""
    paths = [f"group-{number // group}/page-{number}/" if number else "" for number in range(pages)]
    rng = random.Random(17)
    words = ["".join(rng.choice(_SYLLABLES) for _ in range(rng.choice((1, 2, 2, 3)))) for _ in range(20_000)]
    weights = list(accumulate(1 / (rank + 2) for rank in range(len(words))))
    for number in range(pages):
        file = folder / paths[number] / "index.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        rng = random.Random(number)
        page_words = iter(rng.choices(words, cum_weights=weights, k=sections * 150))
        file.write_text(_page(number, paths, group, sections, rng, page_words), "utf-8")
    (folder / "sitemap.xml").write_text(
        '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        + "".join(f"<url><loc>@URL@{path}</loc></url>\n" for path in paths)
        + "</urlset>",
        "utf-8",
    )


@dataclass(frozen=True, slots=True)
class Host:
    """A hosted site and its access log."""

    url: str
    log: Path

    def count_requests(self) -> int:
        """Return the number of responses."""
        time.sleep(0.1)
        return len(self.log.read_text("utf-8").split()) if self.log.exists() else 0


@contextmanager
def host_site(folder: Path) -> Iterator[Host]:
    """Serve a folder locally with ETags and without delay."""
    port = find_free_port()
    url = f"http://127.0.0.1:{port}/"
    with tempfile.TemporaryDirectory(prefix="host-") as name:
        work_folder = Path(name)
        work_folder.chmod(0o755)
        site = work_folder / "site"
        shutil.copytree(folder, site)
        site.chmod(0o755)  # the user of nginx is nobody
        sitemap = site / "sitemap.xml"
        if sitemap.exists():
            sitemap.write_text(sitemap.read_text("utf-8").replace("@URL@", url), "utf-8")
        server = subprocess.Popen(_command(work_folder, site, port), stderr=subprocess.DEVNULL)
        try:
            _wait(url)
            yield Host(url, work_folder / "access.log")
        finally:
            server.terminate()
            server.wait()


def _command(work_folder: Path, site: Path, port: int) -> list[str]:
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/local/bin:/usr/bin")
    if nginx is None:
        raise SystemExit("nginx is missing. Install it, for example with: apt-get install nginx-light")
    (work_folder / "nginx.conf").write_text(
        f"daemon off; worker_processes 1; pid {work_folder}/pid; error_log /dev/null;\n"
        f"events {{}} http {{ log_format bytes '$body_bytes_sent'; access_log {work_folder}/access.log bytes;\n"
        "types { text/html html; text/css css; application/javascript js; image/svg+xml svg; image/png png;\n"
        "  application/json json; text/xml xml; text/markdown md; text/plain txt; } default_type text/markdown;\n"
        "charset utf-8; charset_types text/html text/markdown text/plain; keepalive_requests 1000000;\n"
        "tcp_nodelay on; sendfile on; open_file_cache max=100000;\n"
        f"client_body_temp_path {work_folder}/a; proxy_temp_path {work_folder}/b; fastcgi_temp_path {work_folder}/c;\n"
        f"uwsgi_temp_path {work_folder}/d; scgi_temp_path {work_folder}/e;\n"
        f"server {{ listen 127.0.0.1:{port}; root {site}; index index.html; }} }}\n",
        "utf-8",
    )
    return [nginx, "-c", str(work_folder / "nginx.conf")]


def find_free_port() -> int:
    """Return a port on which no local server listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(url: str) -> None:
    for _ in range(200):
        try:
            urllib.request.urlopen(url, timeout=5).read()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("the local host does not respond")


def _page(
    number: int, paths: Sequence[str], group: int, sections: int, rng: random.Random, page_words: Iterator[str]
) -> str:
    def take_words(count: int) -> str:
        return " ".join(next(page_words) for _ in range(count))

    name = f"{take_words(1).title()}{take_words(1).title()}{number}"
    start = number - number % group
    nav = "".join(
        f'<li class="md-nav__item"><a class="md-nav__link" href="/{paths[target]}"><span>Page {target}</span></a></li>\n'
        for target in range(start, min(start + group, len(paths)))
    )
    groups = "".join(
        f'<li class="md-nav__item"><a class="md-nav__link" href="/{paths[target]}"><span>Group</span></a></li>\n'
        for target in range(0, min(len(paths), 10 * group), group)
    )
    body = [f'<h1 id="{name.lower()}">{name}</h1>\n<p>{take_words(40).capitalize()}.</p>']
    for section in range(1, sections):
        linked = rng.randrange(len(paths))
        level = 2 if section % 3 else 3
        body.append(
            f'<h{level} id="part-{section}">{take_words(3).capitalize()} <code>{name}.{next(page_words)}</code>'
            f'<a class="headerlink" href="#part-{section}">¶</a></h{level}>\n'
            f'<p>{take_words(45).capitalize()}, see <a href="/{paths[linked]}">{take_words(2)}</a> and '
            f"<code>{take_words(1)}_{number}</code>.</p>\n"
            f"<ul><li>{take_words(8)}</li><li><strong>{take_words(1)}</strong> {take_words(8)}</li></ul>\n"
            f'<div class="language-yaml highlight"><pre><span></span><code><span class="nt">{take_words(1)}</span>:\n'
            f'  <span class="nt">{take_words(1)}</span>: {section}\n</code></pre></div>'
        )
    article = "\n".join(body)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{name} - Made up</title>'
        f'<meta name="description" content="{take_words(12)}">{_HEAD}</head><body>'
        f'<nav class="md-nav md-nav--primary"><ul>{groups}{nav}</ul></nav>'
        f'<main><article class="md-content__inner md-typeset">\n{article}\n</article></main>'
        f"<footer>{_FOOT}</footer></body></html>\n"
    )


_SYLLABLES = [first + vowel for first in ("st", "tr", *"bdfgklmnprstvz") for vowel in "aeiou"]
_HEAD = "".join(
    f'<link rel="stylesheet" href="/assets/{at}.css"><script src="/assets/{at}.js"></script>' for at in range(20)
)
_FOOT = "<p>Made with nothing but a loop.</p>" * 20
