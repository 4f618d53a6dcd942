#!/bin/sh
# Makes the inputs of the guide in the current directory: rootfs/ and rootfs.tar (a small system), home/ (a person's files), etc/ (settings).
# The test of the guide runs it before each page. The content is the same each time. It needs openssl and tar.
set -eu

# Writes $1 bytes that cannot be compressed; the same bytes for the same number $2.
noise() {
  head -c "$1" /dev/zero | openssl enc -aes-128-ctr -K "$(printf '%032d' "$2")" -iv 00000000000000000000000000000000
}

# Writes a text of $1 lines; every text is a different one for another word $2.
text() {
  seq 1 "$1" | sed "s/.*/line & of $2: value &&, checked by $2 at &:&/"
}

mkdir -p rootfs/etc/app rootfs/usr/bin rootfs/usr/lib rootfs/usr/share/doc/app rootfs/usr/share/app rootfs/var/log rootfs/tmp
printf 'NAME=Example\nVERSION_ID=1\nID=example\n' >rootfs/etc/os-release
printf 'box\n' >rootfs/etc/hostname
printf 'root:x:0:0:root:/root:/bin/sh\n' >rootfs/etc/passwd
text 40 settings >rootfs/etc/app/app.conf
{ printf '#!/bin/sh\necho hello\n'; } >rootfs/usr/bin/hello
{ noise 60000 1; text 9000 app; } >rootfs/usr/bin/app
{ noise 40000 2; text 7000 libapp; } >rootfs/usr/lib/libapp.so.1
text 20000 data >rootfs/usr/share/app/data.csv
cp rootfs/usr/share/app/data.csv rootfs/usr/share/app/data.csv.orig
for number in $(seq 1 40); do text $((number * 5)) "page $number" >"rootfs/usr/share/doc/app/page-$number.txt"; done
text 3000 log >rootfs/var/log/boot.log
ln -s usr/bin rootfs/bin
ln -s libapp.so.1 rootfs/usr/lib/libapp.so
chmod 755 rootfs/usr/bin/* rootfs/usr/lib/*.so.1

mkdir -p home/documents home/photos
text 2000 notes >home/documents/notes.txt
text 500 letter >home/documents/letter.txt
noise 300000 3 >home/photos/beach.jpg
noise 200000 4 >home/photos/forest.jpg
printf 'export EDITOR=vi\n' >home/profile

mkdir -p etc/ssl
printf 'umask 022\n' >etc/profile
printf '127.0.0.1 localhost\n' >etc/hosts
noise 1500 5 >etc/ssl/cert.pem

chmod -R u=rwX,go=rX rootfs home etc
chmod 1777 rootfs/tmp
find rootfs home etc -exec touch -h -d '2026-01-02 03:04:05 UTC' {} +
tar --sort=name --owner=0 --group=0 --numeric-owner -C rootfs -cf rootfs.tar .
