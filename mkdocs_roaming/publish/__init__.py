"""Publishing: converted pages in, Markdown, llms.txt, manifest and widget out."""
