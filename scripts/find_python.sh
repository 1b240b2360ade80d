#!/bin/sh
# Prints the path of a Python that really runs.
#   find_python.sh         any version the project supports, the Lambda's own first, able to make a venv
#   find_python.sh 3.13    that minor version, whatever else it lacks (byte-compiling needs nothing)
# Ends with 1, and says what to install, when there is none.
set -u

# A pyenv shim exists for every installed version but runs only the selected ones: asking tells.
runs() { # interpreter, minor version or "", modules
    "$1" -c "
import sys, $3
ok = '%d.%d' % sys.version_info[:2] == '$2' if '$2' else sys.version_info[:2] >= (3, 11)
sys.exit(0 if ok else 1)" >/dev/null 2>&1
}

candidates() { # minor version
    command -v "python$1"
    ls -d "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".[0-9]*/bin/python \
        "${UV_PYTHON_INSTALL_DIR:-$HOME/.local/share/uv/python}/cpython-$1".*/bin/python3 \
        "/usr/local/bin/python$1" "/usr/bin/python$1" "/opt/homebrew/bin/python$1" \
        .venv/bin/python 2>/dev/null
}

first() { # minor version, modules
    candidates "$1" | while IFS= read -r python; do
        if runs "$python" "$1" "$2"; then
            "$python" -c 'import sys; print(sys.executable)'
            break
        fi
    done
}

if [ $# -gt 0 ]; then
    found=$(first "$1" sys)
    [ -n "$found" ] && echo "$found" && exit 0
    echo "No Python $1 found (on PATH, in pyenv or in uv)." >&2
    exit 1
fi

for version in 3.13 3.12 3.11 3.14; do
    found=$(first "$version" "venv, ensurepip")
    [ -n "$found" ] && echo "$found" && exit 0
done
if runs python3 "" "venv, ensurepip"; then
    command -v python3
    exit 0
fi
if runs python3 "" sys; then
    echo "$(command -v python3) cannot make virtual environments. On Debian or Ubuntu:" >&2
    echo "    apt-get install $(python3 -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')" >&2
else
    echo "context-search needs Python 3.11 or newer and found none. On Debian or Ubuntu:" >&2
    echo "    apt-get install python3 python3-venv" >&2
fi
exit 1
