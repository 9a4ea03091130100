# The commands of every day. `just` alone lists them.

[private]
default:
    @just --list

# Try it on the library that comes along
demo:
    cargo run --release -- demo

# Everything that must hold
test:
    tests/run

# The lints and the unit tests of one crate: just check vademecum-kit
check crate:
    cargo clippy -p {{ crate }} --all-targets -- -D warnings
    cargo test -p {{ crate }}

# A minute of fuzzing for one reader or more, with nightly Rust and cargo-fuzz: just fuzz notes
fuzz *readers:
    tests/fuzz/run {{ readers }}

# Write the schemas of the tools anew; the diff is part of the review
schemas:
    UPDATE_SCHEMAS=1 cargo test --test it schemas

# What ranking and searching cost beside FTS5 and tantivy, and how soon the program answers
bench:
    cargo build --release
    cargo bench -p vademecum-benches

# The program without the paths of this machine: the same from the same sources and compiler
release:
    CFLAGS="-ffile-prefix-map={{ justfile_directory() }}=." \
    RUSTFLAGS="--remap-path-prefix={{ justfile_directory() }}=. --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo" \
        cargo build --release --locked --bin vademecum
    sha256sum target/release/vademecum

# What the program is made of, as CycloneDX, with cargo-cyclonedx
sbom:
    cargo cyclonedx --format json --override-filename vademecum.cdx --manifest-path Cargo.toml
    mkdir -p target && mv vademecum.cdx.json target/
    find sources tests benches -name vademecum.cdx.json -delete

# Licences, origins and advisories of all crates
supply:
    tests/supply
