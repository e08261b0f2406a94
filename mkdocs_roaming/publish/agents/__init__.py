"""What agents read besides the pages: the skill and its copies, AGENTS.md, bundles, MCP configurations."""
