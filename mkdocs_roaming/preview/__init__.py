"""What agents see of a site, as one static page for its maintainer."""
