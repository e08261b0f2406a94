"""Servers, clients and generated site of `serve.py` and `search_speed.py`."""
