// A server that cannot start says why, and a text with several servers offers each of them.

import assert from "node:assert/strict";
import { isLive, logIn, picture, script, step, input } from "./harness.mjs";

const LOOKS = [
  ["light", "light", 1280],
  ["dark", "dark", 1280],
  ["narrow", "light", 400],
  ["narrow-dark", "dark", 400],
];

await script({}, async (context) => {
  const page = await step("log in", () => logIn(context));
  const pictures = async (name) => {
    for (const [look, colorScheme, width] of LOOKS) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 860 });
      if (name.startsWith("add-")) await page.locator("#progress").scrollIntoViewIfNeeded();
      await picture(page, `${name}-${look}`);
    }
    await page.setViewportSize({ width: 1280, height: 860 });
  };

  await step("a text with two servers offers both", async () => {
    await page.goto(`${input.address}/add-server`);
    await isLive(page);
    const two = { mcpServers: { first: { command: "one", args: ["a b"] }, second: { url: "https://example.com/mcp" } } };
    await page.getByLabel("Paste an entry").fill(JSON.stringify(two));
    await page.getByRole("button", { name: "Fill in the form" }).click();
    await page.locator(".toast", { hasText: "2 servers were found" }).waitFor();
    assert.equal(await page.locator("#name").inputValue(), "first");
    await page.locator("#paste-found").getByRole("button", { name: "second" }).click();
    assert.equal(await page.locator("#name").inputValue(), "second");
    assert.equal(await page.locator("#url").inputValue(), "https://example.com/mcp");
    await pictures("add-server-pasted");
    await page.locator("#paste-found").getByRole("button", { name: "first" }).click();
    assert.equal(await page.locator("#command").inputValue(), "one 'a b'");
  });

  await step("a server that does not start shows what it wrote", async () => {
    await page.locator("#name").fill("broken_server_name");
    await page.locator("#command").fill("node /nowhere/index.js");
    await page.getByRole("button", { name: "Add and discover" }).click();
    await page.locator("#progress pre", { hasText: "Cannot find module" }).waitFor();
    const lines = page.locator("#progress .state");
    const first = lines.first();
    assert.match(await first.textContent(), /Starting broken_server_name/);
    assert.match(await first.getAttribute("class"), /\bbad\b/, "the first step is not shown as done");
    const { height, width } = await first.boundingBox();
    assert.ok(height < 60 && width > 150, `the name is on one line: ${width} × ${height}`);
    assert.ok(!(await page.locator("#progress").textContent()).includes("\\n"));
    await pictures("add-server-failed");
  });

  await step("its page and the overview show it with its lines", async () => {
    for (const path of ["/servers/broken_server_name", "/"]) {
      await page.goto(input.address + path);
      await page.locator("pre", { hasText: "Cannot find module" }).first().waitFor();
      await pictures(path === "/" ? "overview-failed" : "server-broken");
    }
  });
});
