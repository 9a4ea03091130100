// `@modelcontextprotocol/client`: both eras, the legacy one unless asked.
import assert from "node:assert/strict";
import { Client, ResourceNotFoundError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
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
    // It has an error of its own for that, with one code for both eras.
    const error = await tell(client, revision, -32602);
    assert.ok(error instanceof ResourceNotFoundError, `not known as a missing resource: ${error}`);
    assert.equal(error.uri, "notes://nothing", "the resource that is missing");
}

await main({
    http: () => through(http(), undefined, LEGACY),
    "http-auto": () => through(http(), "auto", MODERN),
    "http-pinned": () => through(http(), { pin: MODERN }, MODERN),
    stdio: () => through(stdio(), undefined, LEGACY),
    "stdio-auto": () => through(stdio(), "auto", MODERN),
});
