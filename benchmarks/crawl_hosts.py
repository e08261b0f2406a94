"""Sites to crawl, made up or built, and a quick host for them: nginx where it is installed, else Starlette.

    python benchmarks/crawl_hosts.py FOLDER PAGES

writes a made-up site. Its pages are HTML as a theme writes it: a nav of the page's own group, an article of a few
sections with prose, lists, code and links, and some kilobytes of head and foot. Words follow Zipf's law; each page has
names of its own, as an API has.
"""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

GROUP = 50
"""The pages of one group of the nav."""


def make(folder: Path, pages: int, sections: int = 6) -> None:
    """Write a site of as many pages, with a sitemap; the same numbers give the same site."""
    draw = random.Random(17)
    words = ["".join(draw.choice(_SYLLABLES) for _ in range(draw.choice((1, 2, 2, 3)))) for _ in range(20_000)]
    weights = list(accumulate(1 / (rank + 2) for rank in range(len(words))))
    for at in range(pages):
        file = folder / path_of(at) / "index.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        draw = random.Random(at)
        told = iter(draw.choices(words, cum_weights=weights, k=sections * 150))
        file.write_text(_page(at, pages, sections, draw, told), "utf-8")
    (folder / "sitemap.xml").write_text(
        '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        + "".join(f"<url><loc>@URL@{path_of(at)}</loc></url>\n" for at in range(pages))
        + "</urlset>",
        "utf-8",
    )


def path_of(at: int) -> str:
    """Give a page's path; the first is the home page."""
    return f"group-{at // GROUP}/page-{at}/" if at else ""


@dataclass(frozen=True, slots=True)
class Host:
    """A site that is served, and what it was asked."""

    url: str
    log: Path

    def asked(self) -> tuple[int, int]:
        """Give how many requests were answered, and with how many bytes."""
        time.sleep(0.1)
        sizes = [int(line) for line in self.log.read_text("utf-8").split()] if self.log.exists() else []
        return len(sizes), sum(sizes)


@contextmanager
def hosted(folder: Path) -> Iterator[Host]:
    """Serve a folder on this machine, with ETags and without delay."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}/"
    with tempfile.TemporaryDirectory(prefix="host-") as name:
        below = Path(name)
        below.chmod(0o755)
        site = below / "site"
        shutil.copytree(folder, site)
        site.chmod(0o755)  # nginx reads as nobody
        sitemap = site / "sitemap.xml"
        if sitemap.exists():
            sitemap.write_text(sitemap.read_text("utf-8").replace("@URL@", url), "utf-8")
        server = subprocess.Popen(_command(below, site, port), stderr=subprocess.DEVNULL)
        try:
            _wait(url)
            yield Host(url, below / "access.log")
        finally:
            server.terminate()
            server.wait()


def _command(below: Path, site: Path, port: int) -> list[str]:
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/local/bin:/usr/bin")
    if nginx is None:
        return [sys.executable, __file__, "--serve", str(site), str(port), str(below / "access.log")]
    (below / "nginx.conf").write_text(
        f"daemon off; worker_processes 1; pid {below}/pid; error_log /dev/null;\n"
        f"events {{}} http {{ log_format bytes '$body_bytes_sent'; access_log {below}/access.log bytes;\n"
        "types { text/html html; text/css css; application/javascript js; image/svg+xml svg; image/png png;\n"
        "  application/json json; text/xml xml; text/markdown md; text/plain txt; } default_type text/markdown;\n"
        "charset utf-8; charset_types text/html text/markdown text/plain; keepalive_requests 1000000;\n"
        "tcp_nodelay on; sendfile on; open_file_cache max=100000;\n"
        f"client_body_temp_path {below}/a; proxy_temp_path {below}/b; fastcgi_temp_path {below}/c;\n"
        f"uwsgi_temp_path {below}/d; scgi_temp_path {below}/e;\n"
        f"server {{ listen 127.0.0.1:{port}; root {site}; index index.html; }} }}\n",
        "utf-8",
    )
    return [nginx, "-c", str(below / "nginx.conf")]


def _serve(site: str, port: int, log: Path) -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Mount
    from starlette.staticfiles import StaticFiles
    from starlette.types import Message, Receive, Scope, Send

    inner = Starlette(routes=[Mount("/", StaticFiles(directory=site, html=True))])
    file = log.open("a", buffering=1)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        size = 0

        async def counted(message: Message) -> None:
            nonlocal size
            size += len(message.get("body", b""))
            await send(message)

        await inner(scope, receive, counted)
        if scope["type"] == "http":
            file.write(f"{size}\n")

    uvicorn.run(app, port=port, log_level="error", access_log=False)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _wait(url: str) -> None:
    for _ in range(200):
        try:
            urllib.request.urlopen(url, timeout=5).read()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("the host does not answer")


def _page(at: int, pages: int, sections: int, draw: random.Random, told: Iterator[str]) -> str:
    def some(count: int) -> str:
        return " ".join(next(told) for _ in range(count))

    own = f"{some(1).title()}{some(1).title()}{at}"
    start = at - at % GROUP
    nav = "".join(
        f'<li class="md-nav__item"><a class="md-nav__link" href="/{path_of(to)}"><span>Page {to}</span></a></li>\n'
        for to in range(start, min(start + GROUP, pages))
    )
    groups = "".join(
        f'<li class="md-nav__item"><a class="md-nav__link" href="/{path_of(to)}"><span>Group</span></a></li>\n'
        for to in range(0, min(pages, 10 * GROUP), GROUP)
    )
    body = [f'<h1 id="{own.lower()}">{own}</h1>\n<p>{some(40).capitalize()}.</p>']
    for section in range(1, sections):
        other = draw.randrange(pages)
        level = 2 if section % 3 else 3
        body.append(
            f'<h{level} id="part-{section}">{some(3).capitalize()} <code>{own}.{next(told)}</code>'
            f'<a class="headerlink" href="#part-{section}">¶</a></h{level}>\n'
            f'<p>{some(45).capitalize()}, see <a href="/{path_of(other)}">{some(2)}</a> and '
            f"<code>{some(1)}_{at}</code>.</p>\n"
            f"<ul><li>{some(8)}</li><li><strong>{some(1)}</strong> {some(8)}</li></ul>\n"
            f'<div class="language-yaml highlight"><pre><span></span><code><span class="nt">{some(1)}</span>:\n'
            f'  <span class="nt">{some(1)}</span>: {section}\n</code></pre></div>'
        )
    article = "\n".join(body)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{own} - Made up</title>'
        f'<meta name="description" content="{some(12)}">{_HEAD}</head><body>'
        f'<nav class="md-nav md-nav--primary"><ul>{groups}{nav}</ul></nav>'
        f'<main><article class="md-content__inner md-typeset">\n{article}\n</article></main>'
        f"<footer>{_FOOT}</footer></body></html>\n"
    )


_SYLLABLES = [first + vowel for first in ("st", "tr", *"bdfgklmnprstvz") for vowel in "aeiou"]
_HEAD = "".join(
    f'<link rel="stylesheet" href="/assets/{at}.css"><script src="/assets/{at}.js"></script>' for at in range(20)
)
_FOOT = "<p>Made with nothing but a loop.</p>" * 20


def main(arguments: list[str]) -> None:
    """Write a site, or serve one."""
    if arguments[0] == "--serve":
        _serve(arguments[1], int(arguments[2]), Path(arguments[3]))
    else:
        make(Path(arguments[0]), int(arguments[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
