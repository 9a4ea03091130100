// What the check itself must find, and must leave alone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Conversation } from "./conversation.mjs";
import { Rules, schemas } from "./schemas.mjs";

const REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const rules = new Map(Object.entries(schemas()).map(([revision, schema]) => [revision, new Rules(revision, schema)]));

const hello = (version) => request("initialize", { protocolVersion: version, capabilities: {}, clientInfo: { name: "test", version: "1" } });
const welcome = (version) => result({ protocolVersion: version, capabilities: {}, serverInfo: { name: "server", version: "1" } });
const request = (method, params) => ({ jsonrpc: "2.0", id: 1, method, ...(params && { params }) });
const result = (value) => ({ jsonrpc: "2.0", id: 1, result: value });
const failure = (code) => ({ jsonrpc: "2.0", id: 1, error: { code, message: "no" } });
const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
};

/** What is wrong with a talk over one line: what the client and the server say in turn. */
function problems(...said) {
    const conversation = new Conversation(rules);
    said.forEach((message, turn) => {
        const text = typeof message === "string" ? message : JSON.stringify(message);
        conversation.add({ file: "1", line: 0, transport: "websocket", from: turn % 2 ? "server" : "client", text });
    });
    return conversation.violations.flatMap(({ revision, problems }) => problems.map((problem) => `${revision}: ${problem}`));
}

/** What is wrong with a response over HTTP. */
function problemsOf(status, body) {
    const conversation = new Conversation(rules);
    conversation.add({ file: "1", line: 0, transport: "http", from: "client", text: JSON.stringify(request("ping")) });
    conversation.add({ file: "1", line: 0, transport: "http", from: "server", status, text: JSON.stringify(body) });
    return conversation.violations.flatMap(({ problems }) => problems);
}

/** The same, after a handshake. */
function after(version, ...said) {
    return problems(hello(version), welcome(version), ...said);
}

function finds(found, ...words) {
    assert.ok(found.some((problem) => words.every((word) => problem.includes(word))), `${words} is not among: ${found.join("\n")}`);
}

test("there is a schema of each revision", () => {
    assert.deepEqual([...rules.keys()].sort(), REVISIONS);
});

test("a suite without its schemas, or with others, is refused", () => {
    const schema = (...names) => `x={$schema:"http://json-schema.org/draft-07/schema#",definitions:{${names.map((name) => `${name}:{}`)}}},`;
    assert.throws(() => schemas("nothing"), /no schema of 2025-03-26/);
    assert.throws(() => schemas(schema("Unheard")), /of no known revision/);
    assert.throws(() => schemas(schema("JSONRPCBatchRequest").repeat(2)), /two schemas of 2025-03-26/);
    assert.throws(() => schemas(schema("Task").replace("{}", "elsewhere")), /elsewhere is not defined/);
});

test("what is right in a session is left alone", () => {
    for (const version of REVISIONS.slice(0, 4)) {
        assert.deepEqual(after(version, request("ping"), result({}), request("odd"), failure(-32_601)), []);
        assert.deepEqual(after(version, request("tools/call", { name: "a" }), result({ content: [{ type: "text", text: "b" }] })), []);
    }
});

test("an answer is judged by what was asked", () => {
    for (const version of REVISIONS.slice(0, 4)) {
        finds(after(version, request("tools/call", { name: "a" }), result({})), version, "CallToolResult", "content");
        finds(after(version, request("tools/list"), result({ tools: [{ name: "a" }] })), version, "inputSchema");
        finds(problems(hello(version), result({ protocolVersion: version })), version, "InitializeResult", "serverInfo");
    }
});

test("a revision has only what it has", () => {
    const audio = result({ content: [{ type: "audio", data: "", mimeType: "audio/wav" }] });
    const call = request("tools/call", { name: "a" });
    finds(after("2024-11-05", call, audio), "2024-11-05", "CallToolResult/content/0");
    assert.deepEqual(after("2025-03-26", call, audio), []);
    const alone = (method) => request(method, { _meta: meta });
    finds(problems(alone("ping"), result({ resultType: "complete" })), "2026-07-28", "does not have");
    finds(problems(alone("tools/list"), result({ tools: [], ttlMs: 0, cacheScope: "private" })), "2026-07-28", "resultType");
    finds(problems(alone("tools/list"), result({ resultType: "complete", tools: [] })), "2026-07-28", "ttlMs");
    finds(after("2025-06-18", [request("ping")], [result({})]), "2025-06-18", "batch");
    assert.deepEqual(after("2025-03-26", [request("ping")], [result({})]), []);
    finds(problems(hello("2025-03-26"), welcome("2025-03-26"), request("ping"), [result({})]), "batch");
});

test("a request that was answered with a result must be right, and one that was refused need not", () => {
    const wrong = request("resources/read", { uri: 7 });
    finds(problems(wrong, result({ contents: [] })), "2025-11-25", "ReadResourceRequest/params/uri");
    assert.deepEqual(problems(wrong, failure(-32_602)), []);
    const refused = result({ content: [], isError: true });
    assert.deepEqual(problems(request("tools/call", { name: "a", arguments: [] }), refused), []);
});

test("a result of an extension is a result", () => {
    assert.deepEqual(problems(request("skills/list", {}), result({ skills: [] })), []);
    finds(problems(request("skills/list", {}), result("none")), "Result");
    finds(problems(request("odd/list", {}), result({})), "odd/list");
});

test("what the server says unasked is judged by its method", () => {
    const told = (method, params) => ({ jsonrpc: "2.0", method, params });
    const updated = "notifications/resources/updated";
    assert.deepEqual(after("2025-11-25", request("ping"), told(updated, { uri: "notes://1" })), []);
    finds(after("2025-11-25", request("ping"), told(updated, {})), "uri");
    finds(after("2025-11-25", request("ping"), told("notifications/odd")), "notifications/odd");
    finds(after("2025-11-25", request("ping"), told("notifications/initialized")), "notifications/initialized");
    finds(after("2025-11-25", request("ping"), told("notifications/subscriptions/acknowledged", { notifications: {} })), "acknowledged");
});

test("an error names the request that it answers, if that could be read", () => {
    const { id, ...nameless } = failure(-32_700);
    for (const version of REVISIONS.slice(0, 4)) {
        assert.deepEqual(after(version, "{", nameless), []);
        finds(after(version, "{", { ...nameless, id: null }), version, "/id");
    }
    // A batch may be refused as a whole.
    assert.deepEqual(after("2025-03-26", [request("ping")], nameless), []);
    finds(after("2025-03-26", request("ping"), nameless), "2025-03-26", "'id'");
    finds(after("2025-11-25", request("ping"), { ...nameless, id: 2 }), "answers no request");
    finds(after("2025-11-25", request("ping"), { ...result({}), id: 2 }), "answers no request");
    finds(after("2025-11-25", request("ping"), "no message"), "JSONRPCErrorResponse");
});

test("a request may be turned away without a message, but not by half of one", () => {
    assert.deepEqual(problemsOf(401, { error: "a key is needed" }), []);
    finds(problemsOf(200, { error: "a key is needed" }), "'jsonrpc'");
    finds(problemsOf(401, { error: { code: 1, message: "a key is needed" } }), "'jsonrpc'");
    finds(problemsOf(401, { ...failure(1), error: "a key is needed" }), "/error", "object");
});
