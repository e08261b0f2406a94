"""Natural language and Markdown text: tokenizer, word lists, headings."""
