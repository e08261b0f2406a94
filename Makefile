# make demo    build the sample site, print its outline and two answered questions
# make test    install what the tests need and run them
# make check   everything: tests, slow proofs, types, style, import rules
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
APT_CHROMIUM := DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends chromium >/dev/null 2>&1

.PHONY: demo test check site clean browser azurite

define show
	@printf '\n$$ roaming %s\n' '$(1)'
	@$(BIN)/roaming $(1)
endef

demo: site
	$(call show,outline sample_site/site --budget 900)
	$(call show,ask sample_site/site "--drain-window default")
	$(call show,ask sample_site/site "my readings vanish after a power cut")
	@printf '\nTry next:\n'
	@printf '  %s\n' \
	  '$(BIN)/roaming search sample_site/site "power cut"' \
	  '$(BIN)/roaming expand sample_site/site reference/cli.md#ebb-drain' \
	  '$(BIN)/roaming ask sample_site/site "your own question"' \
	  '$(BIN)/roaming index YOUR_BUILT_SITE --url https://your.docs/' \
	  'less sample_site/site/llms.txt'

test: $(INSTALLED) browser
	@$(BIN)/python -m pytest -q

check: $(INSTALLED) browser azurite
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check -q .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m pytest -q -m "slow or not slow"

site: $(INSTALLED)
	@cd sample_site && NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true ../$(BIN)/mkdocs build -q -f mkdocs.yml

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11.5 or newer is needed here, for pymdown-extensions; name one: make PYTHON=python3.12" if sys.version_info < (3, 11, 5) else 0)'
	@echo "Installing into .venv"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt uv
	@$(BIN)/uv pip install -q -c constraints.txt --group dev -e .
	@touch $@

# The tests of pages in a browser need Chromium; where it cannot be installed they are skipped.
browser:
	@if ! { command -v chromium || command -v chromium-browser || test "$$CHROMIUM"; } >/dev/null; then \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null && echo "Installing Chromium" \
	  && { $(APT_CHROMIUM) || { apt-get update -qq >/dev/null 2>&1 && $(APT_CHROMIUM); }; } \
	  || echo "No Chromium, and it cannot be installed here: browser tests are skipped"; \
	fi

# The slow tests of Azure need its emulator, from npm; where it cannot be installed they are skipped.
azurite: $(INSTALLED)
	@cd tests && ../$(BIN)/python -m fleet.azure_server || true

clean:
	rm -rf .venv .cache site sample_site/site
