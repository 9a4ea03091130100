// The command line of the Inspector: one process, one connection a call.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import assert from "node:assert/strict";
import { LEGACY, MODERN, main, server, tell } from "./story.mjs";

const manifest = createRequire(import.meta.url).resolve("@modelcontextprotocol/inspector/package.json");
const launcher = join(dirname(manifest), "clients/launcher/build/index.js");

/** What `--strict` ends with when a schema has an error. */
const NOT_PORTABLE = 6;
const OPTIONS = { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 };

/** The Inspector, with the methods of a client. */
class Inspector {
    showsCodes = false;

    constructor(target, era) {
        this.options = ["--format", "json", "--quiet", "--protocol-era", era, ...target];
    }

    /** Asks for one result; an error that the server sent is thrown as one. */
    ask(method, ...more) {
        const line = [launcher, "--cli", ...this.options, "--method", method, ...more];
        const { status, stdout, stderr } = spawnSync(process.execPath, line, OPTIONS);
        if (stdout.trim() === "" || status === NOT_PORTABLE) {
            throw new Error(messageIn(stderr) ?? `the Inspector ended with ${status}: ${stderr}`);
        }
        const said = JSON.parse(stdout);
        return said.result ?? said;
    }

    // With `--strict`, a schema that some model provider would refuse is an error.
    async listTools() {
        return this.ask("tools/list", "--strict");
    }

    async callTool({ name, arguments: args }) {
        return this.ask("tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args));
    }

    async readResource({ uri }) {
        return this.ask("resources/read", "--uri", uri);
    }

    async close() {}
}

/** What the Inspector says is wrong: the last line, as JSON. */
function messageIn(stderr) {
    const line = stderr.trim().split("\n").at(-1);
    return line.startsWith("{") ? JSON.parse(line).error?.message : undefined;
}

const http = ["--transport", "http", "--server-url", server.url.href];

await main({
    http: () => tell(new Inspector(http, "legacy"), LEGACY),
    "http-modern": () => tell(new Inspector(http, "modern"), MODERN),
    stdio: () => tell(new Inspector([server.command, ...server.arguments], "legacy"), LEGACY),
});
