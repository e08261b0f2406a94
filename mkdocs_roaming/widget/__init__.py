"""The JavaScript modules of the widget and their translations, as package data."""
