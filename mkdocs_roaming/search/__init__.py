"""Search by words: terms, their index, ranking, and whether a site answers a query."""
