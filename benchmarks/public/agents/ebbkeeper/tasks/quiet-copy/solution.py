import shutil
from pathlib import Path

from ebbkeeper import HarbourClient


def copy_when_quiet(url: str, source: Path, target: Path, patience: float) -> None:
    with HarbourClient(url) as harbour:
        quiet = harbour.wait_for_slack(at_most=patience, every=min(0.5, patience))
    if not quiet:
        raise TimeoutError(f"{url} had readings waiting for {patience} s")
    shutil.copytree(source, target)
