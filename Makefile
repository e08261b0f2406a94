# make demo    build the sample site, print its outline and two answered questions
# make test    install what the tests need and run them
# make check   everything: tests, slow proofs, types, style, import rules
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: demo test check site clean

demo: site
	@$(BIN)/python -m sample_site.demo

test: $(INSTALLED)
	@$(BIN)/python -m pytest -q

check: $(INSTALLED)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check -q .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m pytest -q -m "slow or not slow"

site: $(INSTALLED)
	@cd sample_site && NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true ../$(BIN)/mkdocs build -q -f mkdocs.yml

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; name it: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "Installing into .venv"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt uv
	@$(BIN)/uv pip install -q -c constraints.txt --group dev -e .
	@touch $@

clean:
	rm -rf .venv .cache site sample_site/site
