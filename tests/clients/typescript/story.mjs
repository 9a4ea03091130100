// What every client of this folder does with the program: list, search, get,
// read, and run into two errors. Only what a client hands to its caller is
// looked at.
import assert from "node:assert/strict";

/** What `run` tells about the server. */
export const server = {
    url: new URL(process.env.VADEMECUM_URL ?? ""),
    socket: new URL(process.env.VADEMECUM_SOCKET ?? ""),
    command: process.env.VADEMECUM_PROGRAM ?? "",
    arguments: ["mcp", "--data", process.env.VADEMECUM_DATA ?? ""],
};

/** The revisions that clients are expected to agree on. */
export const LEGACY = "2025-11-25";
export const MODERN = "2026-07-28";

/** JSON-RPC codes, and what stands for "no such resource" in each era. */
const INVALID_PARAMS = -32602;
const NOT_FOUND = { [LEGACY]: -32002, [MODERN]: INVALID_PARAMS };

/**
 * Tells the story to a connected client with `listTools`, `callTool` and
 * `readResource`, and closes it; gives back what it threw for a resource that
 * does not exist, which has `code`.
 */
export async function tell(client, revision, code = NOT_FOUND[revision]) {
    try {
        const names = (await client.listTools()).tools.map((tool) => tool.name);
        const call = (name, args) => client.callTool({ name: listed(names, name), arguments: args });
        const hit = await search(call);
        await get(call, hit);
        await read(client, hit.uri);
        await refusal(call);
        return await errors(client, code);
    } finally {
        await client.close();
    }
}

/** Runs one mode of a client; the first thing wrong ends the process, and is said. */
export async function main(modes) {
    const [, , mode] = process.argv;
    try {
        assert.ok(Object.hasOwn(modes, mode), `no mode \`${mode}\`, only ${Object.keys(modes).join(", ")}`);
        await modes[mode]();
    } catch (error) {
        console.error(error instanceof Error ? `${error.name}: ${error.message}` : error);
        process.exit(1);
    }
    // Some clients leave a timer or a stream behind.
    process.exit(0);
}

/** Names are listed with dots, or with underscores for clients that refuse dots. */
function listed(names, name) {
    const found = names.find((known) => known === name || known === name.replaceAll(".", "_"));
    assert.ok(found, `\`${name}\` is not listed, only ${names.join(", ")}`);
    return found;
}

async function search(call) {
    const result = await call("knowledge.search", { query: "who wipes the prisms", sources: ["notes"] });
    assert.ok(!result.isError, `the search was refused: ${text(result)}`);
    const [hit] = result.structuredContent?.results ?? [];
    assert.equal(hit?.title, "The lighthouse at Skerry", "the first hit of a search");
    assert.notEqual(text(result), "", "a search has no text");
    return hit;
}

async function get(call, hit) {
    const result = await call("knowledge.get", { source: hit.source, id: hit.id });
    assert.ok(!result.isError, `the item was refused: ${text(result)}`);
    assert.match(JSON.stringify(result.structuredContent), /Wipe the prisms/, "what an item holds");
}

async function read(client, uri) {
    const { contents } = await client.readResource({ uri });
    assert.equal(contents?.[0]?.uri, uri, "the URI of what was read");
    assert.match(contents[0].text ?? "", /Wipe the prisms/, "what a resource holds");
}

async function refusal(call) {
    const result = await call("knowledge.search", { query: "x", sources: ["recipes"] });
    assert.equal(result.isError, true, "a source that does not exist is an error of the tool");
    assert.match(text(result), /recipes/, "the refusal names what is wrong");
}

async function errors(client, notFound) {
    const unknown = client.callTool({ name: "no.such.tool", arguments: {} });
    await fails(client, unknown, INVALID_PARAMS, /no\.such\.tool/, "a tool that does not exist");
    const nowhere = client.readResource({ uri: "notes://nothing" });
    return fails(client, nowhere, notFound, /nothing/, "a resource that does not exist");
}

async function fails(client, promise, code, message, what) {
    const error = await promise.then(
        () => assert.fail(`${what} is no error`),
        (error) => error,
    );
    // The Inspector keeps codes to itself.
    if (client.showsCodes !== false) assert.equal(error.code, code, `${what}: ${error}`);
    assert.match(error.message, message, what);
    return error;
}

const text = (result) => (result.content ?? []).map((block) => block.text ?? "").join("");
