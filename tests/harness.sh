# Shared functions of `servers`, `minilm`, `supply` and the `*/run` scripts: packages pinned by name
# and version, cached in the target folder, and servers that stop with the script. To be sourced by
# a script that has set `-euo pipefail`.

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

# Builds all programs. Tests are built as well, so that dependencies have the features that they have
# in `cargo test`, and are not compiled twice.
build_programs() {
    cargo build --quiet --locked --workspace --bins --tests
}

# Installs Debian packages if a command fails: debian COMMAND PACKAGE…
debian() {
    local command="$1"
    shift
    eval "$command" >/dev/null 2>&1 && return
    local sudo=""
    [ "$(id -u)" -eq 0 ] || sudo=sudo
    $sudo apt-get update -q
    $sudo apt-get install -qy --no-install-recommends "$@"
}

# Installs the packages of the lock file and sets `node`: the Node binary among them if there is one
# for this machine, otherwise the system's.
npm_packages() {
    local lock="$root/tests/npm/package-lock.json"
    debian "npm --version" nodejs npm
    if ! cmp -s "$lock" "$npm/installed.json"; then
        mkdir -p "$npm"
        rm -f "$npm/installed.json"
        cp "$root/tests/npm/package.json" "$lock" "$npm/"
        # Install scripts would download files that the lock file does not cover.
        npm ci --prefix "$npm" --ignore-scripts --no-audit --no-fund --loglevel=error
        cp "$lock" "$npm/installed.json"
    fi
    node="$(find "$npm/node_modules" -maxdepth 3 -path '*/node-*/bin/node' -print -quit)"
    node="${node:-$(command -v node)}"
}

# Creates a virtual environment for a requirements file: python_packages NAME
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

# Starts a server until the script ends and sets `address`: serve PROGRAM ARGUMENT…
serve() {
    local program="$1" log line
    shift
    exec {log}< <(exec "$program" "$@" 2>&1 >/dev/null </dev/null)
    servers+=("$!")
    if ! read -r -t 60 line <&"$log"; then
        echo "$program did not print its address" >&2
        return 1
    fi
    # Keeps reading the log, so that the server never blocks on a full pipe.
    cat <&"$log" >> "$scratch/server.log" &
    address="${line#listening on http://}"
    address="${address%/mcp}"
    if [ "$line" != "listening on http://$address/mcp" ]; then
        echo "$program did not start: $line" >&2
        return 1
    fi
}

# Imports the fixtures into a small library and sets `library` to its folder: import_library PROGRAM
import_library() {
    local kind
    library="$scratch/data"
    for kind in notes media chats characters prompts; do
        "$1" --data "$library" import "$kind" "$root/tests/it/fixtures/$kind" >/dev/null
    done
}

# Prints a port of this machine on which nothing listens.
free_port() {
    python3 -c 'import socket; it = socket.socket(); it.bind(("127.0.0.1", 0)); print(it.getsockname()[1])'
}

# Starts a server that is an authorization server, with the user ada, and sets `issuer` and
# `password`: serve_oauth PROGRAM. It fetches no documents of clients, which are on the internet.
serve_oauth() {
    local port settings="$scratch/oauth.toml" data="$scratch/oauth"
    port="$(free_port)"
    issuer="http://127.0.0.1:$port"
    password="a password for tests"
    printf '[server]\nlisten = "127.0.0.1:%s"\npublic_url = "%s"\n' "$port" "$issuer" > "$settings"
    printf '[auth]\nmode = "multi"\noauth = true\nclient_documents = "off"\n' >> "$settings"
    "$1" import notes "$root/tests/it/fixtures/notes" --user ada --data "$data" >/dev/null
    "$1" user add ada --data "$data" --config "$settings" >/dev/null
    "$1" user password ada --data "$data" --config "$settings" <<< "$password" >/dev/null
    serve "$1" serve --data "$data" --config "$settings" --log info
}
