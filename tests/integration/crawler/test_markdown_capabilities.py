"""Where a site has Markdown: declared, at usual URLs, by content negotiation."""

from __future__ import annotations

from typing import Any

import pytest

TEXT = "# Guide\n\nAs *Markdown*.\n\n## More\n\nWords.\n"


def _pages(site: Any, html: Any, head: str = "", count: int = 8) -> list[str]:
    names = [f"p{at}" for at in range(count)]
    for name in names:
        site.put(f"/{name}/", html(name.upper(), head=head.replace("NAME", name)))
    site.page("/", "Home", links=tuple(f"/{name}/" for name in names))
    return names


@pytest.mark.parametrize("form", ["/{}/index.md", "/{}.md"])
def test_markdown_url_form_is_learned(form: str, site: Any, run_crawl: Any, html: Any) -> None:
    for name in _pages(site, html):
        site.put(form.format(name), TEXT, kind="text/markdown")
    output = run_crawl(site.url, source="markdown")
    assert sum(page.origin == "markdown" for page in output.manifest.pages) == 8
    other = "/{}.md" if "index" in form else "/{}/index.md"
    tried = [path for path in site.paths() if path in [other.format(f"p{at}") for at in range(8)]]
    assert len(tried) <= 3


def test_markdown_is_found_by_content_negotiation(site: Any, run_crawl: Any, html: Any, reply: Any) -> None:
    names = _pages(site, html)
    for name in names:
        page = html(name.upper())
        site.responses[f"/{name}/"] = lambda handler, page=page: (
            reply(TEXT, kind="text/markdown") if "text/markdown" in handler.headers["Accept"] else reply(page)
        )
    output = run_crawl(site.url, source="markdown")
    assert sum(page.origin == "markdown" for page in output.manifest.pages) == 8


def test_host_without_markdown_gets_one_request_per_page(site: Any, run_crawl: Any, html: Any) -> None:
    _pages(site, html, count=40)
    output = run_crawl(site.url)
    assert len(output.paths) == 41
    assert output.result.markdown == 0
    assert len(site.requests) < 41 + 24  # robots.txt, llms.txt, sitemaps, Markdown of the first pages


def test_crawl_accepts_custom_fetcher(tmp_path: Any, html: Any) -> None:
    import anyio

    from roaming_crawler.config import CrawlConfig
    from roaming_crawler.crawl import crawl
    from roaming_crawler.fetch import Request, Response

    class CannedFetcher:
        async def get(self, request: Request) -> Response:
            requests.append(request)
            return responses.get(request.url, Response(request.url, 404))

    requests: list[Request] = []
    own = "https://docs.example/"
    pages = {own: html("Home", links=("a/",)), own + "a/": html("A")}
    responses = {url: Response(url, 200, page.encode(), "text/html") for url, page in pages.items()}
    outcome = anyio.run(lambda: crawl(own, tmp_path / "out", CrawlConfig(workers=0), fetcher=CannedFetcher()))
    assert set(outcome.new) == {"", "a/"}
    assert requests[0].url == own + "robots.txt"


@pytest.mark.parametrize("given", ["{folder}", "{folder}/llms.txt", "file://{folder}/", "file://{folder}/llms.txt"])
def test_crawl_of_folder_with_llms_txt(given: str, run_crawl: Any, tmp_path: Any) -> None:
    folder = tmp_path / "kettle docs"
    (folder / "guide").mkdir(parents=True)
    links = "- [Boil](guide/boil.md): how to\n- [Up](../outside.md)\n"
    (folder / "llms.txt").write_text(f"# Kettle\n\n> Boils.\n\n## Guide\n\n{links}", "utf-8")
    (folder / "guide" / "boil.md").write_text("# Boil\n\nPress [the lever](lever.md).\n", "utf-8")
    (folder / "guide" / "lever.md").write_text("# Lever\n\nOf wood.\n", "utf-8")
    (tmp_path / "outside.md").write_text("# Outside\n\nNot for others.\n", "utf-8")
    where = str(folder).replace(" ", "%20") if given.startswith("file:") else str(folder)
    output = run_crawl(given.format(folder=where), tmp_path / "out")
    assert [page.title for page in output.manifest.pages] == ["Boil", "Lever"]
    assert output.manifest.site.name == "Kettle"


def test_folder_site_redirects_to_trailing_slash(run_crawl: Any, html: Any, tmp_path: Any) -> None:
    for path, links in (("", ("guide/install",)), ("guide/install/", ("../next/",)), ("guide/next/", ())):
        (tmp_path / "site" / path).mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / path / "index.html").write_text(html(path or "Home", links=links), "utf-8")
    output = run_crawl(str(tmp_path / "site"), tmp_path / "out")
    assert output.paths == ["", "guide/install/", "guide/next/"]
    assert output.result.skipped == ()


def test_groups_below_a_group_of_llms_txt_are_nested(site: Any, run_crawl: Any) -> None:
    site.put(
        "/llms.txt", "# S\n\n- [H](h.md)\n\n## Guide\n\n- [G](g.md)\n\n### Care\n\n- [I](i.md)\n", kind="text/plain"
    )
    for name in "ghi":
        site.put(f"/{name}.md", TEXT, kind="text/markdown")
    home, guide = run_crawl(site.url).manifest.nav
    assert (home.page, guide.title) == ("h", "Guide")
    assert [(entry.title, entry.page) for entry in guide.children] == [("G", "g"), ("Care", None)]
    assert [entry.page for entry in guide.children[1].children] == ["i"]
