#!/bin/sh
# Prints where a Chromium is for the browser tests: $CHROMIUM, the system's, or, as root, Debian's
# from apt, with a font that has Chinese characters (without one they are boxes).
set -eu
if [ -n "${CHROMIUM:-}" ]; then
    echo "$CHROMIUM"
    exit 0
fi
if ! command -v chromium >/dev/null; then
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || {
        echo "chromium.sh: no chromium here, and no apt as root: set CHROMIUM=/path/to/it" >&2
        exit 1
    }
    apt-get update -qq >&2
    apt-get install -qq -y --no-install-recommends chromium fonts-wqy-microhei >&2
fi
command -v chromium
