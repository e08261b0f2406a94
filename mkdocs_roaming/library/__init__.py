"""An opened site: reading, search, the navigator, rules, validation and comparison."""
