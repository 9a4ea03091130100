// The client of `@modelcontextprotocol/sdk`, which knows only the legacy era.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { WebSocketClientTransport } from "@modelcontextprotocol/sdk/client/websocket.js";
import { LEGACY, main, server, tell } from "./story.mjs";

async function through(transport) {
    const client = new Client({ name: "typescript-sdk", version: "1.32.2" });
    await client.connect(transport);
    assert.equal(client.getServerVersion()?.name, "vademecum", "the name of the server");
    await tell(client, LEGACY);
}

await main({
    http: async () => {
        const transport = new StreamableHTTPClientTransport(server.url);
        await through(transport);
        assert.equal(transport.protocolVersion, LEGACY, "the revision agreed on");
    },
    websocket: () => through(new WebSocketClientTransport(server.socket)),
    stdio: () => through(new StdioClientTransport({ command: server.command, args: server.arguments })),
});
