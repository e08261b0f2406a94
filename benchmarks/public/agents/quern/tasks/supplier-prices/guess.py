from pathlib import Path

import quern


def read_prices(path: Path):
    plan = quern.Plan(
        columns={
            "article": quern.Text(source="Artikel", upper=True),
            "price": quern.Decimal(source="Preis", places=2, decimal=",", thousands="."),
            "weight": quern.Quantity(source="Gewicht", unit="g", default_unit="kg"),
            "discount": quern.Percent(source="Rabatt", default=0),
        }
    )
    return plan.run(path, delimiter=";")
