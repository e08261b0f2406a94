"""Build documentation of packages in several versions, and serve it under the addresses that it has on the web.

    python benchmarks/deps_web.py --data DIR --python PYTHON [--repositories DIR] [--only NAME …]

`deps_web.toml` names the packages, their versions and the form of their sites' addresses. PYTHON has pip, Sphinx, MkDocs
and themes. Sources are sdists, tarballs of npm, bare repositories in DIR/OWNER+NAME/repo, or Debian's packages. What does
not build is reported and left out.
"""

from __future__ import annotations

import argparse
import json
import mimetypes
import os
import re
import shutil
import ssl
import subprocess
import sys
import tarfile
import threading
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

import msgspec
from debian_docs import fetch_package

CONFIG = Path(__file__).with_suffix(".toml")


class Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Form of a host's addresses."""

    prefix: str = ""
    """Folder of the editions, below the URL of the site."""
    aliases: tuple[str, ...] = ()
    """Editions that are the latest one."""
    start: str = ""
    """Edition to which the site's URL and the folder redirect."""
    page: str = ""
    """HTML at the site's URL instead."""
    list: str = ""
    """Path of the list of editions: below the folder, or absolute."""
    text: str = ""
    """Contents of the list; `{items}` are one `item` per edition, with `sep` between them."""
    item: str = ""
    sep: str = ""
    insert: str = ""
    """HTML in each page, after its head."""
    soft404: bool = False
    """Unknown paths get the start page and status 200."""


class Site(msgspec.Struct, frozen=True, eq=False, forbid_unknown_fields=True, rename={"extra": "with"}):
    """Documentation of a package on the web."""

    name: str
    url: str
    form: str
    versions: dict[str, str]
    ecosystem: str = "python"
    docs: str = "docs"
    repository: str = ""
    tag: str = "{version}"
    debian: dict[str, str] = {}
    extra: dict[str, list[str]] = {}
    used: str = ""
    home: str = ""
    """Page of the project with a link to the documentation."""
    moved: str = ""
    """Former URL, which redirects."""
    held_out: bool = False

    @property
    def latest(self) -> str:
        """The latest version with documentation."""
        return list(self.versions)[-1]


class Reply(NamedTuple):
    """Response of a server."""

    status: int
    body: bytes = b""
    type: str = "text/html"
    location: str = ""


class Web:
    """The sites of a folder of built documentation."""

    def __init__(self, data: Path) -> None:
        tables = tomllib.loads(CONFIG.read_text("utf-8"))
        self.forms = msgspec.convert(tables["form"], dict[str, Form])
        self.planned = msgspec.convert(tables["site"], list[Site])
        self.data, self.requests = data, Counter[str]()
        self.sites = [
            msgspec.structs.replace(site, versions=built)
            for site in self.planned
            if (built := {name: at for name, at in site.versions.items() if (data / site.name / name).is_dir()})
        ]

    def hosts(self) -> list[str]:
        """Return the names of all hosts, and of those that a reader may guess: they exist, with other sites or none."""
        urls = (url for site in self.sites for url in (site.url, site.home, site.moved) if url)
        owners = (f"{site.repository.partition('/')[0].lower()}.github.io" for site in self.sites if site.repository)
        guessed = (f"{site.name}.readthedocs.io" for site in self.sites)
        return list(dict.fromkeys((*(urlsplit(url).netloc for url in urls), *owners, *guessed)))

    def find_site(self, url: str) -> Site | None:
        """Return the site of a URL."""
        return next((site for site in self.sites if f"{url}/".startswith(site.url)), None)

    def find_version(self, site: Site, url: str) -> tuple[str, str] | None:
        """Return the version of the site whose page has this URL, and the path below its edition."""
        form = self.forms[site.form]
        editions = {name: version for version, name in site.versions.items()} | dict.fromkeys(form.aliases, site.latest)
        path = unquote(url).removeprefix(site.url + form.prefix)
        name, _, below = path.partition("/") if "" not in editions else ("", "", path)
        return (editions[name], below) if name in editions else None

    def reply(self, url: str) -> Reply:
        """Return the response to a request."""
        self.requests[url] += 1
        url = url.partition("?")[0]
        if urlsplit(url).path == "/robots.txt":
            return Reply(200, b"User-agent: *\nDisallow:\n", "text/plain")
        for one in self.sites:
            if one.moved and f"{url}/".startswith(one.moved):
                return Reply(301, location=one.url)
            if url == one.home:
                return Reply(200, f'<title>{one.name}</title><h1>{one.name}</h1><a href="{one.url}">Docs</a>'.encode())
        site = self.find_site(url)
        found = site and (self._reply_start(site, url) or self._reply_page(site, url))
        if site and not found and self.forms[site.form].soft404:
            return Reply(200, (self.data / site.name / site.latest / "index.html").read_bytes())
        return found or Reply(404, b"<h1>Not found</h1>")

    def _reply_start(self, site: Site, url: str) -> Reply | None:
        """Return the list of editions, or what is at the URLs above them."""
        form = self.forms[site.form]
        base = site.url + form.prefix
        if form.list and url == urljoin(base, form.list):
            return Reply(200, self._fill(site, form.text).encode(), mimetypes.guess_type(url)[0] or "text/html")
        if form.page and url == site.url:
            return Reply(200, form.page.replace("{name}", site.name).encode())
        if form.start and f"{url.removesuffix('/')}/" in (site.url, base):
            return Reply(302, location=base + form.start.format(latest=site.versions[site.latest]))
        return None

    def _reply_page(self, site: Site, url: str) -> Reply | None:
        """Return a file of an edition; HTML has the list of editions that its theme shows."""
        if not (found := self.find_version(site, url)):
            return None
        file = self.data / site.name / found[0] / found[1]
        if file.is_dir() and not url.endswith("/"):
            return Reply(301, location=url + "/")
        file = file / "index.html" if file.is_dir() else file
        if not file.is_file():
            return None
        body = file.read_bytes().replace(
            b"</head>", f"</head>{self._fill(site, self.forms[site.form].insert)}".encode(), 1
        )
        return Reply(200, body, mimetypes.guess_type(file.name)[0] or "application/octet-stream")

    def _fill(self, site: Site, template: str) -> str:
        """Return a template with the site's editions."""
        form = self.forms[site.form]
        names = [(name, version) for version, name in site.versions.items()] + [(name, "") for name in form.aliases]
        values = {"base": site.url + form.prefix}
        items = [_replace(form.item, {**values, "name": name, "version": version or name}) for name, version in names]
        return _replace(template, {**values, "items": form.sep.join(items)})

    def packument(self, name: str) -> Reply:
        """Return what a registry of npm says about a package."""
        site = next((site for site in self.sites if (site.name, site.ecosystem) == (name, "npm")), None)
        if site is None:
            return Reply(404, b"{}", "application/json")
        text = (self.data / ".sources" / f"{name}-{site.latest}" / "package" / "package.json").read_text("utf-8")
        entry = {**json.loads(text), "dist": {"tarball": "http://127.0.0.1/none.tgz", "shasum": "0" * 40}}
        versions = {version: {**entry, "version": version} for version in (*site.versions, site.used) if version}
        body = {"name": name, "dist-tags": {"latest": site.latest}, "versions": versions}
        return Reply(200, json.dumps(body).encode(), "application/json")


def _replace(template: str, values: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], found[0]), template)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    web: Web

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        host = self.headers.get("Host", "")
        if host == "127.0.0.1":
            reply = self.web.packument(self.path[1:])
        elif isinstance(self.connection, ssl.SSLSocket):
            reply = self.web.reply(f"https://{host}{self.path}")
        else:
            reply = Reply(301, location=f"https://{host}{self.path}")
        self.send_response(reply.status)
        if reply.location:
            self.send_header("Location", reply.location)
        self.send_header("Content-Type", reply.type)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)


class _Server(ThreadingHTTPServer):
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None: ...


@contextmanager
def serving(web: Web, certificate: Path) -> Iterator[None]:
    """Serve the sites on ports 80 and 443 of all addresses."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    handler = type("Handler", (_Handler,), {"web": web})
    with _Server(("0.0.0.0", 80), handler) as plain, _Server(("0.0.0.0", 443), handler) as secure:
        # The handshake is part of the first read, which is in the thread of the connection.
        secure.socket = context.wrap_socket(secure.socket, server_side=True, do_handshake_on_connect=False)
        for server in (plain, secure):
            threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        plain.shutdown()
        secure.shutdown()


# Extensions and themes that are not installed are left out; nothing is fetched.
CONF = """
import importlib as _il, importlib.metadata as _im
def _found(name):
    try: return bool(_il.import_module(name))
    except Exception: return False
extensions = [name for name in globals().get("extensions", []) if "intersphinx" not in name and _found(name)]
if globals().get("html_theme", "alabaster") not in _im.entry_points(group="sphinx.html_themes").names:
    html_theme, html_sidebars, html_theme_options, html_theme_path, templates_path = "alabaster", {}, {}, [], []
setup, pygments_style = None, "default"
"""


class Builder(NamedTuple):
    """Builds documentation into DATA/NAME/VERSION, once."""

    data: Path
    python: Path
    repositories: Path

    def build(self, site: Site, version: str) -> None:
        """Build the documentation of a version, and install the package, whose metadata `deps.py` uses."""
        target, html = self.data / site.name / version, self.data / ".html"
        library = self.data / ".libraries" / f"{site.name}-{version}"
        if site.ecosystem == "python" and not library.is_dir():
            names = (f"{site.name}=={version}", *site.extra.get(version, ()))
            self._run(self.python, "-m", "pip", "install", "-q", "--no-deps", "--target", library, *names)
        if target.is_dir():
            return
        shutil.rmtree(html, ignore_errors=True)
        if package := site.debian.get(version):
            folder = fetch_package(package, self.data / ".debian")
            source = min(folder.rglob("index.html"), key=lambda file: len(file.parts)).parent
            shutil.copytree(source, html, symlinks=True)
        elif (docs := self._fetch(site, version) / site.docs).joinpath("conf.py").is_file():
            conf = docs / "conf.py"
            conf.write_text(conf.read_text("utf-8").removesuffix(CONF) + CONF, "utf-8")
            path = os.pathsep.join(map(str, (library, docs.parent, docs)))
            command = (self.python, "-m", "sphinx", "-q", "-b", "html", docs, html)
            self._run(*command, cwd=docs, env={**os.environ, "PYTHONPATH": path})
        else:
            if not (docs / "index.md").is_file():
                (docs / "index.md").write_text(f"# {site.name}\n\nDocumentation of {site.name}.\n", "utf-8")
            settings = {"site_name": site.name, "site_url": site.url, "docs_dir": str(docs), "theme": "material"}
            settings |= {"repo_url": f"https://github.com/{site.repository}"} if site.repository else {}
            (docs.parent / "web.yml").write_text(json.dumps(settings), "utf-8")
            self._run(self.python, "-m", "mkdocs", "build", "-q", "-f", docs.parent / "web.yml", "-d", html)
        if site.form == "manifest":
            url = f"{site.url}{site.versions[version]}/"
            self._run(Path(sys.executable).with_name("roaming"), "index", html, "--url", url, "--name", site.name)
            manifest = json.loads((html / "roaming" / "manifest.json").read_bytes())
            manifest["site"]["version"] = version
            (html / "roaming" / "manifest.json").write_text(json.dumps(manifest), "utf-8")
        target.parent.mkdir(exist_ok=True)
        html.rename(target)

    def _run(self, *command: object, **options: Any) -> None:
        """Run a command. Raises RuntimeError with the end of its output if it fails."""
        arguments = ["nice", *map(str, command)]
        run = subprocess.run(arguments, capture_output=True, text=True, timeout=150, check=False, **options)
        if run.returncode:
            raise RuntimeError((run.stderr or run.stdout)[-400:])

    def _fetch(self, site: Site, version: str) -> Path:
        """Return the folder of the sources."""
        folder = self.data / ".sources" / f"{site.name}-{version}"
        if not folder.is_dir():
            archives = self.data / ".sdists" / f"{site.name}-{version}"
            archives.mkdir(parents=True, exist_ok=True)
            if site.repository:
                bare, tag = self.repositories / site.repository.replace("/", "+"), site.tag.format(version=version)
                self._run(
                    "git", f"--git-dir={bare / 'repo'}", "archive", "--prefix=repo/", "-o", archives / "repo.tar", tag
                )
            elif site.ecosystem == "npm":
                self._run("npm", "pack", "-s", f"{site.name}@{version}", cwd=archives)
            else:
                pip = (
                    self.python,
                    "-m",
                    "pip",
                    "download",
                    "-q",
                    "--no-deps",
                    "--no-build-isolation",
                    "--no-binary",
                    ":all:",
                )
                self._run(*pip, "-d", archives, f"{site.name}=={version}")
            with tarfile.open(next(archives.iterdir())) as archive:
                archive.extractall(folder, filter="data")
        return next(one for one in folder.iterdir() if one.is_dir())


def main() -> None:
    """Build the documentation; report what does not build."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="Folder of the documentation.")
    parser.add_argument("--python", type=Path, required=True, help="Interpreter with Sphinx and MkDocs.")
    parser.add_argument("--repositories", type=Path, default=Path(), help="Folder of bare repositories.")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="Packages (default: all).")
    options = parser.parse_args()
    builder = Builder(options.data.resolve(), options.python.absolute(), options.repositories.resolve())
    for site in Web(builder.data).planned:
        for version in site.versions if not options.only or site.name in options.only else ():
            try:
                builder.build(site, version)
            except (OSError, RuntimeError, subprocess.TimeoutExpired, StopIteration) as error:
                print(f"{site.name} {version}: {str(error)[-400:]}", flush=True)


if __name__ == "__main__":
    main()
