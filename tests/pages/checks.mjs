// Checks of pages: what fails is reported at the end, and accessibility by axe-core.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const problems = [];
let checks = 0;

export const check = (what, holds, detail = "") => {
  checks += 1;
  if (!holds) problems.push(`${what}${detail ? `: ${detail}` : ""}`);
};

export const violations = async (page) => {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const found = await globalThis.axe.run();
    return found.violations.map((it) => `${it.id} ${it.nodes[0].html.slice(0, 150)}`).join("; ");
  });
};

// Prints the problems and ends the program, with an error if there is any.
export const report = (name) => {
  for (const problem of new Set(problems)) console.error(`FAILED  ${problem}`);
  console.log(`${name}: ${checks} checks, ${problems.length} failed`);
  process.exit(problems.length === 0 ? 0 : 1);
};
