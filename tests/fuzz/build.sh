#!/bin/bash -eu
# Builds the fuzz targets as OSS-Fuzz and ClusterFuzzLite expect them: for each parser of untrusted
# input a program, a corpus of seeds and options in $OUT. Their Rust image sets $OUT, the toolchain
# and the sanitizer's flags, copies this file to $SRC and runs it there. Elsewhere:
# `OUT=/tmp/out tests/fuzz/build.sh`, then `/tmp/out/pdf -runs=1000`.
fuzz="$(cd "$(dirname "$0")" && pwd)"
[ -f "$fuzz/reader.rs" ] || fuzz="$SRC/vademecum/tests/fuzz"
# Outside the source folders, because a test checks these for stray files.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$(realpath -m "$fuzz/../../target")}/fuzz"
# `rust-toolchain.toml` names a stable one, which has no sanitizers.
export RUSTUP_TOOLCHAIN="${RUSTUP_TOOLCHAIN:-nightly}"
mkdir -p "$OUT"

# The image builds what measures coverage from the current folder.
cd "$fuzz"
# `cargo fuzz` would add to a lock file that is behind, instead of failing.
cargo fetch --locked
cargo fuzz build --dev --fuzz-dir "$fuzz" --target-dir "$CARGO_TARGET_DIR" reader
built="$CARGO_TARGET_DIR/$(rustc --print host-tuple)"
# The image puts what measures coverage into the folder of optimized programs.
profile=debug
[ "${SANITIZER:-}" != coverage ] || profile=release

program=""
for seeds in "$fuzz"/seeds/*/; do
    name="$(basename "$seeds")"
    # A program fuzzes the parser that has its name. All are links to one file, which is large.
    if [ -z "$program" ]; then
        program="$OUT/$name"
        cp --remove-destination "$built/$profile/reader" "$program"
    else
        ln -f "$program" "$OUT/$name"
    fi
    rm -f "$OUT/${name}_seed_corpus.zip"
    (cd "$seeds" && python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" ./*)
    printf '[libfuzzer]\nmax_len = 65536\ntimeout = 10\nrss_limit_mb = 1024\n' >"$OUT/$name.options"
done
