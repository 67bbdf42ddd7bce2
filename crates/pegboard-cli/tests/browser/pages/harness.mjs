// A browser whose errors are recorded: an error of a page fails the script in any step.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** The timeout of every step; test machines can be slow. */
export const STEP_TIMEOUT_MS = 60_000;

/** The parameters of the script, as JSON on standard input. */
export const input = JSON.parse(readFileSync(0, "utf8"));

const require = createRequire(`${input.modules}/browser/package.json`);
const { chromium } = require("playwright-core");

const errors = [];

/** Records errors of a page. */
function watch(page) {
  const note = (text) => errors.push(`${page.url()}: ${text}`);
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) note(`console: ${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => note(`error: ${error.stack ?? error.message}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== input.address && url.protocol !== "data:") note(`a request to another host: ${request.url()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 500) note(`status ${response.status()} of ${response.url()}`);
  });
  page.setDefaultTimeout(STEP_TIMEOUT_MS);
}

/** Opens a browser with one profile. */
export async function openBrowser(options = {}) {
  const isRoot = process.getuid?.() === 0;
  const browser = await chromium.launch({ executablePath: input.chromium, args: isRoot ? ["--no-sandbox"] : [] });
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: input.address });
  context.on("page", watch);
  return { browser, context };
}

/** Uses the one-time login in a new page. */
export async function logIn(context) {
  const page = await context.newPage();
  await page.goto(input.login);
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
    error.message = `${name}: ${error.message}\n${errors.join("\n")}`;
    throw error;
  }
}

export async function picture(page, name) {
  mkdirSync(input.pictures, { recursive: true });
  await page.screenshot({ path: join(input.pictures, `${name}.png`), animations: "disabled" });
}

/** A step in which a request is refused on purpose; the browser's error message about it is ignored. */
export async function refused(status, work) {
  const before = errors.length;
  await work();
  const others = errors.splice(before).filter((error) => !error.includes(`status of ${status} `));
  errors.push(...others);
}

/** A step in which Pegboard is not running; the browser's error messages about it are ignored. */
export async function whileStopped(work) {
  const before = errors.length;
  const result = await work();
  const isConnectionError = (error) => /net::ERR_|status of 401 /.test(error);
  errors.push(...errors.splice(before).filter((error) => !isConnectionError(error)));
  return result;
}

/** Closes the browser, and fails if a page had an error. */
export async function finish(browser) {
  await browser.close();
  assert.deepEqual(errors, []);
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

/** Loads a module of the MCP SDK. */
function loadSdk(name) {
  const clients = createRequire(`${input.modules}/clients/package.json`);
  return import(pathToFileURL(clients.resolve(`@modelcontextprotocol/sdk/${name}`)));
}

/** A real MCP client, connected over HTTP, without elicitation. */
export async function connectClient() {
  const { StreamableHTTPClientTransport } = await loadSdk("client/streamableHttp.js");
  const headers = { Authorization: `Bearer ${input.token}` };
  return open("a-real-client", new StreamableHTTPClientTransport(new URL(`${input.address}/mcp`), { requestInit: { headers } }));
}

/** A real MCP client that starts `pegboard stdio` in a folder. */
export async function startStdioClient(name, cwd) {
  const { StdioClientTransport } = await loadSdk("client/stdio.js");
  return open(name, new StdioClientTransport({ command: input.program, args: ["stdio"], env: input.environment, cwd }));
}

async function open(name, transport) {
  const { Client } = await loadSdk("client/index.js");
  const { CallToolResultSchema } = await loadSdk("types.js");
  const client = new Client({ name, version: "1.0.0" });
  await client.connect(transport);
  return {
    call: (name, args) => client.callTool({ name, arguments: args }, CallToolResultSchema, { timeout: 4 * STEP_TIMEOUT_MS }),
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
