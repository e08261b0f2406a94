"""Score a built site with `afdocs`, a public checker for agent readiness.

    python benchmarks/afdocs.py SITE_DIR [--all] [--rewrite | --serve | --at URL] [-- OPTIONS OF AFDOCS]

Serves SITE_DIR on 127.0.0.1 like a plain static host: content types by file name, `index.html` for folders (a folder's
URL without its slash is redirected), the site's 404.html with status 404, `ETag`, `Last-Modified` and a short
`Cache-Control`; no negotiation by `Accept`. The site is mounted at the path of its own URL, as at its host; all other
paths are missing.

Links in a built site are absolute. The scorer gets the site's own URL (`--canonical-origin`) and follows such links to
the local server. With --rewrite the server replaces the site's URL with its own in HTML, Markdown, text, XML and JSON,
as if the site had been built for it; nothing else in the files changes.

With --serve the server is `roaming serve SITE_DIR --site SITE_DIR`, which negotiates content types; with --at it is a
running server of the same site.

The scorer is run by npx, which downloads it together with a compatible Node. Without npx the score is skipped.
"""

from __future__ import annotations

import argparse
import email.utils
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote, unquote, urlsplit

NPX = ("npx", "-y", "-p", "node@22", "-p", "afdocs", "afdocs", "check")

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".gif": "image/gif",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    ".xml": "application/xml",
}
REWRITTEN = frozenset({".html", ".md", ".txt", ".xml", ".json"})


@dataclass(frozen=True, slots=True)
class StaticResponse:
    """Response of a static host."""

    status: int
    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    location: str = ""
    modified: float = 0.0


def get_response(folder: Path, mount: str, path: str) -> StaticResponse:
    """Return the response of a static host. `mount` is the path of the site, with `/` at both ends."""
    path = unquote(urlsplit(path).path)
    missing = folder / "404.html"
    if path.startswith(mount):
        file = (folder / path[len(mount) :]).resolve()
        if file.is_relative_to(folder.resolve()):
            if file.is_dir() and not path.endswith("/"):
                return StaticResponse(301, location=quote(f"{path}/"))
            file = file / "index.html" if file.is_dir() else file
            if file.is_file() and not (path.endswith("/") and file.name != "index.html"):
                content_type = TYPES.get(file.suffix, "application/octet-stream")
                return StaticResponse(200, file.read_bytes(), content_type, modified=file.stat().st_mtime)
    return StaticResponse(404, missing.read_bytes() if missing.is_file() else b"<h1>Not found</h1>")


def read_site_url(folder: Path) -> str:
    """Return the URL of a site according to its manifest or the canonical link of its home page."""
    manifest = folder / "roaming" / "manifest.json"
    if manifest.is_file():
        return str(json.loads(manifest.read_bytes())["site"]["url"])
    home = (folder / "index.html").read_text("utf-8", "replace") if (folder / "index.html").is_file() else ""
    for tag in re.findall(r"<link\b[^>]*>", home):
        if re.search(r"rel=[\"']?canonical", tag) and (found := re.search(r"href=[\"']?([^\"'\s>]+)", tag)):
            return found[1]
    raise SystemExit(
        f"{folder}: neither the manifest nor the home page contains the URL of the site. Build it with site_url."
    )


@contextmanager
def serve_static(folder: Path, site_url: str, *, rewrite: bool = False) -> Iterator[str]:
    """Serve a site like a static host and yield its local URL."""
    mount = urlsplit(site_url).path.rstrip("/") + "/"

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            response = get_response(folder, mount, self.path)
            body = response.body
            if rewrite and Path(urlsplit(self.path).path).suffix in {*REWRITTEN, ""}:
                body = body.replace(site_url.encode(), local_url.encode())
            etag = f'"{sha256(body).hexdigest()[:16]}"'
            is_unchanged = response.status == 200 and self.headers.get("If-None-Match") == etag
            self.send_response(304 if is_unchanged else response.status)
            if response.location:
                self.send_header("Location", response.location)
            if response.status == 200:
                self.send_header("ETag", etag)
                self.send_header("Last-Modified", email.utils.formatdate(response.modified, usegmt=True))
                self.send_header("Cache-Control", "max-age=600")
            self.send_header("Content-Type", response.content_type)
            self.send_header("Content-Length", "0" if is_unchanged else str(len(body)))
            self.end_headers()
            if self.command == "GET" and not is_unchanged:
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, *args: Any) -> None:
            """Disable the request log."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *args: Any) -> None:
            """Ignore connections that the scorer drops."""

    server = Server(("127.0.0.1", 0), Handler)
    local_url = f"http://127.0.0.1:{server.server_port}{mount}"
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield local_url
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def serve_roaming(folder: Path) -> Iterator[str]:
    """Serve a site with `roaming serve` and yield its local URL."""
    path = str(folder.resolve())
    command = [sys.executable, "-m", "mkdocs_roaming", "serve", path, "--site", path, "--port", "0"]
    process = subprocess.Popen([*command, "--model", "offline"], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    drain = Thread(target=process.stderr.read)  # a full pipe would block the server
    try:
        for line in process.stderr:
            if found := re.search(r"listening on (http://\S+)", line):
                drain.start()
                yield f"{found[1]}/"
                return
        raise SystemExit("`roaming serve` exited before it was listening")
    finally:
        process.terminate()
        process.wait()
        if drain.ident is not None:
            drain.join()
        process.stderr.close()


def run_scorer(local_url: str, canonical: str | None, options: Sequence[str] = ()) -> dict[str, Any]:
    """Run the scorer on a URL and return its report."""
    command = [*NPX, local_url, "--format", "json", "--score", "--fixes", "--sampling", "deterministic", "--quiet"]
    if canonical:
        command += ["--canonical-origin", canonical.rstrip("/")]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    start = done.stdout.find("{")
    if start < 0:
        raise SystemExit(f"afdocs printed no report (exit status {done.returncode}):\n{done.stderr[-2000:]}")
    report: dict[str, Any] = json.loads(done.stdout[start:])
    return report


def format_report(report: dict[str, Any], *, include_passed: bool = False) -> Iterator[str]:
    """Yield the score and each check that did not pass, with its reason."""
    scoring = report.get("scoring", {})
    yield f"{scoring.get('overall', '?')} of 100, grade {scoring.get('grade', '?')}"
    for check in report.get("results", ()):
        if include_passed or check["status"] not in ("pass", "skip"):
            yield f"  {check['status']:5} {check['id']}: {check['message']}"


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site_dir", type=Path)
    parser.add_argument("--all", action="store_true", help="Also print the checks that pass.")
    parser.add_argument(
        "--rewrite", action="store_true", help="Replace the URL of the site with the local one in the served files."
    )
    parser.add_argument("--serve", action="store_true", help="Serve the site with `roaming serve --site`.")
    parser.add_argument("--at", metavar="URL", help="Score the running server at this URL.")
    parser.add_argument("--json", action="store_true", help="Print the report of the scorer as JSON.")
    parser.add_argument("options", nargs="*", help="Options of afdocs, after --.")
    options = parser.parse_args(arguments)
    if shutil.which("npx") is None:
        print("afdocs: skipped, npx not found")
        return 0
    site_url = read_site_url(options.site_dir)
    server: AbstractContextManager[str]
    if options.at:
        server = nullcontext(options.at)
    elif options.serve:
        server = serve_roaming(options.site_dir)
    else:
        server = serve_static(options.site_dir, site_url, rewrite=options.rewrite)
    with server as local_url:
        report = run_scorer(local_url, None if options.rewrite else site_url, options.options)
    if options.json:
        json.dump(report, sys.stdout, indent=1)
    else:
        print("\n".join(format_report(report, include_passed=options.all)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
