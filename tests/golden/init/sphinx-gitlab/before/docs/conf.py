project = "Osier"
html_baseurl = "https://osier.example/"
extensions = ["myst_parser"]
