"""Conversion of HTML pages to Markdown.

`document` parses a page and finds its article. `converter.convert` converts the article: the `visitor` walks its tree
and asks the `themes` for the role of each element, and the writer of the role (in `blocks`, `inline`, `code`,
`tables` and so on) writes it. `final_page` compares an article with the page that a build has written in the end.
"""
