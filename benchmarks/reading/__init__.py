"""What is in a page: read from its HTML, and from its Markdown, in words that can be compared."""
