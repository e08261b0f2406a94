"""How well a site is found by its readers' questions: question sets, outcomes, totals, reports."""
