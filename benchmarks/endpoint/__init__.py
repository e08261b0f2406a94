"""What `serve.py` measures: the servers, their readers, and the site that all of it is about."""
