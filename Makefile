# make install  create .venv with all development dependencies
# make demo     build this documentation as it is deployed, and serve it; with a key or a local model it answers
# make test     run the tests except the slow ones
# make lint     check style, types, import rules and the size of the code
# make check    lint, and all tests including the slow ones
# make site     build the sample site
# make bundle   build the documentation, and put it into the package
# make widget   build the JavaScript that sites publish from widget/ (needs Node)
# make pictures take the pictures of README and documentation again
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
ESBUILD := npx --yes esbuild@0.25.12 --bundle --minify --charset=utf8 --target=es2022 --log-level=error
BUILT := mkdocs_roaming
APT := DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends
# Install a command from a Debian package if it is missing: $(call apt_install,COMMAND,PACKAGE)
apt_install = command -v $(1) >/dev/null || test -x /usr/sbin/$(1) \
	|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && echo "Installing $(2)" \
	&& { $(APT) $(2) >/dev/null 2>&1 || { apt-get update -qq >/dev/null 2>&1 && $(APT) $(2) >/dev/null 2>&1; }; } } \
	|| echo "$(2) is missing and cannot be installed: tests that need it are skipped"

DEBIAN := .cache/python3.11

# Containers forbid Python to keep what it has compiled: then each process compiles all that it imports.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: install bundle demo test lint check site clean browser parts debian pictures widget widget-check

install: $(INSTALLED)

demo: export ROAMING_DEMO = 1
demo: export ROAMING_MONEY_A_DAY ?= unlimited
demo: $(INSTALLED)
	@NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(BIN)/mkdocs build -q -d .cache/demo
	@$(BIN)/roaming serve .cache/demo --site .cache/demo

test: $(INSTALLED) browser
	@$(BIN)/python -m pytest -q -n 2 $(OPTIONS)

lint: $(INSTALLED)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check -q .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python benchmarks/size.py

check: lint widget-check parts debian
	@$(BIN)/python -m pytest -q -n 2 -m "slow or not slow" --hypothesis-profile thorough $(OPTIONS)

site: $(INSTALLED)
	@cd sample_site && NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true ../$(BIN)/mkdocs build -q -f mkdocs.yml

bundle: $(INSTALLED)
	@NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(BIN)/mkdocs build -q
	@$(BIN)/roaming bundle site -o mkdocs_roaming/_docs

widget:
	@$(ESBUILD) widget/*.js widget/*.css --format=esm '--external:./roaming-*' --outdir=$(BUILT)/widget
	@$(ESBUILD) widget/early/roaming-early.js --format=iife --outdir=$(BUILT)/widget
	@$(ESBUILD) widget/mcp/roaming-mcp.js --format=iife --global-name=roaming --outdir=$(BUILT)/widget

# Fails where a file that sites publish is not what `make widget` writes.
widget-check:
	@$(MAKE) -s widget BUILT=.cache/built
	@cd .cache/built && for file in widget/*; do \
	  cmp "$$file" "../../mkdocs_roaming/$$file" || { echo "The widget is not built from its sources: run make widget"; exit 1; }; \
	done

pictures: $(INSTALLED) browser
	@$(BIN)/uv pip install -q -c constraints.txt pillow
	@$(BIN)/python benchmarks/pictures.py

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("pymdown-extensions needs Python 3.11.5 or newer. Choose one: make PYTHON=python3.12" if sys.version_info < (3, 11, 5) else 0)'
	@echo "Installing into .venv"
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt uv
	@$(BIN)/uv pip install -q -c constraints.txt --group dev -e .
	@touch $@

# Browser tests need Chromium; they are skipped where it cannot be installed.
browser:
	@test "$$CHROMIUM" || command -v chromium-browser >/dev/null || { $(call apt_install,chromium,chromium); }

# Slow tests run real servers and tools; they are skipped where these cannot be installed.
parts: $(INSTALLED) browser
	@$(call apt_install,nginx,nginx-light)
	@$(call apt_install,caddy,caddy)
	@$(call apt_install,redis-server,redis-server)
	@$(call apt_install,firefox-esr,firefox-esr)

# A slow test installs the wheel on Debian 12's Python 3.11; it is skipped where that cannot be installed.
debian: $(INSTALLED)
	@$(call apt_install,/usr/bin/python3.11,python3.11)
	@if test -x /usr/bin/python3.11 && ! test $(DEBIAN)/.installed -nt pyproject.toml; then \
	  $(BIN)/uv venv -q --clear --python /usr/bin/python3.11 $(DEBIAN) \
	  && $(BIN)/uv pip install -q --python $(DEBIAN) '.[all]' && touch $(DEBIAN)/.installed; \
	fi

clean:
	rm -rf .venv .cache site sample_site/site
