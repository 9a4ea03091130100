// Makes sense of what was recorded: which revision each message is of, which
// request an answer answers, and by which definition it is to be judged.

const META = "io.modelcontextprotocol/";
const ALONE = "2026-07-28";
const NEWEST_WITH_SESSIONS = "2025-11-25";
// The oldest revision leaves it to JSON-RPC, which has them.
const WITH_BATCHES = ["2024-11-05", "2025-03-26"];

/** Methods of extensions, which the schemas of the protocol know only as requests and results. */
const EXTENSION_METHODS = new Set(["skills/list", "skills/get", "resources/directory/read", "vademecum/recall"]);

/** All that was said in one run of the tests, message by message. */
export class Conversation {
    #rules;
    // What was agreed on, by session or line.
    #agreed = new Map();
    // What is remembered of a line: requests by id, and messages without one.
    #lines = new Map();
    /** How many messages were checked, by revision and kind. */
    checked = new Map();
    /** What is wrong, with the message that is. */
    violations = [];

    constructor(rules) {
        this.#rules = rules;
    }

    /** Takes in what was recorded next. */
    add(entry) {
        const key = `${entry.file} ${entry.line}`;
        if (!this.#lines.has(key)) {
            this.#lines.set(key, { requests: new Map(), tokens: new Map(), nameless: 0, alone: false });
        }
        const line = this.#lines.get(key);
        const talk = entry.session ? `${entry.file} session ${entry.session}` : key;
        const texts = entry.transport === "stdio" ? entry.text.split("\n").filter((text) => text.trim()) : [entry.text];
        for (const text of texts) {
            if (entry.from === "client") this.#asked(entry, line, talk, text);
            else this.#said(entry, line, talk, text);
        }
    }

    #asked(entry, line, talk, text) {
        const sent = parsed(text);
        const messages = Array.isArray(sent) ? sent : [sent];
        line.batch = Array.isArray(sent);
        // It may be refused as a whole, which is under no id.
        if (line.batch) line.nameless++;
        for (const message of messages) {
            const revision = this.#revisionAsked(message, entry, talk);
            line.latest = revision;
            const isNamed = typeof message?.id === "string" || Number.isInteger(message?.id);
            if (!isNamed) {
                line.nameless++;
                continue;
            }
            const request = { message, revision };
            line.requests.set(message.id, request);
            line.alone ||= revision === ALONE;
            const token = message.params?._meta?.progressToken;
            if (token !== undefined) line.tokens.set(token, request);
        }
    }

    #revisionAsked(message, entry, talk) {
        const meta = message?.params?._meta ?? {};
        const version = meta[`${META}protocolVersion`];
        if (this.#rules.has(version)) return version;
        if (["protocolVersion", "clientCapabilities", "clientInfo"].some((name) => `${META}${name}` in meta)) return ALONE;
        if (this.#agreed.has(talk)) return this.#agreed.get(talk);
        return this.#rules.has(entry.version) ? entry.version : NEWEST_WITH_SESSIONS;
    }

    #said(entry, line, talk, text) {
        const said = parsed(text);
        if (isTurnedAway(entry.status, said)) return;
        if (!Array.isArray(said)) {
            this.#message(entry, line, talk, said);
            return;
        }
        const agreed = this.#agreed.get(talk);
        if (!line.batch || (agreed !== undefined && !WITH_BATCHES.includes(agreed))) {
            this.#wrong(entry, agreed ?? line.latest, said, ["a batch, which nobody asked for or this revision does not have"]);
        }
        for (const message of said) this.#message(entry, line, talk, message);
    }

    #message(entry, line, talk, message) {
        if (typeof message?.method === "string") this.#request(entry, line, talk, message);
        else if (message?.result !== undefined) this.#result(entry, line, talk, message);
        else this.#failure(entry, line, talk, message);
    }

    /** A request or a notification of the server. */
    #request(entry, line, talk, message) {
        const meta = message.params?._meta ?? {};
        const revision =
            `${META}subscriptionId` in meta ? ALONE
            : line.tokens.get(message.params?.progressToken)?.revision
                ?? this.#agreed.get(talk)
                ?? (line.alone ? ALONE : line.latest ?? NEWEST_WITH_SESSIONS);
        const rules = this.#rules.get(revision);
        const [union, envelope] = "id" in message ? ["ServerRequest", "JSONRPCRequest"] : ["ServerNotification", "JSONRPCNotification"];
        const name = rules.definitionOf(message.method);
        const problems = rules.problems(envelope, message);
        if (name === undefined || !(union in rules.definitions) || !rules.isOneOf(name, union)) {
            problems.push(`the server of this revision has no ${message.method} to send`);
        } else {
            problems.push(...rules.problems(name, message));
        }
        this.#judged(entry, revision, `server: ${message.method}`, message, problems);
    }

    #result(entry, line, talk, message) {
        const request = line.requests.get(message.id);
        if (request === undefined) {
            this.#wrong(entry, line.latest ?? NEWEST_WITH_SESSIONS, message, ["a result that answers no request"]);
            return;
        }
        const { method } = request.message;
        if (method === "initialize") {
            const version = message.result.protocolVersion;
            if (this.#rules.has(version)) {
                request.revision = version;
                this.#agreed.set(talk, version);
            }
        }
        const { revision } = request;
        const rules = this.#rules.get(revision);
        const name = rules.definitionOf(method);
        if (name === undefined && !EXTENSION_METHODS.has(method)) {
            this.#wrong(entry, revision, message, [`a result of ${method}, which this revision does not have`]);
            return;
        }
        // What was answered with a result was asked rightly; a tool may refuse with one.
        if (message.result?.isError !== true) {
            const asked = rules.problems("JSONRPCRequest", request.message);
            if (name !== undefined) asked.push(...rules.problems(name, request.message));
            this.#judged(entry, revision, `client: ${method}`, request.message, asked);
        }
        const kind = message.result?.resultType === "input_required" ? rules.first("InputRequiredResult") : name === undefined ? "Result" : rules.resultOf(method);
        const envelope = rules.first("JSONRPCResultResponse", "JSONRPCResponse");
        const problems = [...rules.problems(envelope, message), ...rules.problems(kind, message.result)];
        this.#judged(entry, revision, `server: result of ${method}`, message, problems);
    }

    #failure(entry, line, talk, message) {
        const request = line.requests.get(message?.id);
        const revision = request?.revision ?? this.#agreed.get(talk) ?? line.latest ?? NEWEST_WITH_SESSIONS;
        const rules = this.#rules.get(revision);
        let judged = message;
        if (message?.id === undefined && line.nameless > 0) {
            // Early revisions want an id even where there was none to read.
            line.nameless--;
            judged = { ...message, id: 0 };
        }
        const problems = rules.problems(rules.errorOf(message?.error?.code), judged);
        if (message?.id !== undefined && request === undefined) problems.push("an error that answers no request");
        this.#judged(entry, revision, "server: error", message, problems);
    }

    #judged(entry, revision, kind, message, problems) {
        if (!this.checked.has(revision)) this.checked.set(revision, new Map());
        const kinds = this.checked.get(revision);
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
        if (problems.length > 0) this.#wrong(entry, revision, message, problems);
    }

    #wrong({ test, transport }, revision, message, problems) {
        this.violations.push({ test, transport, revision, message, problems });
    }
}

/**
 * Whether HTTP itself turned a request away, before anybody looked for a message
 * in it: the protocol lets a server say so in a body that is no message.
 */
function isTurnedAway(status, said) {
    return status >= 400 && said?.jsonrpc === undefined && typeof said?.error === "string";
}

/** The text as JSON, or nothing. */
function parsed(text) {
    try {
        return JSON.parse(text);
    } catch {
        return undefined;
    }
}
