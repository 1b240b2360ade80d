#!/bin/sh
# Compiles every requirements file with hashes and without addresses. Pins that still fit are kept,
# so newer releases alone change nothing.
#   compile_requirements.sh                           writes the files
#   compile_requirements.sh --upgrade-package NAME    and takes the newest NAME that fits
#   compile_requirements.sh --check                   compiles copies and fails when one differs
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
output=$root
if [ "${1:-}" = "--check" ]; then
    output=$(mktemp -d)
    trap 'rm -rf "$output"' EXIT
    cp -R requirements layers "$output/"
    shift
fi
upgrade=${*:-}
cd "$output"

compile() { # input without .in, options
    name=$1
    shift
    "$root/scripts/uv" pip compile --quiet --no-config --generate-hashes --no-annotate --no-header \
        $upgrade "$@" "$name.in" -o "$name.txt"
}

compile requirements/dev --universal --python-version 3.11
compile requirements/conformance --universal --python-version 3.11 -c requirements/dev.txt
compile requirements/console --universal --python-version 3.11 -c requirements/conformance.txt
compile requirements/local --universal --python-version 3.11 -c requirements/dev.txt
compile requirements/cli --universal --python-version 3.11 -c requirements/dev.txt
compile requirements/eval --universal --python-version 3.11 -c requirements/dev.txt
compile requirements/clients --universal --python-version 3.11
compile requirements/llama --universal --python-version 3.11 -c requirements/dev.txt
compile requirements/essays --universal --python-version 3.11 --no-deps
compile requirements/build --universal --python-version 3.11
compile requirements/runtime --universal --python-version 3.11
compile requirements/deploy --universal --python-version 3.11
compile requirements/templates --universal --python-version 3.11
compile requirements/bootstrap --universal --python-version 3.11
for layer in core embedding; do
    compile "layers/$layer/requirements" --python-version 3.13 \
        --python-platform aarch64-manylinux_2_28 -c requirements/dev.txt
done

if [ "$output" != "$root" ]; then
    diff -ru "$root/requirements" requirements && diff -ru "$root/layers" layers ||
        { echo "The compiled requirements are not what their .in files say: make compile" >&2; exit 1; }
fi
