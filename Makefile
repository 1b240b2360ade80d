# Needs only make, a shell and Python 3.11 or newer; everything else is installed into .venv.
# `make help` lists the targets.
.DEFAULT_GOAL := help
PORT ?= 8787
WORKERS ?= 3

export PYTHONPATH := $(CURDIR):$(CURDIR)/shared:$(CURDIR)/cli
export SAM_CLI_TELEMETRY := 0
export LITELLM_LOCAL_MODEL_COST_MAP := True
# Some shells set it; without .pyc files importing litellm takes 8 s instead of 3.
unexport PYTHONDONTWRITEBYTECODE

python := .venv/bin/python
# Neighbours share a database and a server; work stealing leaves them on one worker.
pytest := $(python) -m pytest -n $(WORKERS) --dist worksteal
sam := .venv-build/bin/python -m samcli

.PHONY: help setup setup-dev setup-build setup-conformance setup-clients setup-essays setup-templates demo serve reset unit test check check-code console setup-console console-test pictures check-security check-template check-locks build prove-runtime prove-arm64 setup-deploy deploy-local prove-deploy test-turbopuffer-sdk smoke prove-upgrade bom audit docs decisions migrate bench cost shape simulate endurance conformance compile clean

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name text; do \
		printf '  make %-13s %s\n' "$$name" "$$text"; done

setup: ## install what the local stack needs into .venv (nothing to do the second time)
	@scripts/setup.sh .venv requirements/local.txt requirements/dev.txt requirements/conformance.txt

setup-dev: ## install what tests and checks need too
	@scripts/setup.sh .venv requirements/dev.txt requirements/conformance.txt

setup-build: ## install the SAM tools into .venv-build
	@scripts/setup.sh .venv-build requirements/build.txt

demo: setup ## the whole path on one machine; FILE=a.json ASK='a question' for your own document
	@$(python) -m local.demo $(if $(FILE),--file "$$FILE") $(if $(ASK),--ask "$$ASK") $(if $(THRESHOLD),--threshold "$$THRESHOLD")

serve: setup ## the stack on one machine, HTTP and MCP on 127.0.0.1:8787 (PORT=)
	@$(python) -m local.serve --port $(PORT)

reset: setup ## delete .local: documents, indexes and keys of demo and serve
	@$(python) -m local.reset

unit: WORKERS = 2
unit: setup-dev ## the tests that need no running parts, in a minute (WORKERS=2)
	@CONTEXT_SEARCH_TEST_PROFILE=unit $(pytest) -m "not stack and not slow"

test: setup-build setup-essays ## all tests, in about ten minutes: those of make unit, those with running parts, slow ones
	@$(pytest) --durations=25

check: check-code check-security check-template check-locks ## lint, types, import rules; security; templates; locks

check-code: setup-conformance
	@$(python) -m ruff check .
	@$(python) -m ruff format --check .
	@$(python) -m mypy
	@.venv/bin/lint-imports
	@$(python) -m bandit --quiet --recursive --configfile pyproject.toml \
		shared functions local scripts cli
	@$(python) -m console.build --check

console: setup-conformance ## build the web console's one file from console/src (needs npm's registry once)
	@$(python) -m console.build

setup-conformance:
	@scripts/setup.sh .venv requirements/conformance.txt

setup-clients: setup-conformance
	@scripts/setup.sh .venv-clients requirements/clients.txt
	@scripts/setup.sh .venv-llama requirements/llama.txt

setup-essays: setup-dev
	@scripts/setup.sh .venv-essays requirements/essays.txt

setup-templates: setup-conformance
	@scripts/setup.sh .venv-templates requirements/templates.txt

setup-console:
	@scripts/setup.sh .venv-console requirements/console.txt
	@scripts/browser.sh chromium >/dev/null

console-test: setup-console ## the console in browsers, against a stack of its own (apt as root, or CHROMIUM= and FIREFOX=path)
	@.venv-console/bin/python -m console.build --check
	@# Two: each browser has processes of its own.
	@.venv-console/bin/python -m pytest -n 2 --dist loadfile tests/console -o python_files='check_*.py' -rs

pictures: setup-console ## take the pictures of docs/ anew, of the console and of the command line
	@PICTURES=docs/pictures .venv-console/bin/python -m pytest tests/console/check_pictures.py

check-security: setup-dev
	@$(python) -m pytest tests/architecture -k "security or secrets or dependencies"

check-template: setup-build setup-templates
	@mkdir -p .build
	@$(sam) validate --lint
	@.venv-build/bin/python -m scripts.translate_template > .build/template.json
	@# W2001: the translation has put DeploymentType where it is used.
	@.venv-build/bin/cfn-lint --ignore-checks W2001 -- .build/template.json
	@.venv-build/bin/cfn-lint infrastructure/*.yaml
	@# What is left out says why beside it, in Metadata.
	@.venv-templates/bin/checkov --quiet --compact --framework cloudformation --skip-download \
		--file template.yaml infrastructure/*.yaml

check-locks: setup-dev
	@# What uv has cached is enough as a rule, and spares the registry a hundred questions.
	@UV_OFFLINE=1 scripts/compile_requirements.sh --check >/dev/null 2>&1 || scripts/compile_requirements.sh --check

build: setup-dev setup-build ## sam build for Lambda (arm64), then prove sizes and layers
	@mkdir -p .build
	@PYTHON=$(python) $(sam) build
	@$(python) -m scripts.prove_layers

prove-runtime: setup-dev ## run what make build made under Lambda's runtime client, in a jail like Lambda's
	@test -d .aws-sam/build && test -d .build/host/runtime || $(MAKE) --no-print-directory build
	@$(python) -m pytest tests/runtime -o python_files='check_*.py'

prove-arm64: setup-dev ## run what is shipped: make build's arm64 layers, in that jail, on an emulated processor (apt)
	@test -d .aws-sam/build || $(MAKE) --no-print-directory build
	@$(python) -m pytest tests/runtime -o python_files='check_*.py shipped_*.py' -m arm64 --arm64

test-turbopuffer-sdk: setup-dev ## turbopuffer's own tests of its SDK against the local server (SDK=path/to/turbopuffer-python)
	@test -d "$(SDK)/tests/custom" || { echo "SDK= names no source of turbopuffer's Python SDK"; exit 1; }
	@test -x "$(SDK)/.venv/bin/python" || { python3 -m venv "$(SDK)/.venv" && cd "$(SDK)" && .venv/bin/pip install --quiet -r requirements-dev.lock; }
	@$(python) -m tests.contract.turbopuffer.prove_sdk "$(SDK)"

docs: setup-dev ## write what comes from the code: routes of template.yaml, tables of docs/, answers from a run of docs/api.md
	@$(python) -m scripts.template_routes
	@$(python) -m scripts.api_reference
	@$(python) -m scripts.glossary
	@$(python) -m scripts.schema_tables
	@$(python) -m scripts.cost --write
	@$(python) -m pytest tests/conformance/check_api_walk.py -o python_files='check_*.py' --rewrite

setup-deploy: setup-dev setup-build
	@scripts/setup.sh .venv-deploy requirements/deploy.txt

deploy-local: build setup-deploy ## sam deploy to AWS on this machine, which stays until Ctrl-C
	@$(python) -m local.deployed

prove-deploy: build setup-deploy ## the same, with everything that a deployment does tried, and IAM compared
	@$(python) -m tests.deploy.prove

prove-upgrade: setup-dev ## a release and this state side by side, and back (BASE=v0.2.0, PART=mixed for one part)
	@$(python) -m tests.upgrade.prove $(BASE) $(if $(PART),--part $(PART)) --workers $(WORKERS)

smoke: ## walk a deployment from outside and delete what that made (URL=https://…, SECRET=…)
	@python3 -m scripts.smoke "$(URL)" # finds SECRET in the environment, where make puts it

bom: setup-dev ## the bill of materials of what is deployed, CycloneDX, in .build/bom.json
	@mkdir -p .build
	@$(python) -m scripts.bom > .build/bom.json

audit: setup-dev ## which pinned packages have known advisories, asked of OSV (api.osv.dev)
	@$(python) -m scripts.audit

decisions: setup-dev ## make new pages of docs/decisions final (decision 0011)
	@$(python) -m scripts.final_decisions

migrate: setup ## bring the schema of the database at DATABASE_URL up to date (DRY_RUN=1: only say how)
	@$(python) -m context_search.postgres.migrations --database-url "$$DATABASE_URL" $(if $(DRY_RUN),--dry-run)

# With the environment of the browser tests, which is the one of all tests and a browser's driver.
bench: setup-console setup-essays ## speeds of the parts, one program after the other
	@for program in bench/[!_]*.py; do \
		name=$$(basename "$$program" .py); echo "== $$name"; .venv-console/bin/python -m bench "$$name" || exit; done

# A transformer has an environment of its own: 100 MB, and code that is compiled elsewhere.
eval_python := $(if $(filter e5,$(MODELS)),.venv-eval/bin/python,$(python))

eval: setup-dev ## how well search finds judged passages (EVAL_DATA=folder, MODELS='local e5', VECTORS=file, QUESTIONS=100)
	@$(if $(filter e5,$(MODELS)),scripts/setup.sh .venv-eval requirements/eval.txt)
	@$(eval_python) -m evaluation run $(if $(EVAL_DATA),--sets "$(EVAL_DATA)") \
		$(addprefix --model ,$(MODELS)) $(if $(VECTORS),--vectors "$(VECTORS)") \
		$(if $(QUESTIONS),--questions $(QUESTIONS))

cost: setup-dev ## what a deployment costs a month (LOAD='small zh, questions_a_day=50'; default: three users)
	@$(python) -m scripts.cost $(if $(LOAD),"$(LOAD)")

shape: setup-dev ## figures of the deployed code, and of three requests (RECORD=0.2.0 keeps them in docs/shape.tsv)
	@$(python) -m scripts.shape $(if $(RECORD),--record "$(RECORD)")

simulate: setup-dev ## what make test samples, whole: 5,000 histories, all properties (only histories: SEEDS=100000; SEED=7 tells one)
	@$(python) -m tests.faults.simulation.run $(if $(SEED),--seed $(SEED)) $(if $(SEEDS),--seeds $(SEEDS))
	@$(if $(SEED)$(SEEDS),,$(python) -m tests.faults.simulation.record)
	@$(if $(SEED)$(SEEDS),,CONTEXT_SEARCH_TEST_PROFILE=thorough $(pytest) -m "hypothesis or sampled")

endurance: setup-dev ## random edits, kills and restarts, then proof (MINUTES=10, SEED=)
	@$(python) -m tests.faults.endurance.run --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED))

conformance: setup-clients ## official MCP suite, Inspector and clients, the API's contract and walk (needs npm)
	@$(python) -m pytest -n $(WORKERS) --dist loadfile tests/conformance -o python_files='check_*.py'

compile: setup-dev ## recompile every requirements file, keeping pins that still fit (UPGRADE=package)
	@scripts/compile_requirements.sh $(if $(UPGRADE),--upgrade-package $(UPGRADE))

clean: ## remove what was built or installed here, and .local with every document in it
	@rm -rf .venv .venv-build .venv-clients .venv-console console/node_modules console/made .venv-deploy .venv-essays .venv-eval .venv-llama .venv-templates .build .aws-sam .local .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
