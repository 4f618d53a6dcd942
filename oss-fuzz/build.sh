#!/bin/bash -eu
# Builds every target of dev/fuzz, and a zip of seeds for each target that has some. OSS-Fuzz sets SRC and OUT.
cd "$SRC/packline"

# The seeds are made without instrumentation, by the program that the tests use.
seeds=$(mktemp -d)
env -u RUSTFLAGS -u CFLAGS -u CXXFLAGS cargo run --locked --package packline-testkit --example seeds -- "$seeds"

cargo fuzz build --fuzz-dir dev/fuzz --optimized
for source in dev/fuzz/fuzz_targets/*.rs; do
  target=$(basename "$source" .rs)
  cp "dev/fuzz/target/x86_64-unknown-linux-gnu/release/$target" "$OUT/"
  if [ -d "$seeds/$target" ]; then
    zip --quiet --junk-paths --recurse-paths "$OUT/${target}_seed_corpus.zip" "$seeds/$target"
  fi
done
