import os

extensions = ["sphinx.ext.autodoc"]
html_baseurl = os.environ.get("BASE_URL", "https://osier.example/")
