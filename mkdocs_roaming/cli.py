"""`roaming …`: the only module that knows all the others; heavy ones are imported inside the commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mkdocs_roaming import __version__
from mkdocs_roaming.errors import RoamingError, UsageError

if TYPE_CHECKING:
    from mkdocs_roaming.places import Place
    from mkdocs_roaming.roam.library import Library

NOTHING_FOUND = 3
FAULTS_FOUND = 4

EXIT_CODES = """\b
Exit codes:
  0  done
  1  it could not be done; the reason is on standard error
  2  the command line is wrong
  3  nothing found: no hit, no answer
  4  validate found faults
"""


class Commands(click.Group):
    """A group whose commands end in one line where a user's mistake or a broken site stops them."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except RoamingError as error:
            click.echo(f"roaming: {' '.join(str(error).split())}", err=True)
            ctx.exit(1)
        except BrokenPipeError:  # `roaming outline … | head`
            sys.stderr.close()
            ctx.exit(0)


FREE_TEXT = {"ignore_unknown_options": True}  # questions begin with flags at times: `--drain-window default`
LIB = click.argument("lib", metavar="LIB")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(cls=Commands, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="roaming")
def main() -> None:
    """Publish a documentation site so that it can be walked, walk it, and ask it questions.

    LIB is a published site: its folder, its address, or its manifest's address. A single Markdown file, or its
    address, is one too: somebody's llms-full.txt, for one.
    """


@main.command()
@click.argument("site_dir", type=click.Path(path_type=Path))
@click.option("--url", help="The site's address. Else its home page's canonical link says.")
@click.option("--name", help="The site's name. Else its home page's title says.")
@click.option("--description", help="One sentence on the site, for llms.txt.")
@click.option(
    "--include", multiple=True, metavar="GLOB", help="Publish only pages whose path matches. May be repeated."
)
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out pages whose path matches. May be repeated.")
@click.option(
    "--previous", metavar="PATH_OR_URL", help="The last manifest: ids of renamed sections live on as aliases."
)
@click.option("--outline-tokens", type=click.IntRange(min=200), default=8000, show_default=True)
@click.option(
    "--section-files",
    type=click.Choice(["auto", "yes", "no"]),
    default="auto",
    show_default=True,
    help="Write a file for each section; auto: up to 5,000.",
)
@click.option("--no-full", is_flag=True, help="Write no llms-full.txt.")
@click.option("--no-html", is_flag=True, help="Leave the built pages as they are: no <link> pair, no pointer.")
@click.option("--cache", type=click.Path(path_type=Path), help="Keep conversions in this folder for the next time.")
@AS_JSON
def index(site_dir: Path, as_json: bool, **given: Any) -> None:
    """Publish any built site in place: Markdown, llms.txt, manifest."""
    from mkdocs_roaming.publish.publisher import Options
    from mkdocs_roaming.site import Index
    from mkdocs_roaming.site import index as index_site

    section_files: Any = {"auto": "auto", "yes": True, "no": False}[given["section_files"]]
    how = Index(
        url=given["url"],
        name=given["name"],
        description=given["description"],
        include=given["include"],
        exclude=given["exclude"],
        html=not given["no_html"],
        previous=given["previous"],
        cache=given["cache"],
        options=Options(not given["no_full"], section_files, given["outline_tokens"]),
    )
    with _progress("Converting") as steps:
        report = index_site(site_dir, how, warn=_warn, steps=steps)
    if as_json:
        _print_json(asdict(report))
        return
    for note in report.notes:
        click.echo(note, err=True)
    click.echo(f"{site_dir}: {report}")


@main.command()
@LIB
@click.argument("branch", required=False)
@click.option("--budget", type=click.IntRange(min=200), default=8000, show_default=True, help="Estimated tokens.")
@click.option("--style", type=click.Choice(["compact", "comment"]), default="compact", show_default=True)
@AS_JSON
def outline(lib: str, branch: str | None, budget: int, style: Any, as_json: bool) -> None:
    """Print the collapsed outline, or a branch of it.

    A BRANCH is the id of a nav group, a page or a section, or `<id>+` as the outline shows it.
    """
    from mkdocs_roaming.outline import outline as draw
    from mkdocs_roaming.terminal import clean
    from mkdocs_roaming.words import estimate_tokens

    library = _open(lib)
    text = draw(library.places, budget=budget, branch=branch, style=style)
    if as_json:
        _print_json({"digest": library.manifest.digest, "tokens": estimate_tokens(text), "outline": text})
    else:
        click.echo(clean(text), nl=False)


@main.command()
@LIB
@click.argument("addresses", nargs=-1, required=True, metavar="SECTION...")
@click.option("--part", type=click.IntRange(min=1), default=1, help="Which part of a section that is too long for one.")
@AS_JSON
def expand(lib: str, addresses: tuple[str, ...], part: int, as_json: bool) -> None:
    """Open sections.

    A SECTION is an id, `<page path>#<anchor>`, `<source>.md#<anchor>`, or an address on the site.
    """
    from mkdocs_roaming.expand import expand as open_section
    from mkdocs_roaming.expand import render
    from mkdocs_roaming.terminal import clean

    library = _open(lib)
    places = [_place(library, address) for address in addresses]
    found = [open_section(library.places, place, library.text, part=part) for place in places]
    if as_json:
        _print_json([{**asdict(expansion), "text": expansion.text} for expansion in found])
    else:
        click.echo(clean("\n---\n\n".join(map(render, found))), nl=False)


@main.command(context_settings=FREE_TEXT)
@LIB
@click.argument("query")
@click.option("--limit", type=click.IntRange(min=1, max=100), default=10, show_default=True)
@AS_JSON
def search(lib: str, query: str, limit: int, as_json: bool) -> None:
    """Search the sections; no model is asked."""
    from mkdocs_roaming.roam.search import Search
    from mkdocs_roaming.terminal import show_hits

    library = _open(lib)
    hits = Search(library).find(query, limit=limit)
    if as_json:
        _print_json([_hit(library, hit.place, hit.score, hit.snippet) for hit in hits])
    elif hits:
        show_hits(library, hits)
    else:
        click.echo("Nothing found.", err=True)
    if not hits:
        sys.exit(NOTHING_FOUND)


@main.command(context_settings=FREE_TEXT)
@LIB
@click.argument("question")
@click.option("--page", help="The page that the reader is on: its path or address.")
@AS_JSON
def ask(lib: str, question: str, page: str | None, as_json: bool) -> None:
    """Ask a question, without a key or a model.

    The answer is made of the docs' own sentences, word for word, each cited.
    """
    import anyio

    from mkdocs_roaming.answer.events import summarise
    from mkdocs_roaming.answer.loop import answer
    from mkdocs_roaming.answer.models.offline import Offline
    from mkdocs_roaming.roam.navigator import Navigator
    from mkdocs_roaming.terminal import Trail, show_answer

    navigator = Navigator(_open(lib))
    trail = Trail(quiet=as_json)

    async def walk() -> list[Any]:
        seen: list[Any] = []
        async with aclosing(answer(question, navigator, Offline(), page=page)) as events:
            async for event in events:
                trail.show(event)
                seen.append(event)
        return seen

    result = summarise(anyio.run(walk))
    if as_json:
        _print_json(asdict(result))
    else:
        show_answer(result)
    if result.state == "error":
        sys.exit(1)
    if result.state in ("not_found", "refused"):
        sys.exit(NOTHING_FOUND)


@main.command()
@LIB
@AS_JSON
def validate(lib: str, as_json: bool) -> None:
    """Check a published site.

    Schema, digests, slices, ids, and every link within the site.
    """
    from mkdocs_roaming.roam.check import check
    from mkdocs_roaming.terminal import clean

    library = _open(lib)
    if not library.published:
        raise UsageError(f"{lib}: a Markdown file, not a published site; name a site's folder or address")
    with _progress("Checking") as steps:
        result = check(library, steps)
    if as_json:
        _print_json(asdict(result))
    else:
        for fault in result.faults:
            click.echo(clean(fault))
        click.echo(f"{lib}: {result}", err=bool(result.faults))
    if result.faults:
        sys.exit(FAULTS_FOUND)


# What the commands share


def _open(lib: str) -> Library:
    from mkdocs_roaming.roam.library import open_library

    return open_library(lib)


def _place(library: Library, address: str) -> Place:
    place = library.places.address(address)
    if place is None:
        raise UsageError(f"{library.where}: no section {address!r}; `roaming outline` and `roaming search` give ids")
    return place


def _hit(library: Library, place: Place, score: float, snippet: str) -> dict[str, Any]:
    return {
        "id": place.id,
        "title": place.section.title,
        "breadcrumb": library.places.breadcrumb(place),
        "url": library.places.url(place),
        "score": round(score, 4),
        "snippet": snippet,
    }


def _print_json(data: Any) -> None:
    click.echo(json.dumps(data, ensure_ascii=False, indent=2))


def _warn(message: str) -> None:
    click.echo(f"Warning: {message}", err=True)


@contextmanager
def _progress(label: str) -> Iterator[Callable[[int], Callable[[], None]]]:
    """Give what shows a progress bar on a terminal, and nothing where standard error is none."""
    bars: list[Any] = []

    def steps(count: int) -> Callable[[], None]:
        if not sys.stderr.isatty():
            return lambda: None
        bar = click.progressbar(length=count, label=label, file=sys.stderr)
        bars.append(bar)
        bar.__enter__()
        return lambda: bar.update(1)

    try:
        yield steps
    finally:
        for bar in bars:
            bar.__exit__(None, None, None)
