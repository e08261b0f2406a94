project = "Osier"
extensions = ["myst_parser"]
html_theme = "furo"
