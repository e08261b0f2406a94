"""The lock of a folder, between threads of this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from queue import SimpleQueue

import pytest

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.index_cache import IndexCache
from mkdocs_roaming.locks import FolderBusyError, hold_folder
from roaming_deps.project import data_folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ROAMING_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def other() -> Iterator[ThreadPoolExecutor]:
    """Another thread, which stands for another process: neither may take the lock of the other."""
    with ThreadPoolExecutor(1) as thread:
        yield thread


def take(folder: Path, on_wait: Callable[[str], None] | None = None) -> str:
    with hold_folder(folder, on_wait):
        return "held"


def is_free(folder: Path, other: ThreadPoolExecutor) -> bool:
    try:
        return other.submit(take, folder).result() == "held"
    except FolderBusyError:
        return False


def test_held_folder_is_refused_with_its_holder(tmp_path: Path, other: ThreadPoolExecutor) -> None:
    with hold_folder(tmp_path / "site"), pytest.raises(FolderBusyError) as caught:
        other.submit(take, tmp_path / "site").result()
    start = f"{tmp_path / 'site'}: another command is in progress there: process {os.getpid()} on "
    assert str(caught.value).startswith(start)
    assert "pytest" in str(caught.value)
    assert str(caught.value).endswith("; repeat the command when it has finished, or name another folder")
    assert is_free(tmp_path / "site", other)


def test_held_folder_is_waited_for_with_a_message(tmp_path: Path, other: ThreadPoolExecutor) -> None:
    messages = SimpleQueue[str]()
    with hold_folder(tmp_path / "site"):
        waiting: Future[str] = other.submit(take, tmp_path / "site", messages.put)
        assert messages.get(timeout=20).endswith("; waiting for it")
        assert not waiting.done()
    assert waiting.result(timeout=20) == "held"
    assert messages.empty()


def test_thread_takes_lock_again_only_if_it_would_wait(tmp_path: Path, other: ThreadPoolExecutor) -> None:
    with hold_folder(tmp_path):
        with hold_folder(tmp_path, print):
            pass
        with pytest.raises(FolderBusyError), hold_folder(tmp_path):
            pass
        assert not is_free(tmp_path, other)  # the inner one has not released it


@pytest.mark.parametrize("name", ["link", "a/../site", "site/"])
def test_other_names_of_a_folder_have_its_lock(tmp_path: Path, other: ThreadPoolExecutor, name: str) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("site")
    with hold_folder(tmp_path / "site"):
        assert not is_free(Path(f"{tmp_path}/{name}"), other)
        assert is_free(tmp_path / "sites", other)


def test_lock_is_outside_of_site_and_inside_state_of_crawl(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "crawl/.roaming").mkdir(parents=True)
    with hold_folder(tmp_path / "site"), hold_folder(tmp_path / "crawl"):
        assert list((tmp_path / "site").iterdir()) == []
        assert len(list(cache.glob("locks/*.lock"))) == 1
        assert (tmp_path / "crawl/.roaming/lock").exists()


def test_unwritable_cache_is_replaced_by_temporary_folder(
    tmp_path: Path, cache: Path, other: ThreadPoolExecutor
) -> None:
    cache.write_text("a file")
    with hold_folder(tmp_path / "site"):
        assert not is_free(tmp_path / "site", other)


@pytest.mark.skipif(os.name == "nt", reason="every user of Windows has a home")
def test_user_without_home_has_locks_in_temporary_folder_and_no_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: ThreadPoolExecutor
) -> None:
    for variable in ("HOME", "ROAMING_CACHE_DIR", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)  # a container may run as a user that has no entry
    with hold_folder(tmp_path / "site"):
        assert not is_free(tmp_path / "site", other)
    assert IndexCache.from_environment({}) is None
    with pytest.raises(UsageError, match="ROAMING_DATA_DIR"):
        data_folder({})


def test_process_that_the_holder_started_shares_its_lock(
    tmp_path: Path, cache: Path, other: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hold_folder(tmp_path / "site"):
        (note,) = cache.glob("locks/*.txt")
        note.write_text(note.read_text().replace(str(os.getpid()), "7"))
        with pytest.raises(FolderBusyError, match="process 7 on"):
            other.submit(take, tmp_path / "site").result()
        monkeypatch.setenv("ROAMING_PROCESSES", "5 7")
        assert is_free(tmp_path / "site", other)
        monkeypatch.setenv("ROAMING_PROCESSES", "77")
        assert not is_free(tmp_path / "site", other)
        note.unlink()
        with pytest.raises(FolderBusyError, match="in progress there: a process that just began"):
            other.submit(take, tmp_path / "site").result()


def test_error_in_held_folder_releases_lock(tmp_path: Path, other: ThreadPoolExecutor) -> None:
    held: AbstractContextManager[None] = hold_folder(tmp_path)
    with pytest.raises(ZeroDivisionError), held:
        raise ZeroDivisionError
    assert is_free(tmp_path, other)
