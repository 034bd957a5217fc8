# shellcheck shell=bash
# Makes a world of its own for one scenario and holds it until standard input
# ends: a network that meets nothing of the machine, and a view of the Debian
# root that nothing written in it outlives. Run by world.rs as the first process
# in fresh mount, network and process namespaces: everybody else in there ends
# with it.
#   world.sh ROOT PROGRAM ASSETS FOLDER
set -euo pipefail
root=$1 program=$2 assets=$3 folder=$4

ip link set lo up
mount --bind "$root" "$root" # to be made read-only below
mount -t proc proc "$root/proc"
for system in sys dev; do mount --rbind "/$system" "$root/$system"; done
# Sockets, locks and temporary files of this run alone, however many run at once.
for empty in run tmp mnt; do mount -t tmpfs -o mode=755 tmpfs "$root/$empty"; done
chmod 1777 "$root/tmp"
mkdir -m 700 "$root/run/xr"

touch "$root/mnt/convene"
mount --bind "$program" "$root/mnt/convene"
mkdir "$root/mnt/assets" "$root/mnt/scenario"
mount --bind "$assets" "$root/mnt/assets"
mount -o remount,bind,ro "$root/mnt/assets"
mount --bind "$folder" "$root/mnt/scenario"
mount -o remount,bind,ro "$root"
cd /
exec chroot "$root" /bin/sh -c 'echo ready; exec cat'
