// A browser whose errors are recorded: an error of a page fails the script in any step.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** The timeout of every step; test machines can be slow. */
export const PATIENCE = 60_000;

/** The parameters of the script, as JSON on standard input. */
export const told = JSON.parse(readFileSync(0, "utf8"));

const require = createRequire(`${told.modules}/browser/package.json`);
const { chromium } = require("playwright-core");

const faults = [];

/** Records errors of a page. */
function watch(page) {
  const note = (text) => faults.push(`${page.url()}: ${text}`);
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) note(`console: ${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => note(`error: ${error.stack ?? error.message}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== told.address && url.protocol !== "data:") note(`a request to another place: ${request.url()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 500) note(`status ${response.status()} of ${response.url()}`);
  });
  page.setDefaultTimeout(PATIENCE);
}

/** Opens a browser with one profile. */
export async function openBrowser(options = {}) {
  const isRoot = process.getuid?.() === 0;
  const browser = await chromium.launch({ executablePath: told.chromium, args: isRoot ? ["--no-sandbox"] : [] });
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: told.address });
  context.on("page", watch);
  return { browser, context };
}

/** Uses the one-time login in a new page. */
export async function logIn(context) {
  const page = await context.newPage();
  await page.goto(told.login);
  await page.getByRole("button", { name: "Log in to this Pegboard" }).click();
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  return page;
}

/** Waits until the page receives events. */
export async function isLive(page) {
  await page.locator('#live[data-state="on"]').waitFor({ state: "attached" });
}

export async function step(name, work) {
  console.log(`step: ${name}`);
  try {
    return await work();
  } catch (error) {
    error.message = `${name}: ${error.message}\n${faults.join("\n")}`;
    throw error;
  }
}

export async function picture(page, name) {
  mkdirSync(told.pictures, { recursive: true });
  await page.screenshot({ path: join(told.pictures, `${name}.png`), animations: "disabled" });
}

/** A step in which a request is refused on purpose; the browser's error message about it is ignored. */
export async function refused(status, work) {
  const before = faults.length;
  await work();
  const others = faults.splice(before).filter((fault) => !fault.includes(`status of ${status} `));
  faults.push(...others);
}

/** A step in which Pegboard is not running; the browser's error messages about it are ignored. */
export async function away(work) {
  const before = faults.length;
  const result = await work();
  const isOfAbsence = (fault) => /net::ERR_|status of 401 /.test(fault);
  faults.push(...faults.splice(before).filter((fault) => !isOfAbsence(fault)));
  return result;
}

/** Closes the browser, and fails if a page had an error. */
export async function finish(browser) {
  await browser.close();
  assert.deepEqual(faults, []);
}

/** Runs a script: its browser is closed whatever happens. */
export async function script(options, work) {
  const { browser, context } = await openBrowser(options);
  try {
    await work(context, browser);
    await finish(browser);
  } catch (error) {
    const pages = context.pages();
    for (const [at, page] of pages.entries()) await picture(page, `failed-${at}`).catch(() => {});
    await browser.close();
    console.error(error);
    process.exit(1);
  }
}

/** A real MCP client, connected over HTTP, without elicitation. */
export async function connectClient() {
  const clients = createRequire(`${told.modules}/clients/package.json`);
  const load = (name) => import(pathToFileURL(clients.resolve(`@modelcontextprotocol/sdk/${name}`)));
  const { Client } = await load("client/index.js");
  const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
  const { CallToolResultSchema } = await load("types.js");
  const client = new Client({ name: "a-real-client", version: "1.0.0" });
  const headers = { Authorization: `Bearer ${told.token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${told.address}/mcp`), { requestInit: { headers } }));
  return {
    call: (name, args) => client.callTool({ name, arguments: args }, CallToolResultSchema, { timeout: 4 * PATIENCE }),
    close: () => client.close(),
  };
}

/** Marks a page, to see later that it was never loaded again. */
export async function mark(page) {
  await page.evaluate(() => (window.neverReloaded = true));
}

export async function assertNeverReloaded(page) {
  assert.equal(await page.evaluate(() => window.neverReloaded), true, "the page was loaded again");
}
