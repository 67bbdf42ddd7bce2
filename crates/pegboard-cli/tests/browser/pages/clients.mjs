// Other clients: find their servers, choose, import, connect one with a preview, and undo it.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { input, isLive, logIn, picture, refused, script, step } from "./harness.mjs";

const read = (file) => readFileSync(file, "utf8");
const client = (page, name) => page.locator("#clients tbody tr", { hasText: name });
const dialog = (page) => page.getByRole("dialog");

await script({}, async (context) => {
  const before = read(input.cursor);
  const page = await logIn(context);

  await step("the first steps lead to the import", async () => {
    await page.getByRole("link", { name: "Import from other clients" }).click();
    await page.getByRole("heading", { name: "Import servers", level: 1 }).waitFor();
    await page.getByRole("heading", { name: "Cursor" }).first().waitFor();
    await page.getByText("env.API_TOKEN looks like a secret").waitFor();
    assert.ok(!(await page.content()).includes(input.secret));
    await page.getByText("a project's; needs trust").waitFor();
    assert.equal(await page.getByRole("checkbox", { name: "Import theirs" }).isChecked(), false);
    await isLive(page);
    await picture(page, "import");
  });

  await step("choose with the keyboard", async () => {
    const weather = page.getByRole("checkbox", { name: "Import weather" });
    await weather.focus();
    await page.keyboard.press("Space");
    assert.equal(await weather.isChecked(), false);
    await page.getByRole("button", { name: "Import 2 servers" }).waitFor();
  });

  await step("nothing is written before it is confirmed", async () => {
    await page.getByRole("button", { name: "Import 2 servers" }).click();
    await dialog(page).getByText("goes into the secret store").waitFor();
    await dialog(page).getByRole("button", { name: "Cancel" }).click();
    assert.throws(() => read(input.config));
  });

  await step("import, and see the discovery", async () => {
    await page.getByRole("button", { name: "Import 2 servers" }).click();
    await dialog(page).getByRole("button", { name: "Import" }).click();
    await page.getByText("files: its tools are known").waitFor();
    await page.getByText("notes: its tools are known").waitFor();
    await picture(page, "import-done");
    const config = read(input.config);
    assert.match(config, /\[servers\.files\]/);
    assert.match(config, /\[servers\.notes\]/);
    assert.match(config, /\$\{secret:/);
    assert.doesNotMatch(config, /weather|theirs/);
    assert.ok(!config.includes(input.secret));
    assert.equal(read(input.cursor), before);
  });

  await step("undo the import, and import again", async () => {
    await page.getByRole("button", { name: "Undo the import" }).click();
    await page.locator(".toast", { hasText: "2 servers removed" }).waitFor();
    assert.doesNotMatch(read(input.config), /servers/);
    await page.goto(`${input.address}/import`);
    await isLive(page);
    await page.getByRole("checkbox", { name: "Import weather" }).uncheck();
    await page.getByRole("button", { name: "Import 2 servers" }).click();
    await dialog(page).getByRole("button", { name: "Import" }).click();
    await page.getByText("notes: its tools are known").waitFor();
    await page.getByText("files: its tools are known").waitFor();
  });

  await step("the clients on this machine", async () => {
    await page.locator("#import-progress").getByRole("link", { name: "Connect your clients" }).click();
    await page.getByRole("heading", { name: "Clients on this machine" }).waitFor();
    await client(page, "Cursor").getByText("direct", { exact: true }).waitFor();
    await isLive(page);
    await picture(page, "clients");
  });

  await step("the preview shows the change, and cancelling writes nothing", async () => {
    await client(page, "Cursor").getByRole("button", { name: "Connect" }).click();
    await dialog(page).getByRole("heading", { name: "Connect Cursor" }).waitFor();
    await dialog(page).locator(".added", { hasText: "pegboard" }).first().waitFor();
    await dialog(page).getByText("Through Pegboard only: files, notes").waitFor();
    await dialog(page).getByText("Still direct: weather").waitFor();
    assert.ok(!(await dialog(page).textContent()).includes(input.secret));
    await picture(page, "connect-preview");
    await page.keyboard.press("Escape");
    assert.equal(read(input.cursor), before);
  });

  await step("a file that changes after the preview is not written", async () => {
    await client(page, "Cursor").getByRole("button", { name: "Connect" }).click();
    await dialog(page).getByText("Still direct: weather").waitFor();
    writeFileSync(input.cursor, before.replace('"weather"', '"forecast"'));
    await refused(409, async () => {
      await dialog(page).getByRole("button", { name: "Write the file" }).click();
      await page.locator(".toast", { hasText: "has changed since it was reviewed" }).first().waitFor();
    });
    assert.equal(read(input.cursor), before.replace('"weather"', '"forecast"'));
    writeFileSync(input.cursor, before);
  });

  await step("connect without taking servers out, then with it", async () => {
    await client(page, "Cursor").getByRole("button", { name: "Connect" }).click();
    await dialog(page).getByText("Still direct: weather").waitFor();
    await dialog(page).getByRole("checkbox").uncheck();
    await dialog(page).getByText("Still direct: files, notes, weather").waitFor();
    await dialog(page).getByRole("checkbox").check();
    await dialog(page).getByText("Through Pegboard only: files, notes").waitFor();
    await dialog(page).getByRole("button", { name: "Write the file" }).click();
    await page.locator(".toast", { hasText: "Cursor is connected" }).waitFor();
    await client(page, "Cursor").getByText("both", { exact: true }).waitFor();
    const servers = Object.keys(JSON.parse(read(input.cursor)).mcpServers).sort();
    assert.deepEqual(servers, ["pegboard", "weather"]);
  });

  await step("undo it: the file is as it was, byte for byte", async () => {
    await client(page, "Cursor").getByRole("button", { name: "Disconnect" }).click();
    await dialog(page).getByText("byte for byte").waitFor();
    await picture(page, "disconnect-preview");
    await dialog(page).getByRole("button", { name: "Write the file" }).click();
    await page.locator(".toast", { hasText: "Cursor is disconnected" }).waitFor();
    await client(page, "Cursor").getByText("direct", { exact: true }).waitFor();
    assert.equal(read(input.cursor), before);
  });
});
