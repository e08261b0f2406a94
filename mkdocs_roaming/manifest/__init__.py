"""The manifest, which describes a published site: data classes, file format, lookup, outline and expansion."""
