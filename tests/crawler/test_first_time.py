"""Somebody crawls a site for the first time: what they would expect is what they get, and slips cost nothing."""

from __future__ import annotations

from typing import Any

import pytest

from mkdocs_roaming.errors import RoamingError


def test_links_are_relative_to_the_base_that_a_page_names(site: Any, crawled: Any) -> None:
    """Markdown leads where the page leads in a browser; a link to the page itself stays on it."""
    site.put(
        "/docs/",
        '<html><head><title>Docs</title><base href="/docs/v2/"></head><body><main><h1>Docs</h1><p>Read on.</p>'
        '<p><a href="one.html">one</a> <a href="#top">top</a> <img src="a.png" alt="a"></p></main>',
    )
    site.page("/docs/v2/one.html", "One")
    text = crawled(f"{site.url}docs/").text("")
    assert f"[one]({site.url}docs/v2/one.md)" in text
    assert f"{site.url}docs/v2/a.png" in text
    assert "v2/#top" not in text


@pytest.mark.parametrize("content", ["0; url=guide/", "0;URL='guide/'", "3,guide/", "0 url=/guide/"])
def test_a_page_that_only_sends_its_readers_on_is_followed(content: str, site: Any, crawled: Any) -> None:
    """A stub without a single link, as redirect plugins write it, leads to its page all the same."""
    site.put("/", f'<html><head><meta http-equiv="refresh" content="{content}"></head></html>')
    site.page("/guide/", "Guide")
    done = crawled(site.url)
    assert done.paths == ["guide/"]
    assert done.why("/") == "a redirect"


def test_a_page_without_text_is_not_published(site: Any, crawled: Any) -> None:
    """What a script alone would fill has its reason; a page of pictures is a page."""
    site.page("/", "Home", links=("a/", "b/"))
    site.put("/a/", "<html><head><title>A</title></head><body><script>location.replace('/x/')</script></body></html>")
    site.put("/b/", "<title>B</title><body><main><img src=map.png alt=Map></main><script>count()</script>")
    done = crawled(site.url)
    assert done.paths == ["", "b/"]
    assert "JavaScript" in done.why("/a/")


def test_a_form_to_log_in_is_no_documentation(site: Any, crawled: Any, reply: Any) -> None:
    """A site behind a login gives an error that says so, not a published folder with its form."""
    site.otherwise = reply("", 302, headers={"Location": "/login"})
    site.put("/login", "<title>Sign in</title><form>Name <input> Password <input type=password></form>")
    with pytest.raises(RoamingError, match="asks for a password"):
        crawled(f"{site.url}docs/")
