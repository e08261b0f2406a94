TEXT = """\
[source]
type = "csv"
path = "$STOCK_FILE"
delimiter = ";"
skip_rows = 1

[columns]
article = { from = "Article No.", type = "text", case = "upper" }
weight = { from = "Wt.", type = "quantity", unit = "kg", default_unit = "g" }
price = { from = "Price", type = "decimal", places = 2 }
best_before = { from = "Best before", type = "date" }
updated = { from = "Updated", type = "datetime", timezone = "Europe/Oslo" }

[filter]
best_before = ">= 2026-01-01"

[dedupe]
key = "article"
keep = "latest"
by = "updated"

[errors]
max = 0
"""


def plan_text() -> str:
    return TEXT
