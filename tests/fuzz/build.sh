#!/bin/bash -eu
# Builds the fuzz targets as OSS-Fuzz and ClusterFuzzLite expect them: for each parser of untrusted
# input a program, a corpus of seeds and options in $OUT. Their Rust image provides $OUT, nightly
# Rust, cargo-fuzz and the sanitizer's flags; this is the project's build script there. Elsewhere:
# `OUT=/tmp/out tests/fuzz/build.sh`, then `/tmp/out/pdf -runs=1000`.
fuzz="$(cd "$(dirname "$0")" && pwd)"
target="${CARGO_TARGET_DIR:-$fuzz/../../target}/fuzz"
mkdir -p "$OUT"

cargo +nightly fuzz build --dev --fuzz-dir "$fuzz" --target-dir "$target" reader
for seeds in "$fuzz"/seeds/*/; do
    name="$(basename "$seeds")"
    # The program fuzzes the parser that has its name.
    cp "$target/$(rustc +nightly --print host-tuple)/debug/reader" "$OUT/$name"
    rm -f "$OUT/${name}_seed_corpus.zip"
    (cd "$seeds" && python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" ./*)
    printf '[libfuzzer]\nmax_len = 65536\ntimeout = 10\nrss_limit_mb = 1024\n' >"$OUT/$name.options"
done
