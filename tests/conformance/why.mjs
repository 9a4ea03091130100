// Says what is not as the list of expected failures has it, from what the suite
// left in a folder: its log, which names scenarios, and the checks of each.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const folder = process.argv[2];
const log = readFileSync(join(folder, "log.txt"), "utf8");

/** The names in the part of the log that has this title. */
function named(title) {
    const [, rest = ""] = log.split(`${title} (`);
    const [part] = rest.split("\n\n");
    return [...part.matchAll(/[✓✗] (\S+)/g)].map(([, name]) => name);
}

for (const name of named("Stale baseline entries")) {
    console.log(`        ${name}: passes, though the list says that it fails`);
}

const wanted = new Set(named("Unexpected failures").map((name) => name.split(":")[0]));
for (const name of readdirSync(folder, { recursive: true }).sort()) {
    const scenario = /^server-(.*)-\d{4}-\d\d-\d\dT[^/]*\/checks\.json$/.exec(name)?.[1];
    if (!wanted.has(scenario)) continue;
    for (const { id, status, errorMessage = "" } of JSON.parse(readFileSync(join(folder, name), "utf8"))) {
        if (status !== "FAILURE" && status !== "WARNING") continue;
        console.log(`        ${scenario}: ${id}: ${errorMessage.replaceAll(/\s+/g, " ").slice(0, 300)}`);
    }
}
