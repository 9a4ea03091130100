# Everyday commands. `just` alone lists them.

[private]
default:
    @just --list

# Try the program on the bundled demo library
demo:
    cargo run -- demo

# Run every check
test:
    tests/run

# Run the checks of a change, within minutes
fast:
    tests/run --fast

# Run the lints and unit tests of one crate: just check vademecum-store
check crate:
    cargo clippy -p {{ crate }} --all-targets -- -D warnings
    cargo test -p {{ crate }}

# Fuzz one or more readers for a minute each, with nightly Rust and cargo-fuzz: just fuzz notes
fuzz *readers:
    tests/fuzz/run {{ readers }}

# Regenerate the tool schemas; review the diff
schemas:
    UPDATE_SCHEMAS=1 cargo test --test it schemas

# Regenerate config.example.toml; review the diff
example:
    UPDATE_EXAMPLE=1 cargo test -p vademecum-core example

# Regenerate the chapters of commands, tools and settings; review the diff
chapters:
    UPDATE_MANUAL=1 cargo test --test it manual

# Build the manual as a site, with mdbook
manual:
    packaging/manual

# Build, run and pack the program for all platforms, or for those that are named
dist *platforms:
    packaging/dist {{ platforms }}

# Benchmark ranking and searching against FTS5 and tantivy, and startup time
bench:
    cargo build --release
    cargo bench -p vademecum-benches

# Build a reproducible binary without local paths
release:
    CFLAGS="-ffile-prefix-map={{ justfile_directory() }}=." \
    RUSTFLAGS="--remap-path-prefix={{ justfile_directory() }}=. --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo" \
        cargo build --profile dist --locked --bin vademecum
    sha256sum target/dist/vademecum

# Write a CycloneDX bill of materials, with cargo-cyclonedx
sbom:
    cargo cyclonedx --format json --override-filename vademecum.cdx --manifest-path Cargo.toml
    mkdir -p target && mv vademecum.cdx.json target/
    find crates sources tests benches -name vademecum.cdx.json -delete

# Check licences, origins and advisories of all crates
supply:
    tests/supply
