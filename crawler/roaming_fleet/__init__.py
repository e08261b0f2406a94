"""Crawls many sites into a store, and opens stores as libraries."""
