// Times the page of each query and the call of `knowledge.search` that it makes, in turns over one
// connection each, and the first paint of the page in a browser.
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { chromium } from "playwright-core";

const ROUNDS = 3;
// Number of queries of each kind, and of those whose paint is measured.
const QUERIES = 100;
const PAINTED = 15;
const MAX_RATIO = 1.3;
const MAX_PAINT_MS = 200;

const site = new URL(process.env.LINK).origin;
const queries = JSON.parse(readFileSync(process.env.QUERIES, "utf8"));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
const context = await browser.newContext({ viewport: { width: 1100, height: 900 } });
const page = await context.newPage();
await page.goto(process.env.LINK);
await page.waitForURL(`${site}/`);
const cookie = (await context.cookies()).map((it) => `${it.name}=${it.value}`).join("; ");

// Returns the time until the whole response is read, in milliseconds, and its body.
const timed = (agent, method, path, headers, body) => new Promise((resolve, reject) => {
  const began = process.hrtime.bigint();
  const sent = request(site + path, { agent, method, headers }, (response) => {
    const parts = [];
    response.on("data", (part) => parts.push(part));
    response.on("end", () => {
      const time = Number(process.hrtime.bigint() - began) / 1e6;
      const text = Buffer.concat(parts).toString();
      if (response.statusCode === 200) resolve({ time, text });
      else reject(new Error(`${method} ${path}: ${response.statusCode} ${text.slice(0, 200)}`));
    });
  });
  sent.on("error", reject);
  sent.end(body);
});

const connection = () => new Agent({ keepAlive: true, maxSockets: 1 });
const [pages, calls] = [connection(), connection()];
const showPage = (query) =>
  timed(pages, "GET", `/search?q=${encodeURIComponent(query)}`, { cookie });
const call = async (query) => {
  const message = JSON.stringify({
    jsonrpc: "2.0", id: 1, method: "tools/call",
    params: {
      name: "knowledge.search",
      arguments: { query, limit: 20, offset: 0, highlight: true, snippet_length: 240 },
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    },
  });
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "knowledge.search",
  };
  const answer = await timed(calls, "POST", "/mcp", headers, message);
  if (!answer.text.includes('"isError":false')) throw new Error(answer.text.slice(0, 300));
  return answer;
};

const at = (times, share) => [...times].sort((one, other) => one - other)[
  Math.min(times.length - 1, Math.floor(times.length * share))];
const shown = (times) => [0.5, 0.95].map((share) => at(times, share).toFixed(2).padStart(9)).join("");

console.log("kind       what         p50 ms   p95 ms");
for (const [kind, all] of Object.entries(queries)) {
  const times = { page: [], call: [] };
  let bytes = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const query of all.slice(0, QUERIES)) {
      const [answer, result] = [await call(query), await showPage(query)];
      bytes = Math.max(bytes, Buffer.byteLength(result.text));
      // The first round fills caches.
      if (round === 0) continue;
      times.call.push(answer.time);
      times.page.push(result.time);
    }
  }
  const paints = [];
  for (const query of all.slice(0, PAINTED)) {
    await page.goto(`${site}/search?q=${encodeURIComponent(query)}`);
    paints.push(await page.evaluate(() => new Promise((resolve) => {
      new PerformanceObserver((list) => resolve(list.getEntries()
        .find((it) => it.name === "first-contentful-paint")?.startTime))
        .observe({ type: "paint", buffered: true });
    })));
  }
  const ratio = at(times.page, 0.95) / at(times.call, 0.95);
  console.log(`${kind.padEnd(10)} search   ${shown(times.call)}`);
  console.log(`${"".padEnd(10)} page     ${shown(times.page)}   p95 ${ratio.toFixed(2)} times ` +
    `(target: ${MAX_RATIO}); at most ${(bytes / 1024).toFixed(0)} KB`);
  console.log(`${"".padEnd(10)} paint    ${shown(paints)}   (target: ${MAX_PAINT_MS})`);
}
await browser.close();
pages.destroy();
calls.destroy();
