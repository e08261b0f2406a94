"""`python -m mkdocs_roaming` is `roaming`."""

from mkdocs_roaming.cli import main

if __name__ == "__main__":  # worker processes import this, too
    main()
