"""Entry points: listing without importing, loading, errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mkdocs_roaming import plugins
from mkdocs_roaming.errors import PluginError

GROUP = "roaming.test_plugins"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A distribution with a working and a broken entry point."""
    (tmp_path / "working_plugin.py").write_text("answer = 42\n")
    (tmp_path / "broken_plugin.py").write_text("raise OSError('no\\ndisk')\n")
    metadata = tmp_path / "some_plugins-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: some-plugins\nVersion: 1.0\n")
    entry_points = f"[{GROUP}]\nworking = working_plugin:answer\nbroken = broken_plugin:answer\n"
    (metadata / "entry_points.txt").write_text(entry_points)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    plugins._entry_points.cache_clear()
    plugins.load_entry_point.cache_clear()
    sys.modules.pop("working_plugin", None)


@pytest.mark.usefixtures("installed")
def test_entry_point_names_import_nothing_and_load_entry_point_imports_one_object() -> None:
    assert plugins.entry_point_names(GROUP) == ("broken", "working")
    assert not {"broken_plugin", "working_plugin"} & set(sys.modules)
    assert plugins.load_entry_point(GROUP, "working") == 42
    assert "broken_plugin" not in sys.modules


@pytest.mark.usefixtures("installed")
def test_load_entry_points_with_broken_plugin_raises_error_with_fix() -> None:
    with pytest.raises(PluginError, match="some-plugins") as caught:
        plugins.load_entry_points(GROUP)
    assert str(caught.value) == (
        f"the plugin 'broken' of the package some-plugins ({GROUP} = broken_plugin:answer) cannot be loaded: "
        "OSError: no disk; update some-plugins or uninstall it"
    )


@pytest.mark.usefixtures("installed")
def test_load_entry_point_with_unknown_name_raises_error_with_names() -> None:
    with pytest.raises(PluginError, match=r"no entry point 'other' in the group .* \(installed: broken, working\)"):
        plugins.load_entry_point(GROUP, "other")
