// Drives the pages of logins: passkeys with an authenticator of the browser, second factors, and the
// page of consent for clients with borrowed names.
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { check, report, violations } from "./checks.mjs";

const { CHROMIUM, PICTURES, SITE, PASSWORD } = process.env;

const looksRight = async (page, name) => {
  const found = await violations(page);
  check(`${name} is accessible`, found === "", found);
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
  await page.setViewportSize({ width: 320, height: 640 });
  const width = await page.evaluate(() =>
    [document.scrollingElement.scrollWidth, document.documentElement.clientWidth]);
  check(`${name} fits`, width[0] <= width[1], width.join(" > "));
  await page.setViewportSize({ width: 1100, height: 900 });
};

const open = async (browser, options = {}) => {
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...options });
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  const page = await context.newPage();
  page.on("console", (message) => {
    const expected = /status of 403/.test(message.text());
    check("console without errors", message.type() !== "error" || expected, message.text());
  });
  page.on("pageerror", (error) => check("scripts without errors", false, error.message));
  return page;
};

const enterPassword = async (page) => {
  await page.goto(`${SITE}/login`);
  await page.fill("#name", "ada");
  await page.fill("#password", PASSWORD);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
};

const isLoggedIn = async (page) => (await page.goto(`${SITE}/account`)).url().endsWith("/account");

// Returns the code that an authenticator shows some half minutes from now.
const codeOf = (secret, steps) => {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = [...secret].map((it) => letters.indexOf(it).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30000) + steps));
  const hash = createHmac("sha1", key).update(counter).digest();
  const number = hash.readUInt32BE(hash[19] & 15) & 0x7fffffff;
  return String(number % 1000000).padStart(6, "0");
};

const passkeys = async (browser) => {
  const page = await open(browser);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  const options = { protocol: "ctap2", transport: "internal", hasResidentKey: true,
    hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true };
  const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", { options });
  await enterPassword(page);
  await page.goto(`${SITE}/account/passkeys`);
  await looksRight(page, "passkeys");
  const add = async (password) => {
    await page.fill("#title", "My phone");
    await page.fill("#password", password);
    await page.getByRole("button", { name: "Add a passkey" }).click();
  };
  await add("a wrong password");
  await page.getByText("The password or the code is wrong.").waitFor();
  await devtools.send("WebAuthn.clearCredentials", { authenticatorId });
  await add(PASSWORD);
  await page.getByRole("heading", { name: "My phone" }).waitFor();
  await looksRight(page, "passkeys-added");
  const logIn = async () => {
    await page.context().clearCookies();
    await page.goto(`${SITE}/login`);
    await page.getByRole("button", { name: "Log in with a passkey" }).click();
  };
  await logIn();
  await page.waitForURL((address) => !address.pathname.startsWith("/login"));
  check("a passkey logs in", await isLoggedIn(page));
  const verified = { authenticatorId, isUserVerified: false };
  await devtools.send("WebAuthn.setUserVerified", verified);
  await logIn();
  await page.getByText("Your device gave no passkey.").waitFor();
  await looksRight(page, "login-passkey-refused");
  check("an unknown person is not logged in", !(await isLoggedIn(page)));
  await page.context().close();
  const plain = await open(browser, { javaScriptEnabled: false });
  await plain.goto(`${SITE}/login`);
  const button = plain.getByRole("button", { name: "Log in with a passkey" });
  check("without scripts there are no passkeys", !(await button.isVisible()));
  await plain.context().close();
};

// Registers a client and shows the page that asks the user about it.
const consent = async (page, name, address, picture) => {
  const registration = await fetch(`${SITE}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: name, redirect_uris: [address] }),
  });
  const { client_id } = await registration.json();
  const query = new URLSearchParams({ client_id, redirect_uri: address, response_type: "code",
    scope: "read", code_challenge: "x".repeat(43), code_challenge_method: "S256" });
  await page.goto(`${SITE}/oauth/authorize?${query}`);
  await looksRight(page, picture);
  return page.locator("main").textContent();
};

const secondFactor = async (browser) => {
  const page = await open(browser);
  await enterPassword(page);
  const marked = await consent(page, "Cl\u0430ude", "https://claude.example/callback",
    "consent-borrowed-name");
  check("a borrowed name is marked", marked.includes("The name is that of Claude"), marked);
  const own = await consent(page, "Claude", "https://claude.ai/api/mcp/auth_callback", "consent");
  check("a name of its own is not marked", !own.includes("The name is that of"), own);
  await page.goto(`${SITE}/account/second-factor`);
  check("the secret is a picture", await page.locator("svg.qr").isVisible());
  await looksRight(page, "second-factor");
  const secret = (await page.locator("code.secret").textContent()).replaceAll(" ", "");
  await page.fill("#password", PASSWORD);
  await page.fill("#code", codeOf(secret, 0));
  await page.getByRole("button", { name: "Turn on" }).click();
  await page.getByRole("heading", { name: "Your recovery codes" }).waitFor();
  await looksRight(page, "recovery-codes");
  await page.goto(`${SITE}/account/second-factor`);
  await looksRight(page, "second-factor-on");
  await page.context().clearCookies();
  await enterPassword(page);
  await page.getByRole("heading", { name: "Enter your code" }).waitFor();
  await looksRight(page, "login-code");
  await page.fill("#code", codeOf(secret, 1));
  await page.getByRole("button", { name: "Log in" }).click();
  await page.waitForURL((address) => !address.pathname.startsWith("/login"));
  check("password and code log in", await isLoggedIn(page));
};

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
try {
  await passkeys(browser);
  await secondFactor(browser);
} finally {
  await browser.close();
}
report("logins");
