#!/bin/sh
# Prints where a browser is for the browser tests: $CHROMIUM or $FIREFOX, the system's, or, as root,
# Debian's from apt, with a font that has Chinese characters (without one they are boxes).
#   browser.sh chromium | browser.sh firefox-esr
set -eu
name=$1
case $name in
    chromium) given=CHROMIUM ;;
    firefox-esr) given=FIREFOX ;;
    *) echo "browser.sh: chromium or firefox-esr, not $name" >&2; exit 2 ;;
esac
path=$(printenv "$given" || true)
path=${path:-$(command -v "$name" || true)}
if [ -z "$path" ]; then
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || {
        echo "browser.sh: no $name here, and no apt as root: set $given=/path/to/it" >&2
        exit 1
    }
    apt-get update -qq >&2
    apt-get install -qq -y --no-install-recommends "$name" fonts-wqy-microhei >&2
    path=$(command -v "$name")
fi
echo "$path"
