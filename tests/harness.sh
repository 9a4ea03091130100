# What `clients/run`, `conformance/run` and `wire/run` stand on: packages by name
# and exact version, kept in the target folder, and one server that ends with the
# script. Meant to be sourced by a script that has set `-euo pipefail`.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
target="${CARGO_TARGET_DIR:-$root/target}"
packages="$target/packages"
npm="$packages/npm"
scratch="$(mktemp -d)"
servers=()

finish() {
    local server
    for server in "${servers[@]}"; do
        kill "$server" 2>/dev/null || true
    done
    rm -rf "$scratch"
}
trap finish EXIT

# Installs what is missing, by Debian's name: debian COMMAND PACKAGE…
debian() {
    local command="$1"
    shift
    eval "$command" >/dev/null 2>&1 && return
    local sudo=""
    [ "$(id -u)" -eq 0 ] || sudo=sudo
    $sudo apt-get update -q
    $sudo apt-get install -qy --no-install-recommends "$@"
}

# Lays the packages of the lock file down, and names the Node to run them with:
# the one among them where there is one for this machine, else this machine's.
npm_packages() {
    local lock="$root/tests/npm/package-lock.json"
    debian "npm --version" nodejs npm
    if ! cmp -s "$lock" "$npm/installed.json"; then
        mkdir -p "$npm"
        rm -f "$npm/installed.json"
        cp "$root/tests/npm/package.json" "$lock" "$npm/"
        # Their install scripts would fetch more than the lock file says.
        npm ci --prefix "$npm" --ignore-scripts --no-audit --no-fund --loglevel=error
        cp "$lock" "$npm/installed.json"
    fi
    node="$(find "$npm/node_modules" -maxdepth 3 -path '*/node-*/bin/node' -print -quit)"
    node="${node:-$(command -v node)}"
}

# An environment of its own for a file of requirements: python_packages NAME
python_packages() {
    local folder="$packages/python/$1" requirements="$root/tests/clients/python/requirements"
    debian "python3 -c 'import ensurepip, venv'" python3 python3-venv
    if ! cat "$requirements/$1.txt" "$requirements/versions.txt" | cmp -s - "$folder/installed.txt"; then
        rm -rf "$folder"
        python3 -m venv "$folder"
        "$folder/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
            --requirement "$requirements/$1.txt" --constraint "$requirements/versions.txt"
        cat "$requirements/$1.txt" "$requirements/versions.txt" > "$folder/installed.txt"
    fi
}

# Serves until the script ends, and tells where: serve PROGRAM ARGUMENT…
serve() {
    local program="$1" log line
    shift
    exec {log}< <(exec "$program" "$@" 2>&1 >/dev/null </dev/null)
    servers+=("$!")
    if ! read -r -t 60 line <&"$log"; then
        echo "$program did not say where it listens" >&2
        return 1
    fi
    # Whoever logs must find somebody who reads.
    cat <&"$log" >> "$scratch/server.log" &
    address="${line#listening on http://}"
    address="${address%/mcp}"
    if [ "$line" != "listening on http://$address/mcp" ]; then
        echo "$program did not start: $line" >&2
        return 1
    fi
}

# A small library for the program to serve, in `$library`.
import_library() {
    local kind
    library="$scratch/data"
    for kind in notes media chats characters prompts; do
        "$1" --data "$library" import "$kind" "$root/tests/it/fixtures/$kind" >/dev/null
    done
}
