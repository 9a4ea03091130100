// `@modelcontextprotocol/client`: both eras, the legacy one unless asked.
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { LEGACY, MODERN, main, server, tell } from "./story.mjs";

const http = () => new StreamableHTTPClientTransport(server.url);
const stdio = () => new StdioClientTransport({ command: server.command, args: server.arguments });

async function through(transport, mode, revision) {
    const versionNegotiation = mode && { mode };
    const client = new Client({ name: "typescript-client", version: "2.4.0" }, { versionNegotiation });
    await client.connect(transport);
    assert.equal(client.getNegotiatedProtocolVersion(), revision, "the revision agreed on");
    assert.equal(client.getServerVersion()?.name, "vademecum", "the name of the server");
    await tell(client, revision);
}

await main({
    http: () => through(http(), undefined, LEGACY),
    "http-auto": () => through(http(), "auto", MODERN),
    "http-pinned": () => through(http(), { pin: MODERN }, MODERN),
    stdio: () => through(stdio(), undefined, LEGACY),
    "stdio-auto": () => through(stdio(), "auto", MODERN),
});
