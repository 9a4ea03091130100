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

# A minute of fuzzing for one parser, with nightly Rust and cargo-fuzz: just fuzz notes
fuzz parser:
    mkdir -p tests/fuzz/corpus/{{ parser }}
    cargo +nightly fuzz run --fuzz-dir tests/fuzz {{ parser }} tests/fuzz/corpus/{{ parser }} tests/fuzz/seeds/{{ parser }} -- -max_total_time=60

# Write the schemas of the tools anew; the diff is part of the review
schemas:
    UPDATE_SCHEMAS=1 cargo test --test it schemas

# What ranking and searching cost beside FTS5 and tantivy, and how soon the program answers
bench:
    cargo build --release
    cargo bench -p vademecum-benches
