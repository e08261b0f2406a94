"""S3 and Azure, as moto and Azurite."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from roaming_fleet.buckets import BlobNotFoundError, BucketError
from roaming_fleet.objects import ObjectBucket, open_bucket

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

pytestmark = pytest.mark.slow


@pytest.fixture(params=["s3", "az"])
def store(request: pytest.FixtureRequest) -> Any:
    """A store of each kind."""
    return request.getfixturevalue(request.param)


def test_all_commands_work_on_object_store(
    store: Any, sites: Any, tmp_path: Path, roaming: Any, fast_options: tuple[str, ...], published: Any
) -> None:
    listing = sites.listing(tmp_path / "sites.txt", 4)
    crawl = ("crawl", "--many", listing, *fast_options, "--scratch", tmp_path / "scratch")
    for where in (tmp_path / "folder", store.where):
        result = roaming(*crawl, "-o", where, "--json")
        assert json.loads(result.stdout.splitlines()[-1])["new"] == 4, result.stderr
    site = f"{store.where}/site-001"
    assert roaming("outline", site).stdout == roaming("outline", tmp_path / "folder" / "site-001").stdout
    assert len(json.loads(roaming("sites", store.where, "--json").stdout)) == 4
    hits = json.loads(roaming("search", store.where, "looked at twice a year", "--json").stdout)
    assert "twice a year" in roaming("expand", store.where, hits[0]["id"]).stdout
    assert "twice a year" in roaming("ask", store.where, "site-002: how often is it looked at?").stdout
    sites.pages = 2
    sites.revision["127.0.1.1/b"] = 1
    for where in (tmp_path / "folder", store.where):
        result = roaming(*crawl, "-o", where, "--refresh-older-than", "0s", "--json")
        assert json.loads(result.stdout.splitlines()[-1])["pages_gone"] == 4, result.stderr
    bucket = open_bucket(store.where)
    uploaded = {blob.path: bucket.get(blob.path) for blob in bucket.list("") if not blob.path.startswith(".fleet/")}
    assert uploaded == published(tmp_path / "folder")


def test_names_are_literal(store: Any) -> None:
    root = store.where.rpartition("/")[0]
    beside = open_bucket(f"{root}/my docs")
    beside.put("x", b"beside")
    for prefix in ("my docs %20ü+&=[1]", "my%20docs", "MY docs", "~a'b(c)"):
        bucket = open_bucket(f"{root}/{prefix}/")
        assert list(bucket.list("")) == []
        bucket.put("a b/%41.md", b"1")
        assert [blob.path for blob in open_bucket(f"{root}/{prefix}").list("a b/")] == ["a b/%41.md"]
        assert bucket.get("a b/%41.md") == b"1"
        assert bucket.where == f"{root}/{prefix}"
    assert [blob.path for blob in beside.list("")] == ["x"]
    whole = open_bucket(root + "/")
    assert "my docs/x" in {blob.path for blob in whole.list("")}
    for path in ("../x", "a//b", "a/./b", "a\nb"):
        with pytest.raises(BucketError, match="invalid path") as raised:
            beside.get(path)
        assert not isinstance(raised.value, BlobNotFoundError)


def test_azure_sas_works_until_expiry(az: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_KEY")
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", az.sas("2099-01-01T00:00:00Z"))
    bucket = open_bucket(az.where)
    assert bucket.create("a", b"1")
    assert not bucket.create("a", b"2")
    assert [blob.path for blob in bucket.list("")] == ["a"]
    bucket.delete(["a", "never"])
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", az.sas("2026-01-01T00:00:00Z"))
    message = r"the credentials are not accepted \(AuthorizationFailure\)"
    with pytest.raises(BucketError, match=message) as raised:
        open_bucket(az.where).put("a", b"1")
    assert "sig=" not in str(raised.value)
    assert raised.value.lasting


@pytest.mark.parametrize(("where", "shown"), TABLES["invalid_bucket_url_is_refused"])
def test_invalid_bucket_url_is_refused(where: str, shown: str) -> None:
    with pytest.raises(BucketError) as raised:
        open_bucket(where)
    assert str(raised.value) == (
        f"{shown}: not the address of a bucket; give s3://, gs:// or az://BUCKET/PREFIX; "
        "credentials and settings come from the environment"
    )


def test_bucket_url_spellings(s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    open_bucket("s3://shelf/docs").put("x", b"1")
    for where in ("S3://shelf/docs", "s3://shelf/docs/", "s3://shelf//docs//"):
        bucket = open_bucket(where)
        assert (bucket.where, bucket.get("x")) == ("s3://shelf/docs", b"1")
    assert open_bucket("s3://shelf/").get("docs/x") == b"1"
    assert not list(tmp_path.iterdir())


def test_malformed_credentials_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = tmp_path / "account.json"
    account.write_text('{"private_key": "SECRET"}')
    for where, name, value in (
        ("gs://shelf", "GOOGLE_APPLICATION_CREDENTIALS", str(account)),
        ("gs://shelf", "GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json")),
        ("az://shelf", "AZURE_STORAGE_ACCOUNT_KEY", "no base64 SECRET"),
    ):
        with monkeypatch.context() as patch:
            patch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "shelves")
            patch.setenv(name, value)
            with pytest.raises(BucketError) as raised:
                ObjectBucket(where)
        assert str(raised.value) == f"{where}: the credentials in the environment are malformed; check {name}"


def test_foreign_keys_are_skipped_or_reported(s3: Any) -> None:
    import boto3

    bucket = open_bucket(s3.where)
    bucket.put("a/x", b"1")
    client = boto3.client("s3", endpoint_url=s3.environ["AWS_ENDPOINT_URL"])
    for key in ("docs/", "docs/a/", "/docs/y", "docs-more/z"):
        client.put_object(Bucket="shelf", Key=key, Body=b"")
    assert [blob.path for blob in bucket.list("a")] == ["a/x"]
    for key in ("docs/a//b", "docs/a/../b"):
        client.put_object(Bucket="shelf", Key=key, Body=b"")
        with pytest.raises(BucketError, match=r"contains the key .*, an invalid path; rename or remove it") as raised:
            list(bucket.list("a"))
        assert repr(key) in str(raised.value)
        client.delete_object(Bucket="shelf", Key=key)
