"""The command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from quern.errors import CODES, QuernError, RunError, SpoiledLotError
from quern.ledger import Ledger, Lot
from quern.plan import Plan


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("quern", description="Turn messy records into clean rows by a plan.")
    commands = parser.add_subparsers(dest="command", required=True)
    mill = commands.add_parser("mill", help="run a plan")
    mill.add_argument("source", nargs="?", help="file to read instead of the source of the plan")
    mill.add_argument("-p", "--plan", default=os.environ.get("QUERN_PLAN", "quern.toml"))
    mill.add_argument("-o", "--out", help="file for the clean rows")
    mill.add_argument("-l", "--ledger", help="file to which the ledger is appended")
    mill.add_argument("--replace", action="store_true", help="replace an existing output file")
    mill.add_argument("--strict", action="store_true", help="exit with 4 if any record was refused")
    check = commands.add_parser("check", help="check a plan file")
    check.add_argument("-p", "--plan", default=os.environ.get("QUERN_PLAN", "quern.toml"))
    explain = commands.add_parser("explain", help="explain a code")
    explain.add_argument("code")
    ledger = commands.add_parser("ledger", help="count the codes of a ledger")
    ledger.add_argument("file")
    return parser


def _mill(arguments: argparse.Namespace) -> int:
    plan = Plan.load(arguments.plan)
    status = 0
    try:
        lot: Lot = plan.mill(arguments.source)
    except SpoiledLotError as error:
        print(error, file=sys.stderr)
        lot, status = error.lot, 3
    if arguments.ledger:
        lot.ledger.write(arguments.ledger)
    if arguments.out and not status:
        lot.write(arguments.out, replace=arguments.replace)
    print(" ".join(f"{name}={count}" for name, count in lot.tally.items()))
    return status or (4 if arguments.strict and lot.refused else 0)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: Arguments without the name of the program. None: those of the process.

    Returns:
        The exit code.
    """
    arguments = _parser().parse_args(argv)
    try:
        match arguments.command:
            case "mill":
                return _mill(arguments)
            case "check":
                plan = Plan.load(arguments.plan)
                print(f"{plan.name}: {len(plan.columns)} columns, {len(plan.sieves)} sieves")
            case "explain":
                print(CODES.get(arguments.code.upper(), "no code of quern"))
                return 0 if arguments.code.upper() in CODES else 1
            case "ledger":
                for code, count in Ledger.read(arguments.file).codes().items():
                    print(f"{count:>6} {code} {CODES.get(code, '')}".rstrip())
    except QuernError as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, RunError) else 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
