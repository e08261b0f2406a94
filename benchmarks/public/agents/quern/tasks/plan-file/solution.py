TEXT = """\
quern = 2
zone = "Europe/Oslo"
blanks = ["", "-", "n/a", "null", "?"]

[columns.article]
aka = ["Article No."]
case = "upper"

[columns.weight]
kind = "quantity"
aka = ["Wt."]
unit = "kg"
bare = "g"

[columns.price]
kind = "decimal"
places = 2
optional = true

[columns.best_before]
kind = "day"

[columns.updated]
kind = "moment"

[[sieves]]
between = "best_before"
low = 2026-01-01
park = true

[merge]
key = "article"
rest = "newest"
by = "updated"

[limits]
refused = 0
grace = 0

[source]
path = "${STOCK_FILE}"
delimiter = ";"
skip = 1
"""


def plan_text() -> str:
    return TEXT
