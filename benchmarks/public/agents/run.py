"""Give twenty small tasks to coding agents that do not know the libraries, and check what they write.

    pip install mkdocs-material mkdocs-llmstxt zensical
    python -m benchmarks.public.agents.run prepare FOLDER [--conditions mcp …] [--tasks 5] [--limit TOKENS]
    cd FOLDER/agents/NAME && YOUR_AGENT "$(cat PROMPT.md)"     # for each NAME, each time with an empty context
    python -m benchmarks.public.agents.run report FOLDER … [--agent "name and version"] [--record]

Ten tasks are about Ebbkeeper's Python client (the sample site), ten about quern, a library that was written for this
benchmark; no model has seen either. An agent gets five tasks of one library in one condition, one after another: it
reads with the command `./agent`, which records what it reads, and submits each task once, without running it. A program
then checks what the solution does.

Recorded are, for each task, whether the solution is right, the requests (documents fetched or tools called), the tokens
that were read (a quarter of the characters, with the index of AGENTS.md or the descriptions of the tools once for each
agent; an agent that has read a page for one task needs not read it for the next, so the figures of first tasks are
given, too), and names that the solution uses although neither the library nor Python has them.
"""

from __future__ import annotations

import argparse
import shlex
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct

from ..corpus import Checkout, read_checkout
from ..methods import CHARS_PER_TOKEN, count_tokens
from .documentation import CONDITIONS, CONFIGS, ROOT, Condition, Documentation, build, call_tool, read
from .names import find_invented
from .report import FILE, AgentRecord, Outcome, iter_tables
from .tasks import Task, find_tasks

TASKS = 5
PROMPT = """\
You are a coding agent. Solve {count} tasks with the Python package `{library}`, one after another.

- `./agent task` prints the task. Write the solution into a file in this folder, then run `./agent submit FILE`. The first
  submission counts; then `./agent task` prints the next one.
- A solution may use the package and the standard library. The package is not installed here: do not run the solution, and
  open nothing outside of this folder.
- {documentation}
"""
LIMIT = (
    "You may read {limit:,} tokens of the documentation for all tasks together; four characters are a token. What comes "
    "with these rules counts, and each document shows how many are left. Choose what you open.\n- "
)
TEXTS: dict[Condition, str] = {
    "nothing": "There is no documentation. Write what is most likely right.",
    "AGENTS.md": "`./agent get URL` prints the document at an address of the documentation; no other program reads it. This is "
    "the project's AGENTS.md:\n\n{index}",
    "mcp": "The documentation has an MCP server, whose tools follow. `./agent call TOOL 'ARGUMENTS AS JSON'` calls one; no other "
    "program reads the documentation.\n\n{index}",
}
LLMS_TXT = (
    "The documentation is at {url}, with {url}llms.txt for agents. `./agent get URL` prints the document at an address "
    "of it; no other program reads it."
)


class Setup(Struct, frozen=True):
    """What an agent is given.

    Attributes:
        library: The library.
        tasks: The names of the tasks.
        documentation: The documentation.
        checkout: The commit of this repository that made it.
        limit: How many tokens of it may be read; 0 without a limit.
    """

    library: str
    tasks: tuple[str, ...]
    documentation: Documentation
    checkout: Checkout
    limit: int = 0


class Event(Struct, frozen=True, omit_defaults=True):
    """Something that an agent did.

    Attributes:
        kind: A document, a tool's result, or a solution.
        task: The task that it was working on.
        what: The address, the tool, or the file.
        tokens: The tokens that it read.
    """

    kind: Literal["get", "call", "submit"]
    task: str
    what: str
    tokens: int = 0


class Session:
    """The work of one agent.

    Args:
        folder: The folder with its state, which the agent does not see.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log.jsonl"
        self.setup = msgspec.json.decode((folder / "setup.json").read_bytes(), type=Setup)
        self._tasks = {task.name: task for task in find_tasks() if task.library == self.setup.library}

    @classmethod
    def create(cls, root: Path, name: str, setup: Setup) -> None:
        """Write the state of an agent, and the folder that it works in."""
        state, own = root / "state" / name, root / "agents" / name
        state.mkdir(parents=True)
        own.mkdir(parents=True)
        (state / "setup.json").write_bytes(msgspec.json.encode(setup))
        docs = setup.documentation
        text = TEXTS.get(docs.condition, LLMS_TXT).format(index=docs.index, url=docs.url)
        text = (LIMIT.format(limit=setup.limit) if setup.limit else "") + text
        prompt = PROMPT.format(count=len(setup.tasks), library=setup.library, documentation=text)
        (own / "PROMPT.md").write_text(prompt, "utf-8")
        program = own / "agent"
        command = shlex.join([sys.executable, "-m", "benchmarks.public.agents.run", "do", str(state.resolve())])
        program.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {command} "$@"\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    @property
    def events(self) -> list[Event]:
        """What the agent has done."""
        lines = self.log.read_bytes().splitlines() if self.log.exists() else []
        return [msgspec.json.decode(line, type=Event) for line in lines]

    @property
    def task(self) -> Task | None:
        """The task that the agent is working on; None after the last one."""
        done = {event.task for event in self.events if event.kind == "submit"}
        return next((self._tasks[name] for name in self.setup.tasks if name not in done), None)

    def do(self, action: str, arguments: Sequence[str]) -> str:
        """Carry out a command of the agent, record it, and return what it prints."""
        task, docs = self.task, self.setup.documentation
        if task is None:
            return "All tasks are done."
        match action, arguments:
            case "task", []:
                return task.read_statement()
            case "get", [url]:
                text = self._read("get", task.name, url, lambda: read(docs, url))
            case "call", [tool, json] if (given := _parse(json)) is not None:
                text = self._read("call", task.name, f"{tool} {json}", lambda: call_tool(docs, tool, given))
            case "submit", [file] if Path(file).is_file():
                (self.folder / f"{task.name}.py").write_bytes(Path(file).read_bytes())
                self._add(Event("submit", task.name, file))
                text = "Submitted. `./agent task` prints the next task." if self.task else "All tasks are done."
            case _:
                text = "usage: ./agent task | get URL | call TOOL 'JSON OBJECT' | submit FILE, a file in this folder"
        return text

    def _read(self, kind: Literal["get", "call"], task: str, what: str, load: Callable[[], str]) -> str:
        limit = self.setup.limit
        spent = count_tokens(self.setup.documentation.index) + sum(event.tokens for event in self.events)
        if limit and spent >= limit:
            return "You have read as much as you may."
        text = load()
        if limit and count_tokens(text) > limit - spent:
            text = text[: CHARS_PER_TOKEN * (limit - spent)]
        self._add(Event(kind, task, what, count_tokens(text)))
        return f"{text}\n\n[{limit - spent - count_tokens(text):,} tokens left]" if limit else text

    def _add(self, event: Event) -> None:
        with self.log.open("ab") as file:
            file.write(msgspec.json.encode(event) + b"\n")

    def outcomes(self) -> Iterator[Outcome]:
        """Check each submitted solution, and yield what came of its task."""
        docs, events = self.setup.documentation, self.events
        for name in (event.task for event in events if event.kind == "submit"):
            task = self._tasks[name]
            solution = self.folder / f"{name}.py"
            own = [event for event in events if event.task == name and event.kind != "submit"]
            index = count_tokens(docs.index) if name == self.setup.tasks[0] else 0
            yield Outcome(
                condition=docs.condition,
                library=self.setup.library,
                task=name,
                limit=self.setup.limit,
                place=self.setup.tasks.index(name) + 1,
                reason=task.check(solution),
                requests=len(own),
                tokens=index + sum(event.tokens for event in own),
                invented=tuple(find_names(task, solution.read_text("utf-8", "replace"))),
            )


def _parse(json: str) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(json, type=dict[str, Any])
    except msgspec.MsgspecError:
        return None


def find_names(task: Task, code: str) -> list[str]:
    """Return the names in a solution that nothing has."""
    docs = (file.read_text("utf-8") for file in (CONFIGS[task.library].parent / "docs").rglob("*.md"))
    return find_invented(code, task.library, task.sources, "\n".join([task.read_statement(), *docs]))


def prepare(root: Path, conditions: Sequence[Condition], size: int, limit: int) -> None:
    """Build the documentation in each condition, and write the folders of the agents.

    Args:
        root: The folder.
        conditions: The conditions.
        size: Number of tasks for each agent.
        limit: The tokens that an agent may read; 0 without a limit.

    Raises:
        SystemExit: The folder already has agents.
    """
    if (root / "state").exists():
        raise SystemExit(f"{root}: already has agents. Choose another folder.")
    checkout = msgspec.structs.replace(read_checkout(ROOT), name="mkdocs-roaming")
    for library in CONFIGS:
        names = [task.name for task in find_tasks() if task.library == library]
        for condition in conditions:
            docs = build(library, condition, root / "sites" / f"{library}-{condition}")
            for start in range(0, len(names), size):
                tasks = tuple(names[start : start + size])
                Session.create(
                    root, f"{library}-{condition}-{start // size + 1}", Setup(library, tasks, docs, checkout, limit)
                )
            print(f"{library}: {condition}", flush=True)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    preparing = commands.add_parser("prepare", help="Write the folders of the agents.")
    preparing.add_argument("folder", type=Path)
    preparing.add_argument("--conditions", nargs="+", choices=get_args(Condition), default=list(CONDITIONS))
    preparing.add_argument("--tasks", type=int, default=TASKS, help=f"Tasks for each agent (default: {TASKS}).")
    preparing.add_argument("--limit", type=int, default=0, help="Tokens that an agent may read (default: no limit).")
    doing = commands.add_parser("do", help="A command of an agent.")
    doing.add_argument("folder", type=Path)
    doing.add_argument("action")
    doing.add_argument("arguments", nargs="*")
    reporting = commands.add_parser("report", help="Print the tables.")
    reporting.add_argument("folders", type=Path, nargs="+")
    reporting.add_argument("--agent", default="", help="Who solved the tasks, for the record.")
    reporting.add_argument("--record", action="store_true", help=f"Write {FILE.name}.")
    options = parser.parse_args()
    if options.command == "prepare":
        prepare(options.folder.resolve(), options.conditions, options.tasks, options.limit)
    elif options.command == "do":
        print(Session(options.folder).do(options.action, options.arguments))
    else:
        states = sorted(state for folder in options.folders for state in folder.glob("state/*"))
        if not states:
            raise SystemExit(f"{options.folders[0]}: no agents. Write their folders with `prepare`.")
        sessions = [Session(state) for state in states]
        outcomes = tuple(outcome for session in sessions for outcome in session.outcomes())
        checkouts = dict.fromkeys(session.setup.checkout for session in sessions)
        record = AgentRecord(options.agent, tuple(checkouts), outcomes)
        for title, lines in iter_tables(record):
            print(f"\n{title}\n\n" + "\n".join(lines))
        if options.record:
            FILE.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")


if __name__ == "__main__":
    main()
