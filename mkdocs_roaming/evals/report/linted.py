"""The report of findings in docs: how many of which rule, and each with its place and its cure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mkdocs_roaming.evals.report import plots
from mkdocs_roaming.evals.report.page import link, page, safe


@dataclass(frozen=True, slots=True)
class Remark:
    """A finding as plain data: its rule, how grave it is, where it stands, what it says and what to do.

    `place` is the file and line, `url` where readers see it, `quote` what stands there.
    """

    rule: str
    severity: str
    message: str
    fix: str = ""
    place: str = ""
    url: str = ""
    breadcrumb: tuple[str, ...] = ()
    quote: str = ""


def findings_page(
    site: str, url: str, summary: str, remarks: Sequence[Remark], reasons: Sequence[tuple[str, str]] = ()
) -> str:
    """Give the page; `reasons` say why a rule matters. Remarks stand under their rule, the worst first."""
    return page(f"What keeps {site} from being roamed", "".join(_parts(site, url, summary, remarks, dict(reasons))))


def _parts(site: str, url: str, summary: str, remarks: Sequence[Remark], reasons: dict[str, str]) -> Iterator[str]:
    yield f"<h1>What keeps {safe(site)} from being roamed</h1>\n"
    yield f'<p class="soft">{safe(summary)}. {link(url, url)}</p>\n'
    worst = sorted(remarks, key=lambda remark: _GRAVE.get(remark.severity, len(_GRAVE)))
    rules = Counter(remark.rule for remark in worst)
    if rules:
        yield '<div class="plots">\n'
        yield plots.counts("Findings of each rule", rules.most_common())
        yield "</div>\n"
    for rule in rules:
        found = [remark for remark in worst if remark.rule == rule]
        yield f'<h2>{safe(rule)} <span class="soft small">{safe(found[0].severity)}</span></h2>\n'
        if rule in reasons:
            yield f"<p>{safe(reasons[rule])}</p>\n"
        for remark in found:
            yield from _remark(remark)


def _remark(remark: Remark) -> Iterator[str]:
    where = " › ".join(remark.breadcrumb)
    yield f'<details><summary><span class="ask">{safe(remark.message)}</span>'
    yield f'<span class="marks soft">{safe(remark.place)}</span></summary>\n<div class="inside"><dl>'
    if where or remark.url:
        yield f"<dt>section</dt><dd>{link(remark.url, where or remark.url)}</dd>"
    if remark.fix:
        yield f"<dt>cure</dt><dd>{safe(remark.fix)}</dd>"
    yield "</dl>\n"
    if remark.quote:
        yield f'<div class="text">{safe(remark.quote)}</div>\n'
    yield "</div></details>\n"


_GRAVE = {"error": 0, "warning": 1, "hint": 2}
