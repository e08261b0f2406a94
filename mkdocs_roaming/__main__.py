"""The entry point of `roaming`, and of `python -m mkdocs_roaming`."""

import sys


def main() -> None:
    """Run the command line. An interrupt while it is imported ends it as one later does, without a traceback."""
    try:
        from mkdocs_roaming.cli import main as roaming

        roaming()
    except KeyboardInterrupt:
        sys.exit("Aborted!")


if __name__ == "__main__":  # worker processes import this, too
    main()
