"""What machines see of a site, as a page for its maintainer."""
