#!/bin/sh
# Installs Vademecum for this account, without root: sh install.sh [VERSION]
#
# Downloads the archive for this machine, compares it with SHA256SUMS, and checks the signature of that
# file if VADEMECUM_PUBLIC_KEY holds the key of the release page (then `minisign` must be installed).
# VADEMECUM_BASE_URL is the address of the releases, VADEMECUM_BIN the folder of the program.
set -eu

main() {
    base="${VADEMECUM_BASE_URL:-@REPOSITORY@/releases/download}"
    version="${1:-@VERSION@}"
    bin="${VADEMECUM_BIN:-$HOME/.local/bin}"
    need tar
    need xz
    name="vademecum-$version-$(platform)"
    work="$(mktemp -d)"
    trap 'rm -rf "$work"' EXIT
    fetch "$base/v$version/SHA256SUMS" "$work/SHA256SUMS"
    if [ -n "${VADEMECUM_PUBLIC_KEY:-}" ]; then
        need minisign
        fetch "$base/v$version/SHA256SUMS.minisig" "$work/SHA256SUMS.minisig"
        minisign -V -q -P "$VADEMECUM_PUBLIC_KEY" -m "$work/SHA256SUMS" ||
            fail "the signature of SHA256SUMS is not that of VADEMECUM_PUBLIC_KEY; nothing was installed"
    fi
    fetch "$base/v$version/$name.tar.xz" "$work/$name.tar.xz"
    wanted="$(sed -n "s/^\([0-9a-f]*\)  $name\.tar\.xz\$/\1/p" "$work/SHA256SUMS")"
    [ -n "$wanted" ] || fail "SHA256SUMS has no $name.tar.xz; nothing was installed"
    [ "$(sum "$work/$name.tar.xz")" = "$wanted" ] ||
        fail "$name.tar.xz is not the file of SHA256SUMS; nothing was installed"
    tar -xJf "$work/$name.tar.xz" -C "$work"
    mkdir -p "$bin"
    # A rename, so that a program that runs keeps its file.
    cp "$work/$name/vademecum" "$bin/.vademecum.new"
    chmod 755 "$bin/.vademecum.new"
    mv "$bin/.vademecum.new" "$bin/vademecum"
    echo "installed $("$bin/vademecum" --version) as $bin/vademecum"
    case ":$PATH:" in
        *":$bin:"*) echo "next: vademecum demo" ;;
        *) echo "next: $bin/vademecum demo, and add $bin to PATH" ;;
    esac
}

# Prints the platform as in the names of the archives.
platform() {
    case "$(uname -s)-$(uname -m)" in
        Linux-x86_64 | Linux-amd64)
            # The static program serves systems with another C library, such as Alpine.
            if ldd --version 2>&1 | grep -qiE 'glibc|gnu libc'; then
                echo x86_64-unknown-linux-gnu
            else
                echo x86_64-unknown-linux-musl
            fi
            ;;
        Linux-aarch64 | Linux-arm64) echo aarch64-unknown-linux-gnu ;;
        Darwin-arm64) echo aarch64-apple-darwin ;;
        *) fail "there is no program for $(uname -s) on $(uname -m); build it: cargo install --path ." ;;
    esac
}

fetch() {
    if command -v curl >/dev/null 2>&1; then
        curl -fsSL -o "$2" "$1" || fail "cannot download $1"
    elif command -v wget >/dev/null 2>&1; then
        wget -q -O "$2" "$1" || fail "cannot download $1"
    else
        fail "install curl or wget first"
    fi
}

sum() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum "$1" | cut -d' ' -f1
    else
        shasum -a 256 "$1" | cut -d' ' -f1
    fi
}

need() { command -v "$1" >/dev/null 2>&1 || fail "install $1 first"; }

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

# The whole script is read before anything runs.
main "$@"
