"""Measure `roaming deps` with real metadata and the documentation of `deps_web.py` under its real addresses.

    python benchmarks/deps.py --data DIR [--work DIR] [--keep] [addresses] [results] [questions] [speed]

Needs root on Linux: it runs in a network namespace without any other network, where the names of all sites lead to this
machine. Three projects lock the oldest version of each package, with an environment; the latest one, with an index; and
one without an edition on the site. A fourth one has twenty packages.

  address    packages whose documentation was found on their own site
  edition    packages with an edition of the version in use whose pages are of that version
  latest     packages without such an edition whose pages are of the latest version, and named so
  locks      direct dependencies in the lock files of DIR/../locks, each folder with an expected.json: versions by ecosystem
             and name as the tool that wrote the lock file lists them
  results    of `roaming search --deps` without their package, version and origin
  questions  of `deps_questions.tsv` whose sections are of the version in use and contain the expected text, among five
  speed      CPU of `roaming deps list`, and of the first answer of `roaming mcp --deps`
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import distribution, distributions
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from deps_web import Site, Web, serving
from packaging.utils import canonicalize_name

from roaming_fleet.deps.lockfiles import read_dependencies
from roaming_fleet.deps.project import PackageDocs, data_folder, load_project

QUESTIONS = Path(__file__).with_name("deps_questions.tsv")
WITHOUT = ("iniconfig", "mypy-extensions")
"""Packages that have no documentation."""
PROJECTS = ("old", "new", "between")
WORDS = ("install", "options", "exception", "default value", "deprecated", "class method")
MCP = """\
{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, \
"clientInfo": {"name": "benchmark", "version": "0"}}}
{"jsonrpc": "2.0", "method": "notifications/initialized"}
{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "search_sections", \
"arguments": {"query": "click: option with a default"}}}
"""


def choose_version(site: Site, project: str) -> str:
    """Return the version of a package that a project locks; empty if none."""
    versions = list(site.versions)
    middle = versions[1] if len(versions) > 2 else ""
    return {"old": versions[0], "between": site.used or middle}.get(project, versions[-1])


def read_metadata(libraries: Path, name: str, version: str) -> dict[str, str]:
    """Return the files of a package's `.dist-info`: its own, or those of another version with this number."""
    folders = [f"{libraries}/{name}-{version}", *map(str, sorted(libraries.glob(f"{name}-*"), reverse=True))]
    found = (one for one in distributions(path=folders) if canonicalize_name(one.metadata["Name"]) == name)
    own = next(found, None) or distribution(name)
    files = {file: text for file in ("METADATA", "RECORD", "top_level.txt") if (text := own.read_text(file))}
    return {**files, "METADATA": re.sub(r"(?m)^Version: .*$", f"Version: {version}", files["METADATA"], count=1)}


def run_process(command: Sequence[str], input_: str = "", **options: Any) -> tuple[str, float]:
    """Return the output of a process and its CPU seconds; with input, up to the answer to the second request."""
    before, lines = resource.getrusage(resource.RUSAGE_CHILDREN), list[str]()
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, **options) as process:
        assert process.stdin
        process.stdin.write(input_)
        process.stdin.flush()
        for line in process.stdout or ():
            lines.append(line)
            if input_ and '"id":2' in line:
                break
        process.stdin.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return "".join(lines), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Bench:
    """The projects of a folder, and the commands that run in them."""

    def __init__(self, web: Web, work: Path) -> None:
        self.web, self.work = web, work
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "VIRTUAL_ENV"))}
        environ |= {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": str(work / "wheels")}
        self.environ = {**environ, "ROAMING_DATA_DIR": str(work / "data"), "npm_config_registry": "http://127.0.0.1/"}

    def write_project(self, project: str) -> None:
        """Write the lock files of a project, and the metadata of its packages."""
        root, wheels, environment = self.work / project, self.work / "wheels", ".venv/lib/python3.11/site-packages"
        locked = [(site, version) for site in self.web.sites if (version := choose_version(site, project))]
        python = {site.name: version for site, version in locked if site.ecosystem == "python"}
        npm = {site.name: version for site, version in locked if site.ecosystem == "npm"}
        if project == "twenty":
            python, npm = dict(list(python.items())[:20]), {}
        else:
            python |= {name: distribution(name).version for name in WITHOUT}
        for folder in (root / environment, wheels):
            folder.mkdir(parents=True, exist_ok=True)
        names = ", ".join(f'{{ name = "{name}" }}' for name in python)
        text = f'version = 1\n[[package]]\nname = "app"\nsource = {{ virtual = "." }}\ndependencies = [{names}]\n'
        text += "".join(f'[[package]]\nname = "{name}"\nversion = "{version}"\n' for name, version in python.items())
        (root / "uv.lock").write_text(text, "utf-8")
        modules = {f"node_modules/{name}": {"version": version} for name, version in npm.items()}
        lock = {"lockfileVersion": 3, "packages": {"": {"dependencies": npm}, **modules}}
        (root / "package-lock.json").write_text(json.dumps(lock), "utf-8")
        for name, version in python.items():
            stem = f"{name.replace('-', '_')}-{version}"
            files = read_metadata(self.web.data / ".libraries", name, version)
            files["WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            with ZipFile(wheels / f"{stem}-py3-none-any.whl", "w") as archive:
                for file, text in files.items():
                    archive.writestr(f"{stem}.dist-info/{file}", text)
                if project in ("old", "twenty"):
                    archive.extractall(root / environment)

    def run(self, project: str, *arguments: str, input_: str = "") -> tuple[str, float]:
        """Return the output of a command in a project and its CPU seconds."""
        command = [str(Path(sys.executable).with_name("roaming")), *arguments]
        return run_process(command, input_, cwd=self.work / project, env=self.environ)

    def packages(self, project: str) -> dict[str, PackageDocs]:
        """Return what the last sync found."""
        found = load_project(data_folder(self.environ), self.work / project)
        return {canonicalize_name(package.info.name): package for package in found.packages} if found else {}

    def search(self, project: str, words: str) -> list[tuple[str, dict[str, str]]]:
        """Return ids and packages of the first five results."""
        found = json.loads(self.run(project, "search", "--deps", "--json", "--limit", "5", words)[0] or "[]")
        results = found["results"] if isinstance(found, dict) else found
        return [(one["id"], one.get("package") or {"name": ""}) for one in results]

    def check_package(self, site: Site, version: str, docs: PackageDocs | None) -> tuple[str, str, str]:
        """Return whether a package has an edition, what is wrong with its address, and with its version."""
        measure = "edition" if version in site.versions and site.form != "plain" else "latest"
        if not docs or self.web.find_site(docs.url) != site:
            return measure, (docs.url or docs.why) if docs else "not in the project", "address"
        expected = version if measure == "edition" else site.latest
        is_right = bool(docs.place) and (self.web.find_version(site, docs.url) or ("",))[0] == expected
        is_named = (docs.info.origin == "latest") == (measure == "latest") and docs.info.used == version
        found = f"{docs.info.origin} {docs.info.documented} {docs.url} {docs.why}"
        return measure, "", "" if is_right and is_named else found

    def measure_addresses(self) -> Iterator[str]:
        """Sync all projects. Yield a line per project and per fault."""
        for project in (*PROJECTS, "twenty"):
            self.web.requests.clear()
            started, good, total = time.monotonic(), Counter[str](), Counter[str]()
            _, cpu = self.run(project, "deps", "sync", "--at-once", "8", "--delay", "0")
            seconds, packages = time.monotonic() - started, self.packages(project)
            for site in self.web.sites if project != "twenty" else ():
                if not (version := choose_version(site, project)):
                    continue
                measure, address, edition = self.check_package(site, version, packages.get(site.name))
                for name, wrong in (("address", address), (measure, edition), ("held out", edition)):
                    counts = name != "held out" or site.held_out
                    total[name], good[name] = total[name] + counts, good[name] + (counts and not wrong)
                if edition:
                    yield f"{project}: {site.name} {version}: {measure}: {address or edition}"
            without = [packages[name] for name in WITHOUT if name in packages]
            yield from (f"{project}: {one.info.name}: has none: {one.url}" for one in without if one.place)
            measures = "".join(f", {name} {good[name]}/{total[name]}" for name in total)
            requests = self.web.requests.total()
            yield f"{project}: {len(packages)} packages{measures}; {seconds:.0f} s, {cpu:.0f} s CPU, {requests} requests"

    def measure_locks(self) -> Iterator[str]:
        """Yield how many direct dependencies of public projects are read as by the tools that wrote the lock files."""
        for file in sorted((self.web.data.parent / "locks").glob("*/expected.json")):
            kinds = json.loads(file.read_bytes())
            expected = {(kind, name): versions for kind in kinds for name, versions in kinds[kind].items()}
            dependencies, _ = read_dependencies(file.parent, installed={})
            direct = {(one.ecosystem, one.name): one.version for one in dependencies if one.direct}
            wrong = [name for name in expected.keys() | direct.keys() if direct.get(name) not in expected.get(name, ())]
            yield f"{file.parent.name}: {len(expected)} direct dependencies; wrong: {wrong[:5]}"

    def measure_results(self) -> Iterator[str]:
        """Search each project. Yield the number of results, and those without a version."""
        total, unlabelled = 0, []
        for project in PROJECTS:
            packages = self.packages(project)
            for words in (*WORDS, *(f"{name}: {WORDS[0]}" for name, docs in packages.items() if docs.place)):
                for id_, info in self.search(project, words):
                    total += 1
                    docs = packages.get(canonicalize_name(info["name"]))
                    if not docs or (info["used"], info["origin"]) != (docs.info.used, docs.info.origin):
                        unlabelled.append(f"{project}: {words}: {id_} {info}")
        yield from (*unlabelled[:10], f"{total} results, {len(unlabelled)} without version")

    def ask(self, package: str, version: str, question: str, expected: str) -> tuple[bool, bool]:
        """Return whether all sections are of the version, and whether one contains the expected text."""
        sites = [site for site in self.web.sites if site.name == package]
        project = next(name for name in PROJECTS for site in sites if choose_version(site, name) == version)
        results = [one for one in self.search(project, question) if canonicalize_name(one[1]["name"]) == package]
        text = self.run(project, "expand", "--deps", *(id_ for id_, _ in results))[0] if results else ""
        right = all(info["used"] == version and info["origin"] != "latest" for _, info in results)
        return bool(results) and right, expected in " ".join(text.split())

    def measure_questions(self) -> Iterator[str]:
        """Yield the questions that are not answered as expected, and the sums."""
        with QUESTIONS.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        sums = Counter[str]()
        for package, locked, other, question, expected in rows:
            right, found = self.ask(package, locked, question, expected)
            _, elsewhere = self.ask(package, other, question, expected)
            sums.update(of_the_version=right, with_the_text=found, other_version_without_it=not elsewhere)
            if not (right and found) or elsewhere:
                yield f"{package} {locked}: {question}: {right=} {found=} {elsewhere=}"
        yield f"{len(rows)} questions: {dict(sums)}"

    def measure_speed(self) -> Iterator[str]:
        """Yield CPU seconds, the best of five, and those of the library of MCP alone."""
        listed = min(self.run("twenty", "deps", "list")[1] for _ in range(5))
        answered = min(self.run("twenty", "mcp", "--deps", input_=MCP)[1] for _ in range(5))
        library = min(run_process([sys.executable, "-c", "import mcp.server"])[1] for _ in range(5))
        yield f"deps list {listed:.2f} s CPU; first answer of mcp {answered:.2f} s CPU, of it import mcp.server {library:.2f}"


def enter_namespace(web: Web, work: Path) -> Path:
    """Let all names of sites lead to this machine. Return the certificate with its key, which this machine trusts."""
    hosts = [*web.hosts(), *(f"{name}.readthedocs.io" for name in WITHOUT)]
    lines = (f"44.0.{at // 200 + 1}.{at % 200 + 1} {host}\n" for at, host in enumerate(hosts))
    (work / "nsswitch.conf").write_text("hosts: files\n", "utf-8")
    (work / "hosts").write_text("".join(("127.0.0.1 localhost\n", *lines)), "utf-8")
    names = ",".join(f"DNS:{host}" for host in hosts)
    options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=benchmark -addext"
    files = ("-keyout", work / "key.pem", "-out", work / "authority.pem")
    subprocess.run(["openssl", *options.split(), f"subjectAltName={names}", *files], check=True, capture_output=True)
    (work / "server.pem").write_bytes((work / "key.pem").read_bytes() + (work / "authority.pem").read_bytes())
    for command in (
        "ip link set lo up",
        "ip route add local 44.0.0.0/8 dev lo",
        f"mount --bind {work / 'hosts'} /etc/hosts",
        f"mount --bind {work / 'nsswitch.conf'} /etc/nsswitch.conf",
        f"mount --bind {work / 'authority.pem'} /etc/ssl/certs/ca-certificates.crt",
    ):
        subprocess.run(command.split(), check=True)
    return work / "server.pem"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="Folder of the documentation.")
    parser.add_argument("--work", type=Path, help="Folder of the projects and the store (default: DATA/.work).")
    parser.add_argument("--keep", action="store_true", help="Keep the store of an earlier run.")
    parser.add_argument("what", nargs="*", help="Measures (default: all).")
    options = parser.parse_args()
    if "ROAMING_BENCHMARK_NAMESPACE" not in os.environ:
        os.environ["ROAMING_BENCHMARK_NAMESPACE"] = "1"
        os.execvp("unshare", ["unshare", "-mn", sys.executable, *sys.argv])
    web, work = Web(options.data.resolve()), (options.work or options.data / ".work").resolve()
    if not options.keep:
        shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    with serving(web, enter_namespace(web, work)):
        bench = Bench(web, work)
        for project in (*PROJECTS, "twenty"):
            bench.write_project(project)
        for what in options.what or ("locks", "addresses", "results", "questions", "speed"):
            for line in getattr(bench, f"measure_{what}")():
                print(line, flush=True)


if __name__ == "__main__":
    main()
