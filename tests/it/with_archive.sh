#!/bin/sh
# Runs the program ($1) with an archive of its own for the data folder of its arguments: a schema in the
# database VADEMECUM_IT_ARCHIVE. Without a data folder, it runs without an archive.
program="$1"
shift
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
exec "$program" "$@"
