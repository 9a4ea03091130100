// Drives all pages as people do: with and without JavaScript, by keyboard, in narrow windows, with
// dark colours. Every problem is reported; the program fails if there is any.
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { check, report, violations } from "./checks.mjs";

const MAX_PAGE_BYTES = 100 * 1024;
const { CHROMIUM, PICTURES, FIRST_LINK, SECOND_LINK } = process.env;
const site = new URL(FIRST_LINK).origin;

// Opens a browser whose scripts, policy violations and foreign requests are reported.
const open = async (browser, options = {}) => {
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...options });
  context.on("request", (request) => {
    const own = request.url().startsWith(site) || request.url().startsWith("data:");
    check("requests stay on the server", own, request.url());
  });
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  const page = await context.newPage();
  const expected = (text) => /status of (403|404|409)/.test(text);
  page.on("console", (message) => {
    if (message.type() === "error") {
      check("console without errors", expected(message.text()), `${page.url()} ${message.text()}`);
    }
  });
  page.on("pageerror", (error) => check("scripts without errors", false, error.message));
  page.on("dialog", async (dialog) => {
    check("no hostile script runs", false, dialog.message());
    await dialog.dismiss();
  });
  return page;
};

const looksRight = async (page, path, name) => {
  const answer = await page.goto(site + path);
  check(`${path} is shown`, answer.status() === 200, String(answer.status()));
  const size = (await answer.body()).length;
  check(`${path} is small`, size <= MAX_PAGE_BYTES, `${size} bytes`);
  const found = await violations(page);
  check(`${path} is accessible (${name})`, found === "", found);
  const width = await page.evaluate(() =>
    [document.scrollingElement.scrollWidth, document.documentElement.clientWidth]);
  check(`${path} fits (${name})`, width[0] <= width[1], width.join(" > "));
  const file = path.replace(/[^a-z0-9]+/gi, "-").replace(/^-|-$/g, "").slice(0, 40) || "home";
  await page.screenshot({ path: join(PICTURES, `${file}-${name}.png`) });
};

const itemPaths = async (page) => {
  const paths = [];
  for (const query of ["chrysoberyl", "\"heading that begins\"", "amethyst", "serpentine"]) {
    await page.goto(`${site}/search?q=${encodeURIComponent(query)}`);
    const links = await page.locator(".entry h3 a").evaluateAll((all) =>
      all.map((link) => new URL(link.href).pathname + new URL(link.href).search));
    check(`${query} is found`, links.length > 0);
    paths.push(links[0]);
  }
  return paths;
};

const keyboard = async (page) => {
  await page.goto(`${site}/search?q=amethyst`);
  await page.keyboard.press("/");
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.href);
  check("/ goes to the search field", (await focused()) === "q", await focused());
  await page.keyboard.type("chrysoberyl");
  await page.waitForFunction(() => document.querySelector("#results").textContent.includes("hidden"));
  check("results follow the typing", page.url().includes("q=chrysoberyl"), page.url());
  await page.locator("main").focus();
  await page.keyboard.press("j");
  check("j goes to a result", (await focused()).includes("/i/notes/"), await focused());
  await page.keyboard.press("Enter");
  await page.waitForURL("**/i/notes/**");
  await page.goto(site);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  const main = await page.evaluate(() => location.hash === "#main");
  check("the first key skips to the content", main);
};

const marksPassage = async (page, path) => {
  await page.goto(site + path);
  const mark = page.locator("#passage").first();
  check("the passage is marked", (await mark.count()) === 1);
  const marked = (await page.locator("mark").allTextContents()).join(" ");
  check("the mark is the passage", marked.includes("chrysoberyl"), marked.slice(0, 200));
  const seen = await mark.evaluate((it) => {
    const box = it.getBoundingClientRect();
    return box.top >= 0 && box.top < innerHeight;
  });
  check("the page begins at the passage", seen);
};

const listsSimilarItems = async (page, path) => {
  await page.goto(site + path);
  await page.locator("#similar .entry").first().waitFor();
  check("similar items follow", (await page.locator("article.item").count()) === 1);
  const found = await violations(page);
  check("an item with similar items is accessible", found === "", found);
};

// Writes a note by keyboard, and edits it after another window has.
const edits = async (page, context) => {
  await page.goto(`${site}/new`);
  await page.locator("#title").focus();
  await page.keyboard.type("Written here");
  await page.keyboard.press("Tab");
  await page.keyboard.type("About larimar.");
  await page.keyboard.press("Control+s");
  await page.waitForURL("**/i/notes/**");
  check("a note is written", (await page.locator("article").textContent()).includes("larimar"));
  await page.locator("main").focus();
  await page.keyboard.press("e");
  await page.waitForURL("**/edit/notes/**");
  const other = await context.newPage();
  await other.goto(page.url());
  await other.locator("#content").fill("About larimar and jade.");
  await other.getByRole("button", { name: "Preview" }).click();
  check("a preview is shown", (await other.locator(".preview").textContent()).includes("jade"));
  check("the preview is accessible", (await violations(other)) === "", await violations(other));
  await other.getByRole("button", { name: "Save" }).click();
  await other.waitForURL("**/i/notes/**");
  await page.locator("#content").fill("About larimar and <b>opal</b>.");
  await page.getByRole("button", { name: "Save" }).click();
  const warning = await page.getByRole("alert").textContent();
  check("a conflict is shown", warning.includes("Nothing was saved"), warning);
  for (const [name, width] of [["wide", 1280], ["narrow", 390]]) {
    await page.setViewportSize({ width, height: 900 });
    const found = await violations(page);
    check(`a conflict is accessible (${name})`, found === "", found);
    const fits = await page.evaluate(() =>
      document.scrollingElement.scrollWidth <= document.documentElement.clientWidth);
    check(`a conflict fits (${name})`, fits);
    await page.screenshot({ path: join(PICTURES, `conflict-${name}.png`), fullPage: true });
  }
  await page.getByRole("button", { name: "Save my text" }).click();
  await page.waitForURL("**/i/notes/**");
  check("the own text is saved", (await page.locator("article").textContent()).includes("opal"));
  const path = new URL(page.url()).pathname;
  await page.getByText("Tags", { exact: true }).click();
  await page.getByLabel("Add").fill("blue");
  await page.getByRole("button", { name: "Add" }).click();
  check("a tag is added", (await page.locator(".about").first().textContent()).includes("#blue"));
  await page.getByRole("button", { name: "Move to trash" }).click();
  await page.waitForURL("**/history/notes/**");
  await page.getByRole("button", { name: "Undo" }).click();
  await page.waitForURL(`**${path}`);
  check("undo brings the note back", (await page.locator("article").textContent()).includes("opal"));
  await other.close();
  return path;
};

const withoutScripts = async (browser) => {
  const page = await open(browser, { javaScriptEnabled: false });
  await page.goto(`${site}/search?q=chrysoberyl`);
  check("strangers see the login", page.url().includes("/login"), page.url());
  await page.goto(SECOND_LINK);
  await page.getByRole("button", { name: "Log in" }).click();
  check("a one-time link logs in", new URL(page.url()).pathname === "/", page.url());
  await page.getByRole("searchbox").fill("chrysoberyl");
  await page.getByRole("button", { name: "Search" }).click();
  await page.locator(".entry a").first().click();
  check("an item opens", page.url().includes("/i/notes/"), page.url());
  await page.getByRole("link", { name: "Similar items" }).click();
  check("similar items have a page", (await page.locator("#similar .entry").count()) > 0);
  const file = join(tmpdir(), `dropped-${process.pid}.md`);
  writeFileSync(file, "# Dropped\n\nA dropped note about labradorite.\n");
  await page.goto(`${site}/new`);
  await page.locator("#title").fill("Plain");
  await page.locator("#content").fill("A plain note about sugilite.");
  await page.getByRole("button", { name: "Save" }).click();
  check("a note is written without scripts", page.url().includes("/i/notes/"), page.url());
  await page.goto(`${site}/imports`);
  await page.locator("input[type=file]").setInputFiles(file);
  await page.getByRole("button", { name: "Import" }).click();
  const report = await page.getByRole("status").textContent();
  check("a file is imported", /new/.test(report), report);
  await page.goto(`${site}/search?q=labradorite`);
  check("the file is found", (await page.locator(".entry").count()) === 1);
  await page.goto(`${site}/clip?url=https%3A%2F%2Fexample.org%2Fa&title=Clip&text=About%20malachite`);
  await page.getByRole("button", { name: "Save" }).click();
  check("a page is saved", page.url().includes("/i/media/"), page.url());
  check("the saved text is shown", (await page.locator("article").textContent()).includes("malachite"));
  await page.getByRole("button", { name: "Log out" }).click();
  await page.goto(`${site}/timeline`);
  check("the session ends", page.url().includes("/login"), page.url());
};

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
try {
  const page = await open(browser);
  await page.goto(FIRST_LINK);
  await page.waitForURL(`${site}/`);
  const items = await itemPaths(page);
  const paths = ["/", "/search?q=amethyst", "/timeline", "/map", "/imports", "/collections",
    "/activity?pages=1", "/clients", "/connect", "/health", "/clip", ...items];
  const edited = await edits(page, page.context());
  await page.setViewportSize({ width: 1100, height: 900 });
  const places = ["edit", "history"].map((place) => edited.replace("/i/", `/${place}/`));
  paths.push("/new", ...places, `${places[1]}?compare=1`);
  const cookies = (await page.context().storageState());
  for (const [name, options] of [
    ["light", {}],
    ["dark", { colorScheme: "dark" }],
    ["narrow", { viewport: { width: 320, height: 640 } }],
  ]) {
    const styled = await open(browser, { storageState: cookies, ...options });
    for (const path of paths) await looksRight(styled, path, name);
    await styled.context().close();
  }
  await keyboard(page);
  await marksPassage(page, items[0]);
  await listsSimilarItems(page, items[0]);
  await page.goto(`${site}/i/notes/none`);
  check("a missing item says so", (await page.locator("main").textContent()).includes("cannot be shown"));
  await withoutScripts(browser);
} finally {
  await browser.close();
}
report("pages");
