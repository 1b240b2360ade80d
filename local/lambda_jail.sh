#!/bin/sh
# Runs a command in a file system like Lambda's, in which only /tmp (512 MB) can be written.
#   lambda_jail.sh ROOT TASK OPT RUNTIME PREFIX USER SYSTEM EMULATOR COMMAND...
# Called in a mount namespace of its own (unshare --mount). ROOT is an empty folder; TASK, OPT and
# RUNTIME become /var/task, /opt and /var/runtime; PREFIX is where Python is installed; USER is
# UID:GID, or empty where there is no other user to become. SYSTEM has another processor's programs
# and EMULATOR runs them; both are empty for this machine's own.
set -eu
root=$1 task=$2 opt=$3 runtime=$4 prefix=$5 user=$6 system=$7 emulator=$8
shift 8

show() { # what, where: read-only, links stay links
    if [ -L "$1" ]; then
        cp -P "$1" "$root$2"
    elif [ -d "$1" ]; then
        mkdir -p "$root$2"
        mount --rbind "$1" "$root$2"
        mount -o remount,bind,ro "$root$2"
    fi
}

mount -t tmpfs -o size=1m,mode=755 jail "$root"
for folder in /usr /lib /lib64 /bin /etc; do
    show "$system$folder" "$folder"
done
case $prefix in /usr | /usr/*) ;; *) show "$prefix" "$prefix" ;; esac
show "$task" /var/task
show "$opt" /opt
show "$runtime" /var/runtime
mkdir -p "$root/proc" "$root/dev" "$root/tmp"
mount --rbind /proc "$root/proc"
for device in null zero full random urandom; do # and no shm, as on Lambda
    : >"$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
if [ "$emulator" ]; then
    : >"$root/emulator"
    mount --bind "$emulator" "$root/emulator"
    emulator=/emulator
fi
mount -t tmpfs -o size=512m,mode=1777 tmp "$root/tmp"
mount -o remount,ro "$root"
exec chroot ${user:+--userspec="$user" --groups=} "$root" \
    $emulator /bin/sh -c 'cd /var/task && exec "$@"' sh $emulator "$@"
