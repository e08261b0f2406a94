"""Responses of object stores, and the messages for them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from certificates import self_signed
from fleet_servers.raw_server import RawResponse, RawServer, Responder, http_response, range_response, serving

from roaming_fleet.buckets import BucketError
from roaming_fleet.objects import ObjectBucket

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parents[2] / "golden" / "stores"
PATH = "guide/expired.md"
"""The name of the page must not be taken for expired credentials."""

SECRET = "c2VjcmV0LWtleQ=="


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str, RawServer], ObjectBucket]:
    """Open a bucket whose store is a server of this test."""

    def open_store(scheme: str, raw: RawServer, **more: float) -> ObjectBucket:
        for name, value in _environ(scheme, raw.port, tmp_path).items():
            monkeypatch.setenv(name, value)
        return ObjectBucket(f"{scheme}://shelf/docs", **{"patience": 0.05, "silence": 1, **more})

    return open_store


def _environ(scheme: str, port: int, folder: Path) -> dict[str, str]:
    url = f"http://127.0.0.1:{port}"
    if scheme == "s3":
        ids = {"AWS_ACCESS_KEY_ID": "AKIASOMEBODY", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
        return {**ids, "AWS_ENDPOINT_URL": url}
    if scheme == "az":
        ids = {"AZURE_STORAGE_ACCOUNT_NAME": "shelves", "AZURE_STORAGE_ACCOUNT_KEY": SECRET}
        return {**ids, "AZURE_STORAGE_ENDPOINT": f"{url}/shelves"}
    account = folder / "account.json"
    key_data = {"disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
    account.write_text(json.dumps(key_data))
    return {"GOOGLE_SERVICE_ACCOUNT": str(account), "GOOGLE_BASE_URL": url}


def _operations(bucket: ObjectBucket) -> Iterator[tuple[str, Callable[[], object]]]:
    yield "get", lambda: bucket.get(PATH)
    yield "put", lambda: bucket.put(PATH, b"data")
    yield "create", lambda: bucket.create(PATH, b"data")
    yield "list", lambda: list(bucket.list(PATH))
    yield "delete", lambda: bucket.delete([PATH])


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.http")), ids=lambda file: file.stem)
def test_error_response_matches_golden_message(file: Path, store: Callable[..., ObjectBucket]) -> None:
    head, _, body = file.read_text("utf-8").partition("\n\n")
    _, status, kind = re.split(r"HTTP/1\.1 |\nContent-Type: ", head)
    line = file.with_suffix(".txt").read_text("utf-8").strip()
    scheme = file.stem.partition("-")[0]
    with serving(lambda first, headers: http_response(status, body.encode(), Content_Type=kind)) as raw:
        bucket = store(scheme, raw)
        for name, operation in _operations(bucket):
            if name == "create" and "cannot access" in line:
                continue  # retried for longer; tested below
            with pytest.raises(BucketError) as raised:
                operation()
            message = line.format(where=f"{scheme}://shelf/docs", bucket=f"{scheme}://shelf", path=PATH)
            assert (name, str(raised.value)) == (name, message)
            assert raised.value.lasting == ("cannot access" not in line)
    assert "SECRET" not in line


def _truncate(answer: RawResponse, blob: int, ending: RawResponse) -> RawResponse:
    """Return a response with a truncated body that ends the connection like `ending`."""
    head, _, body = answer.data.partition(b"\r\n\r\n")
    return replace(ending, data=head + b"\r\n\r\n" + body[:blob])


def test_permanently_truncated_response_is_reported(store: Callable[..., ObjectBucket]) -> None:
    for ending, reason in (
        (RawResponse(b"half"), "truncated response"),
        (RawResponse(b"half", reset=True), "truncated response"),
        (RawResponse(b"half", silent=5), "no response in time"),
        (RawResponse(b"", silent=5), "no response in time"),
        (RawResponse(b""), "truncated response"),
        (RawResponse(b"SSH-2.0-OpenSSH\r\n"), "not a response of a store"),
    ):

        def answer(first: str, headers: Mapping[str, str], ending: RawResponse = ending) -> RawResponse:
            return _truncate(range_response(b"x" * 4000, headers), 100, ending) if ending.data == b"half" else ending

        with serving(answer) as raw, pytest.raises(BucketError) as raised:
            store("s3", raw, silence=0.3).get(PATH)
        assert str(raised.value).startswith(f"s3://shelf/docs: cannot access {PATH} ({reason}); ")


def _page(names: Sequence[str], *, more: bool) -> RawResponse:
    keys = "".join(
        f"<Contents><Key>docs/{name}</Key><LastModified>2026-11-21T12:00:00.000Z</LastModified><ETag>1</ETag>"
        "<Size>1</Size></Contents>"
        for name in names
    )
    token = f"<NextContinuationToken>{names[-1]}</NextContinuationToken>" if more else ""
    head = f"<Name>shelf</Name><IsTruncated>{str(more).lower()}</IsTruncated>{token}"
    return http_response("200 OK", f"<ListBucketResult>{head}{keys}</ListBucketResult>".encode())


def test_truncated_listing_is_repeated(store: Callable[..., ObjectBucket]) -> None:
    names = [f"{at:03}" for at in range(130)]
    truncate_once = iter([True])

    def answer(first: str, headers: Mapping[str, str]) -> RawResponse:
        query = parse_qs(urlsplit(first.split()[1]).query)
        after = query.get("continuation-token", query.get("start-after", [""]))[0].removeprefix("docs/")
        remaining = [name for name in names if name > after]
        page = _page(remaining[:60], more=len(remaining) > 60)
        return _truncate(page, 500, RawResponse(b"")) if after == names[59] and next(truncate_once, False) else page

    with serving(answer) as raw:
        assert [blob.path for blob in store("s3", raw, patience=5).list("")] == names


def test_wrong_endpoint_is_reported(store: Callable[..., ObjectBucket], monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda first, headers: http_response("200 OK")) as raw:
        pass
    for scheme in ("s3", "gs", "az"):
        message = rf"^{scheme}://shelf/docs: cannot access {PATH} \(connection refused\)"
        with pytest.raises(BucketError, match=message):
            store(scheme, raw).get(PATH)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://no-such-host.invalid")
    with pytest.raises(BucketError, match="no such host"):
        ObjectBucket("s3://shelf/docs", patience=0.05).get(PATH)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "key:secret@127.0.0.1:9000")
    message = "s3://shelf/docs: AWS_ENDPOINT_URL is not a URL; begin it with https:// or http://"
    with pytest.raises(BucketError) as raised:
        ObjectBucket("s3://shelf/docs")
    assert str(raised.value) == message


def _lose_first_response(lost: RawResponse, then: RawResponse, stored: bytes) -> Responder:
    """Lose the response to the first write, and refuse the next ones."""
    writes = iter([lost])
    return lambda first, headers: range_response(stored, headers) if first.startswith("GET") else next(writes, then)


@pytest.mark.parametrize("scheme", ["s3", "gs", "az"])
def test_create_with_lost_response_compares_contents(scheme: str, store: Callable[..., ObjectBucket]) -> None:
    refused = {"s3": "412 Precondition Failed", "gs": "412 Precondition Failed", "az": "409 Conflict"}[scheme]
    for stored, is_created in ((b"mine", True), (b"another's", False)):
        for lost in (http_response("503 Slow Down"), RawResponse(b"", reset=True)):
            with serving(_lose_first_response(lost, http_response(refused), stored)) as raw:
                assert store(scheme, raw, patience=5).create("one", b"mine") == is_created
    with serving(_lose_first_response(http_response(refused), http_response(refused), b"another's")) as raw:
        assert not store(scheme, raw).create("one", b"mine")


def test_private_certificate_needs_ssl_cert_file(
    store: Callable[..., ObjectBucket], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate = self_signed(tmp_path / "own.pem")
    with serving(lambda first, headers: range_response(b"data", headers), certificate) as raw:
        store("s3", raw)
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"https://127.0.0.1:{raw.port}")
        with pytest.raises(BucketError, match="its certificate is not accepted"):
            ObjectBucket("s3://shelf/docs", patience=0.05).get(PATH)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert ObjectBucket("s3://shelf/docs", patience=0.05).get(PATH) == b"data"
