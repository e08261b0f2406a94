"""Reports as one page each: plots, and every question or finding to unfold. Nothing is fetched, no script runs."""
