"""Wheels of packages whose data contain documentation, written without a build backend."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from zipfile import ZipFile

from mkdocs_roaming.library.installed import GROUP


def write_wheel(
    folder: Path,
    name: str,
    version: str,
    docs: Path | None,
    *,
    entry_point: str = "",
    urls: Mapping[str, str] = MappingProxyType({}),
) -> Path:
    """Write a wheel whose package cannot be imported, with the documentation in `_docs`; return its path.

    Args:
        folder: Folder of the wheel.
        name: Name of the distribution.
        version: Version of the distribution.
        docs: Folder of the documentation.
        entry_point: Value of the entry point that announces the documentation; its package by default.
        urls: URLs in the metadata, by label.
    """
    package = name.replace("-", "_")
    info = f"{package}-{version}.dist-info"
    links = "".join(f"Project-URL: {label}, {url}\n" for label, url in urls.items())
    files = {
        f"{package}/__init__.py": b'raise RuntimeError("imported")\n',
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{links}".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[{GROUP}]\n{name} = {entry_point or f'{package}._docs'}\n".encode(),
    }
    for file in docs.rglob("*") if docs else ():
        if file.is_file() and docs:
            files[f"{package}/_docs/{file.relative_to(docs).as_posix()}"] = file.read_bytes()
    record = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    wheel = folder / f"{package}-{version}-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        for path, data in {**files, f"{info}/RECORD": record.encode()}.items():
            archive.writestr(path, data)
    return wheel
