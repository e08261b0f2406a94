from collections.abc import Callable
from http.client import HTTPException
from typing import Any

from quern import Column, FetchHopper, Lot, Page, Patience, Plan, SourceBusy

plan = Plan([Column("sku"), Column("stock", "whole")])


def read_shop(get: Callable[[int], tuple[int, dict[str, str], Any]]) -> Lot:
    def fetch(offset: int | None) -> Page:
        try:
            status, headers, body = get(0 if offset is None else offset)
        except HTTPException as error:
            raise SourceBusy from error
        if status in {429, 503}:
            wait = headers.get("Retry-After")
            raise SourceBusy(wait=None if wait is None else float(wait))
        if status != 200:
            raise RuntimeError(f"the shop answered with {status}")
        return Page(body["items"], next=body["next"])

    return plan.mill(FetchHopper(fetch, patience=Patience(again=4, pause=0.2, growth=2, ceiling=20)))
