"""Do coding agents write better code with what a documentation site publishes for them?

Twenty tasks about two libraries that no model knows, each given in several conditions: see `benchmarks.public.agents.run`.
"""
