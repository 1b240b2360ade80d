#!/bin/sh
# Makes a virtual environment hold exactly what one requirements file pins, by hash.
#   setup.sh .venv requirements/local.txt [requirements/dev.txt ...]
# The first file is what is needed, the others are larger sets that do as well: an environment that
# holds one of them keeps it. The environment is made anew when its Python is gone.
set -eu
cd "$(dirname "$0")/.."
environment=$1
wanted=$2
shift

works() { "$1/bin/python" -c '' 2>/dev/null; }

holds=$(cat "$environment/.installed-from" 2>/dev/null || true)
for file in "$@"; do
    if [ "$file" = "$holds" ]; then
        wanted=$file
    fi
done
if cmp -s "$wanted" "$environment/.installed" && works "$environment"; then
    exit 0
fi

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
echo "$wanted" >"$environment/.installed-from"
