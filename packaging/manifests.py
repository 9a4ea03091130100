"""Manifests of other stores, which name the files of a release and their digests."""

import json


def make_manifests(release):
    """Writes the formula of Homebrew, the manifests of winget, the flake of Nix and `server.json`."""
    make_homebrew(release)
    make_winget(release)
    make_flake(release)
    make_server_json(release)


def address(release, name):
    return f"{release.REPOSITORY}/releases/download/v{release.VERSION}/{name}"


def make_homebrew(release):
    blocks = ""
    for platform, system, cpu in ((release.MACOS, "macos", "arm"), (release.ARM, "linux", "arm"),
                                  (release.GNU, "linux", "intel")):
        path = release.archive(platform)
        if path:
            blocks += (f"  on_{system} do\n    on_{cpu} do\n      url \"{address(release, path.name)}\"\n"
                       f"      sha256 \"{release.sha256(path)}\"\n    end\n  end\n\n")
    if blocks:
        release.write("vademecum.rb", (
            "class Vademecum < Formula\n  desc \"Knowledge server for AI agents, over MCP\"\n"
            f"  homepage \"{release.REPOSITORY}\"\n  version \"{release.VERSION}\"\n"
            "  license any_of: [\"MIT\", \"Apache-2.0\"]\n\n" + blocks +
            "  def install\n    bin.install \"vademecum\"\n"
            "    doc.install \"README.md\", \"PRIVACY.md\", \"THIRD-PARTY.md\"\n  end\n\n"
            "  service do\n    run [opt_bin/\"vademecum\", \"serve\"]\n    keep_alive true\n  end\n\n"
            "  test do\n    assert_match \"sourdough\", shell_output(\"#{bin}/vademecum demo --once\")\n  end\nend\n"))


def make_winget(release):
    path = release.archive(release.WINDOWS)
    if not path:
        return
    name = "Vademecum.Vademecum"
    head = f"PackageIdentifier: {name}\nPackageVersion: {release.VERSION}\n"
    tail = "ManifestVersion: 1.6.0\n"
    folder = path.name.removesuffix(".zip")
    release.write(f"{name}.yaml", head + f"DefaultLocale: en-US\nManifestType: version\n{tail}")
    release.write(f"{name}.locale.en-US.yaml", head + (
        f"PackageLocale: en-US\nPublisher: Vademecum\nPackageName: Vademecum\nPackageUrl: {release.REPOSITORY}\n"
        f"PrivacyUrl: {release.REPOSITORY}/blob/main/PRIVACY.md\nLicense: MIT OR Apache-2.0\n"
        f"ShortDescription: Knowledge server for AI agents, over MCP\nManifestType: defaultLocale\n{tail}"))
    release.write(f"{name}.installer.yaml", head + (
        "InstallerType: zip\nNestedInstallerType: portable\nNestedInstallerFiles:\n"
        f"- RelativeFilePath: {folder}\\vademecum.exe\n  PortableCommandAlias: vademecum\nInstallers:\n"
        f"- Architecture: x64\n  InstallerUrl: {address(release, path.name)}\n"
        f"  InstallerSha256: {release.sha256(path).upper()}\nManifestType: installer\n{tail}"))


def make_flake(release):
    systems = ""
    # The static program needs no library of the system.
    for platform, system in ((release.MUSL, "x86_64-linux"), (release.MACOS, "aarch64-darwin")):
        path = release.archive(platform)
        if path:
            systems += (f"        {system} = {{\n          url = \"{address(release, path.name)}\";\n"
                        f"          sha256 = \"{release.sha256(path)}\";\n        }};\n")
    if systems:
        release.write("flake.nix", (
            "{\n  description = \"Knowledge server for AI agents, over MCP\";\n\n"
            "  inputs.nixpkgs.url = \"github:NixOS/nixpkgs/nixos-unstable\";\n\n"
            "  outputs = { nixpkgs, ... }:\n    let\n      files = {\n" + systems + "      };\n    in {\n"
            "      packages = builtins.mapAttrs (system: file: {\n"
            "        default = nixpkgs.legacyPackages.${system}.stdenvNoCC.mkDerivation {\n"
            f"          pname = \"vademecum\";\n          version = \"{release.VERSION}\";\n"
            "          src = nixpkgs.legacyPackages.${system}.fetchurl file;\n"
            "          installPhase = \"install -Dm755 vademecum $out/bin/vademecum\";\n"
            "          meta.mainProgram = \"vademecum\";\n        };\n      }) files;\n    };\n}\n"))


def make_server_json(release):
    packages = []
    stdio = {"type": "stdio"}
    command = [{"type": "positional", "value": "mcp"}]
    if release.built(release.WHEELS):
        packages.append({"registryType": "pypi", "identifier": "vademecum", "version": release.VERSION,
                         "runtimeHint": "uvx", "transport": stdio, "packageArguments": command})
    if release.built(release.NPM):
        packages.append({"registryType": "npm", "identifier": "vademecum", "version": release.VERSION,
                         "runtimeHint": "npx", "transport": stdio, "packageArguments": command})
    for system in ("linux", "win32", "darwin"):
        path = release.RELEASE / f"vademecum-{release.VERSION}-{system}.mcpb"
        if path.exists():
            packages.append({"registryType": "mcpb", "identifier": address(release, path.name),
                             "version": release.VERSION, "fileSha256": release.sha256(path), "transport": stdio})
    release.write("server.json", json.dumps({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": release.server_name(), "title": "Vademecum", "version": release.VERSION,
        "description": "Your notes, media, chats, characters and prompts, searched and read by your agents.",
        "repository": {"url": release.REPOSITORY, "source": "github"}, "websiteUrl": release.REPOSITORY,
        "packages": packages,
    }, indent=2) + "\n")
