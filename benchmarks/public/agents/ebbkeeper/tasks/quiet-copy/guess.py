import shutil
from pathlib import Path

from ebbkeeper import EbbkeeperClient


def copy_when_quiet(url: str, source: Path, target: Path, patience: float) -> None:
    with EbbkeeperClient(url) as client:
        client.wait_until_idle(timeout=patience)
    shutil.copytree(source, target)
