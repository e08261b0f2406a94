"""`python -m mkdocs_roaming` is `roaming`."""

from mkdocs_roaming.cli import main

main()
