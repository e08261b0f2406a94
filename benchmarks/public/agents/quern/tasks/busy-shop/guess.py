from http.client import HTTPException

from quern import Column, Plan, Retry, Source


def read_shop(get):
    def fetch(offset=0):
        while offset is not None:
            status, headers, body = get(offset)
            if status in {429, 503}:
                raise HTTPException(headers.get("Retry-After"))
            if status != 200:
                raise RuntimeError(status)
            yield from body["items"]
            offset = body["next"]

    retry = Retry(attempts=5, delay=0.2, backoff=2, max_delay=20, exceptions=(HTTPException,))
    return Plan([Column("sku", str), Column("stock", int)]).run(Source(fetch, retry=retry))
