// From the first login to an approved call, and back to an empty configuration.

import assert from "node:assert/strict";
import { assertNeverReloaded, connectClient, isLive, logIn, mark, refused, script, step, input } from "./harness.mjs";

const toast = (page, text) => page.locator(".toast", { hasText: text }).first().waitFor();
const go = (page, name) => page.getByRole("navigation", { name: "Main" }).getByRole("link", { name }).click();
const row = (page, text) => page.locator("tbody tr", { hasText: text });

await script({}, async (context, browser) => {
  await step("without a login the login page is shown", async () => {
    const visitor = await (await browser.newContext()).newPage();
    await visitor.goto(`${input.address}/tools`);
    assert.equal(new URL(visitor.url()).pathname, "/login");
    await visitor.close();
  });

  const page = await step("log in with the one-time link", () => logIn(context));
  await step("with nothing configured the next step is offered", async () => {
    await page.getByText("No server is configured yet").waitFor();
  });

  const otherPage = await context.newPage();
  await step("another page shows the servers", async () => {
    await otherPage.goto(`${input.address}/servers`);
    await isLive(otherPage);
    await mark(otherPage);
  });

  await step("add the example server and see its tools", async () => {
    await page.getByRole("link", { name: "Try the example server" }).click();
    await page.getByRole("heading", { name: "Add a server", level: 1 }).waitFor();
    assert.equal(await page.locator("#name").inputValue(), "example");
    assert.deepEqual(await page.locator("#words code").allTextContents(), [input.program, "example-server"]);
    await isLive(page);
    await page.getByRole("button", { name: "Add and discover" }).click();
    await page.getByText("16 tools are known").first().waitFor();
    assert.match(await page.locator("#progress .command").textContent(), /example-server$/);
  });

  await step("the other page shows it discovered, without being loaded again", async () => {
    await row(otherPage, "example").getByText("known").waitFor();
    await row(otherPage, "example").getByText("16", { exact: true }).waitFor();
    await assertNeverReloaded(otherPage);
  });

  await step("a name that is taken is reported at its field", async () => {
    await refused(409, async () => {
      await page.getByRole("button", { name: "Add and discover" }).click();
      await page.locator('[data-field="name"] .fault', { hasText: "already" }).waitFor();
    });
  });

  await step("filter the tools while typing, and open one", async () => {
    await go(page, "Tools");
    await row(page, "echo").first().waitFor();
    assert.equal(await page.locator("tbody tr").count(), 16);
    await isLive(page);
    await page.getByRole("searchbox", { name: "Filter tools" }).pressSequentially("base64");
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 2);
    assert.match(page.url(), /q=base64/);
    await page.getByRole("link", { name: "encode_base64" }).click();
    await page.getByRole("heading", { name: "encode_base64", level: 1 }).waitFor();
  });

  await step("try it with the form, then as JSON", async () => {
    const trial = page.locator("#try");
    await isLive(page);
    await trial.getByLabel("text", { exact: true }).fill("pegboard");
    await trial.getByRole("button", { name: "Run" }).click();
    await trial.getByText("cGVnYm9hcmQ=").first().waitFor();
    await trial.getByRole("button", { name: "JSON" }).click();
    const text = JSON.parse(await trial.getByLabel("Arguments as JSON").inputValue());
    assert.equal(text.text, "pegboard");
    await trial.getByLabel("Arguments as JSON").fill('{"text": "peg"}');
    await trial.getByRole("button", { name: "Run" }).click();
    await trial.getByText("cGVn", { exact: true }).first().waitFor();
    await trial.getByLabel("Arguments as JSON").fill('{"text": 7}');
    await refused(400, async () => {
      await trial.getByRole("button", { name: "Run" }).click();
      await trial.locator(".callout.bad").waitFor();
    });
  });

  await step("show it in another provider's format", async () => {
    await page.locator("#formats").getByRole("link", { name: "gemini" }).click();
    await page.locator("#formats pre", { hasText: '"parameters"' }).waitFor();
    await page.locator('#formats [aria-current="true"]', { hasText: "gemini" }).waitFor();
  });

  await step("search, and see why a tool matched", async () => {
    await go(page, "Search");
    await page.getByRole("heading", { name: "Search", level: 1 }).waitFor();
    await isLive(page);
    await page.getByRole("searchbox").pressSequentially("count the words of a text");
    const first = page.locator("#results ol li").first();
    await first.getByRole("link", { name: "count_words" }).waitFor();
    await first.locator("summary").click();
    await first.locator("dt", { hasText: "words" }).waitFor();
    await first.getByText("in its name").first().waitFor();
  });

  await step("set a tool's policy to ask", async () => {
    await page.goto(`${input.address}/tools/example__add_numbers`);
    await isLive(page);
    await page.getByLabel("For this tool").selectOption("ask");
    await toast(page, "The policy of add_numbers is ask");
    await page.locator("#head .chip", { hasText: "ask" }).waitFor();
  });

  const client = await step("a real client connects", connectClient);
  await step("its call waits, and the navigation shows it", async () => {
    const answer = client.call("example__add_numbers", { a: 40, b: 2 });
    await page.locator("#badge-side .badge", { hasText: "1" }).waitFor();
    await go(page, "Approvals");
    await page.getByRole("heading", { name: "Approvals", level: 1 }).waitFor();
    await isLive(page);
    const card = page.locator("article", { hasText: "example__add_numbers" });
    await card.getByText("a-real-client").waitFor();
    assert.deepEqual(JSON.parse(await card.locator("pre").first().textContent()), { a: 40, b: 2 });
    await card.getByRole("button", { name: "Allow once" }).click();
    await toast(page, "The call may run");
    const result = await answer;
    assert.equal(result.isError ?? false, false);
    assert.match(JSON.stringify(result.content), /42/);
    await page.getByText("No waiting calls").waitFor();
    await page.locator("#badge-side .badge").waitFor({ state: "detached" });
  });

  await step("another one is refused", async () => {
    const answer = client.call("example__add_numbers", { a: 1, b: 1 }).catch((error) => error);
    const card = page.locator("article", { hasText: "example__add_numbers" });
    await card.getByRole("button", { name: "Refuse" }).click();
    const result = await answer;
    assert.match(JSON.stringify(result.content ?? result.message), /TOOL_DENIED|refused|not allowed|denied/i);
  });
  await client.close();

  await step("both are in the activity", async () => {
    await go(page, "Activity");
    const calls = row(page, "example__add_numbers");
    await calls.filter({ hasText: "call" }).filter({ hasText: "ok" }).first().waitFor();
    await calls.filter({ hasText: "once" }).first().waitFor();
    await calls.filter({ hasText: "refuse" }).first().waitFor();
  });

  await step("what a model sees names the server", async () => {
    await go(page, "Context");
    await page.locator("#summary pre", { hasText: "16 tools of 1 server" }).waitFor();
    await page.getByText("search_tools", { exact: true }).first().waitFor();
  });

  await step("the token is shown on demand only", async () => {
    await go(page, "Connect");
    await page.getByRole("heading", { name: "Connect", level: 1 }).waitFor();
    await isLive(page);
    assert.ok(!(await page.content()).includes(input.token));
    await page.getByRole("button", { name: "Insert the token" }).click();
    await page.locator("pre", { hasText: input.token }).waitFor();
    await page.getByRole("button", { name: "Hide the token" }).click();
    assert.ok(!(await page.content()).includes(input.token));
    await page.getByRole("link", { name: "Zed" }).click();
    await page.locator("pre", { hasText: "context_servers" }).first().waitFor();
  });

  await step("the tools of a disabled server disappear", async () => {
    const tools = await context.newPage();
    await tools.goto(`${input.address}/tools`);
    await isLive(tools);
    await mark(tools);
    await otherPage.getByRole("button", { name: "Disable example" }).click();
    await row(otherPage, "example").getByText("disabled").waitFor();
    await tools.getByText("No tool matches").waitFor();
    await assertNeverReloaded(tools);
    await otherPage.getByRole("button", { name: "Enable example" }).click();
    await row(tools, "echo").first().waitFor();
    await tools.close();
  });

  await step("a refresh shows what changed", async () => {
    await otherPage.getByRole("link", { name: "example", exact: true }).click();
    await otherPage.getByRole("heading", { name: "example", level: 1 }).waitFor();
    await isLive(otherPage);
    await otherPage.getByRole("button", { name: "Refresh" }).click();
    await toast(otherPage, "nothing changed");
    await otherPage.locator("#delta", { hasText: "16 tools" }).waitFor();
  });

  await step("removing a server needs a confirmation", async () => {
    await otherPage.getByRole("button", { name: "Remove" }).click();
    await otherPage.getByRole("button", { name: "Cancel" }).click();
    assert.match(otherPage.url(), /servers\/example/);
    await otherPage.getByRole("button", { name: "Remove" }).click();
    await otherPage.locator("dialog").getByRole("button", { name: "Remove" }).click();
    await otherPage.getByText("No server is configured yet").waitFor();
  });

  await step("log out", async () => {
    await page.getByRole("button", { name: "Log out" }).click();
    await page.waitForURL(/\/login$/);
    await page.goto(input.address);
    assert.equal(new URL(page.url()).pathname, "/login");
  });
});
