"""The documentation of the packages that a project uses, in the versions that it uses."""
