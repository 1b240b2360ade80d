#!/bin/sh
# Makes a virtual environment hold exactly what one requirements file pins, by hash.
#   setup.sh .venv requirements/local.txt [requirements/dev.txt ...]
# The first file is installed; when any of the files is what the environment already holds
# (a larger set is as good), nothing happens. The environment is made anew when its Python is gone.
set -eu
cd "$(dirname "$0")/.."
environment=$1
wanted=$2
shift

works() { "$1/bin/python" -c '' 2>/dev/null; }

for file in "$@"; do
    if cmp -s "$file" "$environment/.installed" && works "$environment"; then
        exit 0
    fi
done

if ! works .venv; then
    python=$(scripts/find_python.sh)
    echo "setup: .venv with $("$python" -V) ($python)"
    rm -rf .venv
    "$python" -m venv .venv
fi
if ! cmp -s requirements/bootstrap.txt .venv/.bootstrap; then
    .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        --require-hashes --only-binary :all: -r requirements/bootstrap.txt
    cp requirements/bootstrap.txt .venv/.bootstrap
fi
works "$environment" || scripts/uv venv --quiet --clear --python .venv/bin/python "$environment"

echo "setup: $environment holds $wanted"
rm -f "$environment/.installed"
scripts/uv pip sync --quiet --python "$environment/bin/python" --require-hashes --only-binary :all: \
    "$wanted" requirements/bootstrap.txt
cp "$wanted" "$environment/.installed"
