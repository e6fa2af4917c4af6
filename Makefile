# Each target prepares what it needs by itself; a fresh machine needs only Python ≥ 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
DATA := $(wildcard ../shared/data)
export PLDP_DATA ?= $(abspath $(DATA))
LOCK = $(VENV)-tools/bin/uv pip compile --quiet --no-config --generate-hashes --universal --python-version 3.11 \
	--no-emit-index-url --custom-compile-command "make lock" $(UPGRADE)
# Tests use all cores themselves; numerical libraries must not multiply them.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# Tests start hundreds of Pythons; without bytecode files each would compile the package again.
export PYTHONDONTWRITEBYTECODE :=

# What `make test-oldest` leaves out: JavaScript, pages, papers and the standard library's own work (survey, device, budgets, durable
# files) do not depend on the versions of dependencies, and neither does repeating one computation to see how often it covers.
NOT_OLDEST := tests/clients tests/project tests/survey tests/device tests/budgets tests/planning/test_skewed.py \
	$(foreach name,combinations growth rules,tests/structure/test_$(name).py) \
	$(foreach name,changes coverage tracked two_way,tests/estimates/test_$(name).py) \
	$(foreach name,floods integrity kills ledger nginx one_writer power siege steps,tests/collector/test_$(name).py) \
	$(wildcard tests/collector/test_*_page.py tests/design/test_*_page.py tests/collector/test_survey_ways.py tests/show/test_pages_in_a_browser.py tests/papers/test_*.py)

.PHONY: demo test test-times test-oldest test-long test-faults test-spark browser lint format bench docs lock sbom dist bundler lint-deploy audit clean help

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/demo.done ## run the main job end to end and write demo-report.html
	$(BIN)/pldp demo --html demo-report.html

test: $(VENV)/test.done browser bundler ## run all tests, doctests included
	$(BIN)/python -m pytest -n auto --dist loadgroup

test-times: $(VENV)/test.done browser bundler ## run all tests and print the CPU seconds of folders, files and tests, children included
	PYTHONPATH=tests $(BIN)/python -m pytest -n auto --dist loadgroup -p helpers.cpu_times --cpu-times build/cpu-times.tsv

test-long: $(VENV)/test.done browser ## run the statistical tests with many more runs
	PLDP_LONG=1 $(BIN)/python -m pytest -n auto --dist loadgroup tests
	PYTHONPATH=tests $(BIN)/python docs/make_coverage_page.py

test-faults: $(VENV)/test.done ## 200 kills, 10,000 power cuts, failing disks, floods: the long form, with its numbers
	PLDP_LONG=1 $(BIN)/python -m pytest -rP $(wildcard tests/collector/test_kills.py tests/collector/test_power.py tests/collector/test_floods.py tests/collector/test_siege.py tests/collector/test_one_writer.py tests/collector/test_integrity.py tests/collector/test_several_collectors.py tests/collector/test_four_collectors.py)

test-spark: $(VENV)/test.done ## run the tests of both engines on a Spark cluster, all of them
	PLDP_LONG=1 $(BIN)/python -m pytest tests/spark --durations=5

test-oldest: $(VENV)-oldest/test.done ## run the tests with the oldest dependencies that pyproject.toml allows
	PLDP_OLDEST=1 $(VENV)-oldest/bin/python -m pytest -n auto --dist loadgroup --doctest-ignore-import-errors $(addprefix --ignore ,$(NOT_OLDEST))

BROWSERS := chromium-headless-shell chrome-headless-shell chromium chromium-browser google-chrome google-chrome-stable

browser: ## install the Chromium that pages are tested in, where that is allowed and there is none: best the one without windows
	@for name in $(BROWSERS); do command -v $$name && exit; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get -qq update && for name in chromium-headless-shell chromium; do \
			apt-get -qq install --yes --no-install-recommends $$name >/dev/null && command -v $$name && exit; \
		done; \
	fi; \
	echo "no Chromium: tests of pages are skipped (try: apt-get install chromium)"

bundler: ## install what bundles the JavaScript device, where npm can
	@test -e .ci/js/node_modules/@rollup/wasm-node || npm ci --silent --ignore-scripts --no-audit --no-fund --prefix .ci/js \
		|| echo "no npm, or no registry: tests of the bundle are skipped"

lint: $(VENV)/lint.done ## check style, types and import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/lint.done ## format the code and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/test.done $(VENV)-bench/bench.done ## compare with peers; ONLY=core chooses one table, FORMER=v0.1 an older version to beat (collector, estimates)
	$(BIN)/python -m benchmarks $(if $(ONLY),--only $(ONLY)) $(if $(FORMER),--former $(FORMER)) --peers $(VENV)-bench/bin/python

docs: $(VENV)/docs.done browser ## build the pages in docs/ to site/, and open every one in a browser
	$(BIN)/sphinx-build -W --keep-going --quiet -c docs . site
	PLDP_SITE=site $(BIN)/python -m pytest tests/site

lock: $(VENV)-tools/tools.done ## pin every dependency with its hash; UPGRADE=--upgrade takes newer versions
	$(LOCK) pyproject.toml --extra collector --extra postgres --extra signing --extra plots -o requirements.lock
	$(LOCK) pyproject.toml .ci/build.txt --extra test --extra spark --extra lint --extra docs \
		-c requirements.lock -o requirements-ci.lock
	$(LOCK) .ci/build.txt -c requirements-ci.lock -o .ci/build.lock

sbom: $(VENV)-tools/tools.done ## list what the collector is made of in sbom.json (CycloneDX), from requirements.lock
	$(VENV)-tools/bin/cyclonedx-py requirements requirements.lock --pyproject pyproject.toml --output-reproducible -o sbom.json

dist: $(VENV)-tools/tools.done bundler ## build wheel, source archive, npm package, SBOM and checksums in dist/, the same bytes every time
	rm -rf dist
	$(VENV)-tools/bin/python .ci/dist.py dist

lint-deploy: $(VENV)-tools/tools.done ## check Dockerfile, scripts, compose.yaml and workflows with linters of their own
	$(VENV)-tools/bin/hadolint Dockerfile
	$(VENV)-tools/bin/shellcheck deploy/install.sh deploy/prepare.sh .ci/run
	$(VENV)-tools/bin/check-jsonschema --builtin-schema vendor.compose-spec compose.yaml
	$(VENV)-tools/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(VENV)-tools/bin/zizmor --offline --quiet .github/workflows

audit: $(VENV)-tools/tools.done ## look up known vulnerabilities of the locked versions, where an index answers
	$(VENV)-tools/bin/python .ci/audit.py requirements-ci.lock

clean: ## remove environments and results
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-bench $(VENV)-tools site jupyter_execute demo-report.html sbom.json dist .ci/js/node_modules

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "pldp needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.done: $(BIN)/python pyproject.toml
	$(PIP) install -e '.[plots,collector]'
	touch $@

$(VENV)/test.done: $(BIN)/python pyproject.toml
	$(PIP) install -e '.[test,spark]'
	touch $@ $(VENV)/demo.done

$(VENV)/lint.done: $(VENV)/test.done
	$(PIP) install -e '.[test,spark,lint]'
	touch $@

$(VENV)/docs.done: $(VENV)/test.done
	$(PIP) install -e '.[test,spark,docs]'
	touch $@

$(VENV)-oldest/test.done: pyproject.toml tests/oldest.txt
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip --disable-pip-version-check --quiet install -e '.[test]' -c tests/oldest.txt
	touch $@

$(VENV)-tools/tools.done: .ci/tools.txt
	$(PYTHON) -m venv $(VENV)-tools
	$(VENV)-tools/bin/python -m pip --disable-pip-version-check --quiet install -r .ci/tools.txt
	touch $@

$(VENV)-bench/bench.done: benchmarks/peers.txt
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/python -m pip --disable-pip-version-check --quiet install -r benchmarks/peers.txt
	touch $@
