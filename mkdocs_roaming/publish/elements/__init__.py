"""What a build adds to the HTML of a site: links to the Markdown, the widget, the page menu, the 404 page."""
