#!/bin/sh
# Runs the program of the tests with an archive of its own for the data folder of the arguments: a
# schema in the database VADEMECUM_IT_ARCHIVE. Without a data folder, it runs without an archive.
previous=""
for argument; do
    [ "$previous" != --data ] || data="$argument"
    previous="$argument"
done
if [ -n "${data:-}" ]; then
    VADEMECUM_ARCHIVE_URL="$VADEMECUM_IT_ARCHIVE"
    VADEMECUM_ARCHIVE_SCHEMA="it_$(printf %s "$data" | sha256sum | cut -c1-24)"
    export VADEMECUM_ARCHIVE_URL VADEMECUM_ARCHIVE_SCHEMA
fi
exec "${CARGO_TARGET_DIR:-${0%/*}/../../target}/debug/vademecum" "$@"
