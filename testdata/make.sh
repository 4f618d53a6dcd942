#!/bin/bash
# Makes files of every format that packline writes, and prints the rows of README.md without the last column.
#   testdata/make.sh VERSION PACKLINE [erofs]
# makes testdata/VERSION, which must not exist: files of a version are never made again. With erofs, makes only EROFS images. Needs python3,
# age-keygen and ssh-keygen.
set -euo pipefail
version=$1
packline=$(realpath "$2")
only=${3-}
cd "$(dirname "$0")"
mkdir "$version"
cd "$version"
export SOURCE_DATE_EPOCH=1700000000

# Inputs: a text, a later version of it, and a tree with one entry of each kind that needs no root.
seq 1 1100 > text
{ seq 1 400; echo new; seq 401 1090; } > text2
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/usr/lib"
cp text "$tree/usr/text"
cp text2 "$tree/usr/lib/text2"
ln "$tree/usr/text" "$tree/usr/lib/again"
ln -s ../usr/text "$tree/usr/link"
python3 -c 'import hashlib, sys
for n in range(40): sys.stdout.buffer.write(hashlib.sha256(b"%d" % n).digest())' > "$tree/noise"
: > "$tree/empty"
printf begin > "$tree/sparse" && truncate -s 9000 "$tree/sparse" && printf end >> "$tree/sparse"
# With blocks of 8K, several clusters, and a hole.
seq 1 9000 > "$tree/long"
truncate -s 20000 "$tree/hole"
mkfifo "$tree/pipe"
printf x > "$tree/$(printf 'n%.0s' {1..200})"
setfattr -n user.comment -v kept "$tree/noise"
chmod 4755 "$tree/noise" && chmod 600 "$tree/empty"
find "$tree" -exec touch --no-dereference --date=@1234567890 {} +

# keep FILE COMMANDS READING: makes FILE with packline's commands and prints a row. READING says what reads the file again; HASH in it is
# the content of FILE.roothash.
keep() {
  local commands=$2
  while [ -n "$commands" ]; do
    local command=${commands%% && *}
    # shellcheck disable=SC2086
    "$packline" ${command//TREE/$tree} >/dev/null 2>&1 || { echo "failed: $command" >&2; exit 1; }
    [ "$command" = "$commands" ] && break
    commands=${commands#* && }
  done
  local reading=$3
  [ ! -e "$1.roothash" ] || reading=${reading/HASH/$(cat "$1.roothash")}
  echo "| \`$version/$1\` | \`$2\` | \`$reading\` | \`?\` |"
}

other_formats() {
  for codec in none gzip xz lzma zstd lz4 lz4hc lzo bzip2 huff0 zle slack+zstd auto; do
    keep "$codec.pln" "compress text -c $codec --record-size 4K -o $codec.pln" "decompress $codec.pln -o out"
  done
  keep range.pln "compress text -c zstd --record-size 4K -o range.pln" "cat range.pln --range 4000..4200"

  age-keygen -o identity.txt 2>/dev/null
  ssh-keygen -q -t ed25519 -N '' -C kept -f ssh.key
  echo 'kept for ever' > passphrase.txt
  age-keygen -y identity.txt > recipients.txt
  keep x25519.pln "compress text --recipients-file recipients.txt -o x25519.pln" "decompress x25519.pln --identity identity.txt -o out"
  keep ssh.pln "compress text --recipients-file ssh.key.pub -o ssh.pln" "decompress ssh.pln --identity ssh.key -o out"
  keep passphrase.pln "compress text --passphrase-file passphrase.txt -o passphrase.pln" \
    "decompress passphrase.pln --passphrase-file passphrase.txt -o out"
  keep padded.pln "compress text --recipients-file recipients.txt --pad -o padded.pln" "decompress padded.pln --identity identity.txt -o out"

  # Damage that the recovery data has to repair: 8 bytes in the middle.
  damage() { printf damaged! | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
  keep recovery.pln "compress text -c none --recovery 30% -o recovery.pln" "decompress recovery.pln -o out"
  cp recovery.pln damaged.pln && damage damaged.pln 2000
  echo "| \`$version/damaged.pln\` | \`recovery.pln\`, changed at byte 2000 | \`repair damaged.pln && decompress damaged.pln -o out\` | \`?\` |"
  keep sealed-recovery.pln "compress text --recipients-file recipients.txt --recovery 30% -o sealed-recovery.pln" \
    "decompress sealed-recovery.pln --identity identity.txt -o out"
  cp text protected
  keep protected.recovery "protect protected --redundancy 30%" "repair protected -o out"
  damage protected 3000

  keep text.pld "delta text text2 text.pld" "patch text text.pld out"
  for method in none:-n gzip:-g bzip2:-b lzo:-l zpaq:-z lzma:-L7; do
    keep "${method%:*}.lrz" "lrzip -q ${method#*:} -o ${method%:*}.lrz text" "lrunzip -q -o out ${method%:*}.lrz"
  done
  keep tree.lrz "pack TREE tree.lrz" "unpack tree.lrz out"

  for codec in gzip xz lzma zstd lz4 lzo none; do
    keep "$codec.sqfs" "pack TREE $codec.sqfs -c $codec -b 4K" "verify -q $codec.sqfs && unpack $codec.sqfs out"
  done
  keep stable.sqfs "pack TREE stable.sqfs -b 8K --layout stable" "verify -q stable.sqfs && unpack stable.sqfs out"
  keep verity.sqfs "pack TREE verity.sqfs --verity" "verify -q verity.sqfs && unpack verity.sqfs out"

  keep image.pld "delta gzip.sqfs xz.sqfs image.pld" "patch gzip.sqfs image.pld out"
  keep cache "pack none.sqfs cached.sqfs -c zstd -b 4K --cache cache" "cache verify --cache cache --json"
  rm -f cached.sqfs
}

erofs_images() {
  for codec in zstd lzma lz4 gzip none; do
    keep "$codec.erofs" "pack TREE $codec.erofs -c $codec -b 8K" "verify -q $codec.erofs && unpack $codec.erofs out"
  done
  for codec in zstd none; do
    keep "whole-$codec.erofs" "pack TREE whole-$codec.erofs -c $codec -b 8K --no-fragments" "verify -q whole-$codec.erofs && unpack whole-$codec.erofs out"
  done
  keep extents.erofs "pack TREE extents.erofs -b 8K --kernel 6.15" "verify -q extents.erofs && unpack extents.erofs out"
  keep old.erofs "pack TREE old.erofs -c lz4 -b 8K --kernel 5.13" "verify -q old.erofs && unpack old.erofs out"
  keep verity.erofs "pack TREE verity.erofs -b 8K --verity=append" \
    "verify -q verity.erofs --roothash HASH && verify -q verity.erofs && unpack verity.erofs out"
}

[ "$only" = erofs ] || other_formats
erofs_images
[ "$only" != erofs ] || rm text text2
