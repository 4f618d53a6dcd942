#!/bin/bash
# mktiny.sh DIR: makes the tree of the images tiny-*. Needs root, for a device.
set -euo pipefail
mkdir "$1"; cd "$1"
mkdir -p d/e
head -c 4100 /dev/zero | tr '\0' a > d/f
ln d/f d/h
printf tail > d/e/g
ln -s ../f d/e/l
mknod d/n c 1 3
mkfifo d/p
find . -exec touch --no-dereference --date=@1234567890 {} +
