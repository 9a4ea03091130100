// The official JSON schemas of the protocol, as the conformance suite brings
// them along: object literals in its bundled code.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { runInNewContext } from "node:vm";

const require = createRequire(import.meta.url);
const suite = require.resolve("@modelcontextprotocol/conformance/package.json");
// The validator that the suite itself uses.
const library = createRequire(suite);
const Draft7 = library("ajv").default;
const Draft2020 = library("ajv/dist/2020.js").default;
const formats = library("ajv-formats").default;

/** What tells each schema from all others: names that only it defines together. */
const marks = {
    "2025-03-26": (has) => has("JSONRPCBatchRequest"),
    "2025-06-18": (has) => has("ElicitRequest") && has("InitializeRequest") && !has("Task"),
    "2025-11-25": (has) => has("Task") && has("InitializeRequest"),
    "2026-07-28": (has) => has("DiscoverRequest") && !has("InitializeRequest"),
};

/** The schema of each revision, read from the code of the suite. */
export function schemas(code = readFileSync(suite.replace(/package\.json$/, "dist/index.js"), "utf8")) {
    const start = /\{\s*\$schema:\s*[`"']https?:\/\/json-schema\.org\/[^`"']+[`"'],\s*(?:\$defs|definitions):/g;
    const found = {};
    for (const { index } of code.matchAll(start)) {
        // Nothing but literals: any other name would be unknown here.
        const schema = runInNewContext(`(${literal(code, index)})`, Object.create(null), { timeout: 10_000 });
        const definitions = schema.$defs ?? schema.definitions;
        const revisions = Object.keys(marks).filter((name) => marks[name]((one) => one in definitions));
        if (revisions.length !== 1) {
            throw new Error(`a schema in the suite is of no known revision: ${revisions.join(" or ") || "none fits"}`);
        }
        if (revisions[0] in found) throw new Error(`the suite has two schemas of ${revisions[0]}`);
        found[revisions[0]] = schema;
    }
    for (const revision of Object.keys(marks)) {
        if (!(revision in found)) throw new Error(`the suite has no schema of ${revision}`);
    }
    return { "2024-11-05": oldest(found["2025-03-26"]), ...found };
}

/** The object literal that begins here. */
function literal(code, start) {
    let depth = 0;
    for (let at = start; at < code.length; at++) {
        const letter = code[at];
        if (letter === "{" || letter === "[") depth++;
        if (letter === "}" || letter === "]") depth--;
        if (depth === 0) return code.slice(start, at + 1);
        if (letter !== '"' && letter !== "'" && letter !== "`") continue;
        for (at++; code[at] !== letter; at++) {
            if (at >= code.length) break;
            if (code[at] === "\\") at++;
        }
    }
    throw new Error(`the literal at ${start} has no end`);
}

/**
 * The schema of 2024-11-05, which the suite does not have: that of the next
 * revision without batches and audio. What else that revision added are members
 * that objects may have, and the oldest lets them have any.
 */
function oldest(next) {
    const added = ["JSONRPCBatchRequest", "JSONRPCBatchResponse", "AudioContent"];
    const refers = (part) => added.some((name) => part?.$ref === `#/definitions/${name}`);
    const without = (part) => {
        if (Array.isArray(part)) return part.filter((one) => !refers(one)).map(without);
        if (part === null || typeof part !== "object") return part;
        const entries = Object.entries(part).filter(([name]) => !added.includes(name));
        return Object.fromEntries(entries.map(([name, one]) => [name, without(one)]));
    };
    const schema = without(next);
    if (added.some((name) => JSON.stringify(schema).includes(`/${name}"`))) {
        throw new Error("what 2025-03-26 added could not be taken out of its schema");
    }
    return schema;
}

/** What one revision says of messages. */
export class Rules {
    #ajv;
    #place;
    #validators = new Map();
    #methods = new Map();
    #errors = new Map();

    constructor(revision, schema) {
        const options = { strict: false, allErrors: true };
        this.revision = revision;
        this.#ajv = "$defs" in schema ? new Draft2020(options) : new Draft7(options);
        formats(this.#ajv);
        this.#ajv.addFormat("byte", true);
        this.#ajv.addSchema({ ...schema, $id: `mcp://${revision}` });
        this.#place = "$defs" in schema ? "$defs" : "definitions";
        this.definitions = schema[this.#place];
        for (const [name, { properties = {} }] of Object.entries(this.definitions)) {
            const method = properties.method?.const;
            if (method !== undefined) this.#methods.set(method, name);
            for (const { properties: error } of properties.error?.allOf ?? []) {
                if (error?.code?.const !== undefined) this.#errors.set(error.code.const, name);
            }
        }
    }

    /** The name under which a method is defined, if this revision has it. */
    definitionOf(method) {
        return this.#methods.get(method);
    }

    /** The name of the result of a method. */
    resultOf(method) {
        const name = this.definitionOf(method)?.replace(/Request$/, "Result");
        return name in this.definitions ? name : "EmptyResult";
    }

    /** The name of an error with this code. */
    errorOf(code) {
        return this.#errors.get(code) ?? this.first("JSONRPCErrorResponse", "JSONRPCError");
    }

    /** The first of these names that is defined. */
    first(...names) {
        return names.find((name) => name in this.definitions) ?? names[0];
    }

    /** Whether a definition is one of those that another names. */
    isOneOf(name, union) {
        return this.definitions[union].anyOf.some(({ $ref }) => $ref.endsWith(`/${name}`));
    }

    /** What is wrong with a value, as a definition has it. */
    problems(name, value) {
        const id = `mcp://${this.revision}#/${this.#place}/${name}`;
        if (!this.#validators.has(name)) this.#validators.set(name, this.#ajv.compile({ $ref: id }));
        const validate = this.#validators.get(name);
        if (validate(value)) return [];
        return validate.errors.map(({ instancePath, message, params, schemaPath }) => {
            const more = Object.keys(params).length > 0 ? ` ${JSON.stringify(params)}` : "";
            return `${name}${instancePath}: ${message}${more} (${schemaPath})`;
        });
    }
}
