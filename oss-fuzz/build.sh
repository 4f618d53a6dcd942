#!/bin/bash -eu
# Builds every program of dev/fuzz/libfuzzer, and a zip of seeds for each. OSS-Fuzz sets SRC and OUT.
cd "$SRC/packline"

# The seeds are made without instrumentation.
seeds=$(mktemp -d)
env -u RUSTFLAGS -u CFLAGS -u CXXFLAGS cargo run --locked --package packline-fuzz --example seeds -- "$seeds"

cargo fuzz build --fuzz-dir dev/fuzz/libfuzzer --optimized
for source in dev/fuzz/libfuzzer/src/bin/*.rs; do
  target=$(basename "$source" .rs)
  cp "dev/fuzz/libfuzzer/target/x86_64-unknown-linux-gnu/release/$target" "$OUT/"
  zip --quiet --junk-paths --recurse-paths "$OUT/${target}_seed_corpus.zip" "$seeds/$target"
done
