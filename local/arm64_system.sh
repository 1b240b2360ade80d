#!/bin/sh
# Makes FOLDER hold what runs Lambda's arm64 code here: a small Debian with Lambda's Python
# (FOLDER/system), and an emulator of its processor (FOLDER/qemu). Nothing is installed on this
# machine: packages are fetched with apt, checked against its keys and unpacked.
#   arm64_system.sh FOLDER
# Needs root, for the device files of the Debian, and apt with a mirror. Nothing to do the second time.
set -eu
folder=$1
packages=python3.13,libpython3.13-stdlib,libstdc++6,ca-certificates,tzdata,binutils

[ -e "$folder/ready" ] && exit 0
refuse() {
    echo "prove-arm64: $1" >&2
    exit 1
}
[ "$(uname -s)" = Linux ] || refuse "qemu's user emulation needs Linux"
for program in apt-get dpkg-deb wget gpgv; do
    command -v "$program" >/dev/null || refuse "$program is missing: it needs Debian or Ubuntu, with wget and gpgv"
done
[ "$(id -u)" = 0 ] || refuse "the first time it needs root, to make an arm64 system in $folder"

rm -rf "$folder"
mkdir -p "$folder/tools" "$folder/archives"
chmod 777 "$folder/archives" # apt fetches as a user of its own
cd "$folder/archives"
# The static programs are in one or the other, by the release.
fetch() { apt-get download -qq qemu-user-static qemu-user debootstrap debian-archive-keyring; }
fetch 2>/dev/null || {
    apt-get update -qq || refuse "apt has no mirror that answers"
    fetch || refuse "apt does not have qemu-user-static, debootstrap and debian-archive-keyring"
}
for archive in *.deb; do
    dpkg-deb -x "$archive" "$folder/tools"
done
qemu=$folder/tools/usr/bin/qemu-aarch64-static
cp -L "$([ -e "$qemu" ] && echo "$qemu" || echo "${qemu%-static}")" "$folder/qemu"

# Its first stage only: nothing of the packages is run, they are unpacked.
DEBOOTSTRAP_DIR=$folder/tools/usr/share/debootstrap \
    sh "$folder/tools/usr/sbin/debootstrap" --foreign --arch=arm64 --variant=minbase \
    --keyring="$folder/tools/usr/share/keyrings/debian-archive-keyring.gpg" \
    --include="$packages" trixie "$folder/system" >"$folder/log" ||
    refuse "debootstrap failed: $(tail -n 1 "$folder/log")"
for archive in "$folder"/system/var/cache/apt/archives/*.deb; do
    dpkg-deb -x "$archive" "$folder/system"
    rm "$archive"
done
rm -rf "$folder/tools" "$folder/archives"
touch "$folder/ready"
