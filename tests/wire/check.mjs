// Checks every message that was recorded in a folder against the schema of its
// revision: check.mjs FOLDER
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Conversation } from "./conversation.mjs";
import { Rules, schemas } from "./schemas.mjs";

// Fewer, and the recording is not that of the whole tests.
const FEWEST = 5_000;

const folder = process.argv[2];
const rules = new Map(Object.entries(schemas()).map(([revision, schema]) => [revision, new Rules(revision, schema)]));
const conversation = new Conversation(rules);
for (const file of readdirSync(folder).filter((name) => name.endsWith(".jsonl")).sort()) {
    for (const line of readFileSync(join(folder, file), "utf8").split("\n").filter(Boolean)) {
        conversation.add({ file, ...JSON.parse(line) });
    }
}

let total = 0;
let failed = false;
for (const revision of rules.keys()) {
    const kinds = conversation.checked.get(revision) ?? new Map();
    const count = [...kinds.values()].reduce((sum, one) => sum + one, 0);
    total += count;
    console.log(`${revision}: ${count} messages`);
    for (const [kind, times] of [...kinds].sort()) console.log(`    ${String(times).padStart(6)}  ${kind}`);
    if (count === 0) {
        failed = true;
        console.error(`no message of ${revision} was recorded`);
    }
}
if (total < FEWEST) {
    failed = true;
    console.error(`only ${total} messages were recorded, of at least ${FEWEST}`);
}

// What is wrong in the same way is shown once.
const { violations } = conversation;
const alike = Map.groupBy(violations, ({ revision, problems }) => `${revision} ${problems.join("\n")}`);
for (const [{ test, transport, revision, message, problems }, ...others] of alike.values()) {
    console.error(`\n${test} (${transport}, ${revision}): ${JSON.stringify(message)?.slice(0, 600)}`);
    for (const problem of problems.slice(0, 6)) console.error(`    ${problem}`);
    if (others.length > 0) console.error(`    and so in ${others.length} more messages, such as in ${others.at(-1).test}`);
}
console.log(`wire: ${total} messages checked, ${violations.length} not valid`);
process.exit(failed || violations.length > 0 ? 1 : 0);
