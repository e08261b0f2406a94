"""Small programming tasks for coding agents, each with a checker that runs the code."""
