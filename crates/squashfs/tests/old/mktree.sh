#!/bin/bash
# mktree.sh DIR: makes the tree that the images in this directory hold. Needs root, for owners and devices.
set -euo pipefail
mkdir "$1"; cd "$1"
mkdir -p etc/deep/er bin dev many/sub empty-dir
printf 'hello\n' > etc/motd
seq 1 2600 > etc/numbers
: > etc/empty
python3 -c 'import hashlib, sys
for n in range(220): sys.stdout.buffer.write(hashlib.sha256(b"%d" % n).digest())' > bin/noise
ln -s ../etc/motd bin/link
ln etc/motd etc/motd2
printf 'x%.0s' {1..5000} > etc/deep/er/xs
head -c 8192 /dev/zero | tr '\0' y > etc/deep/whole
cp etc/numbers bin/again
{ head -c 12288 /dev/zero; printf end; } > bin/sparse
mkfifo dev/fifo; mknod dev/null c 1 3; mknod dev/sda b 8 1
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("dev/sock")'
for n in $(seq 1 300); do : > "many/a name of thirty bytes and more, number $n"; done
printf z > "many/$(printf 'n%.0s' {1..200})"
chmod 4755 etc/deep/er/xs; chmod 600 etc/empty; chmod 1777 etc/deep
chown 7:8 etc/numbers; chown -h 1000:1000 bin/link; chown 1000:7 many/sub
find . -exec touch --no-dereference --date=@1234567890 {} +
