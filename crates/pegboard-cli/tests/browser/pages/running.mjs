// The clients of all projects and the servers that they share: shown, updated live, and stopped.

import assert from "node:assert/strict";
import { connectClient, input, isLive, logIn, picture, script, startStdioClient, step } from "./harness.mjs";

const clients = (page) => page.getByRole("table", { name: "Connected clients" }).locator("tbody tr");
const instances = (page) => page.getByRole("table", { name: "Running server instances" }).locator("tbody tr");

await script({}, async (context) => {
  const page = await logIn(context);

  await step("no client is connected", async () => {
    await page.getByRole("link", { name: "Clients", exact: true }).click();
    await page.getByRole("heading", { name: "Clients", level: 1 }).waitFor();
    await page.getByText("No client is connected").waitFor();
    await page.getByText("No server is running").waitFor();
    await isLive(page);
  });

  const windows = await step("two windows of two projects and an HTTP client connect and call", async () => {
    const http = await connectClient();
    await http.call("example__echo", { text: "over http" });
    const one = await startStdioClient("window one", input.folders[0]);
    const two = await startStdioClient("window <b>two</b>", input.folders[1]);
    for (const client of [one, two]) await client.call("example__echo", { text: "over stdio" });
    return [http, one, two];
  });

  await step("all of them are shown with their projects", async () => {
    await page.reload();
    await isLive(page);
    await clients(page).filter({ hasText: "window one" }).filter({ hasText: input.folders[0] }).waitFor();
    await clients(page).filter({ hasText: "window <b>two</b>" }).filter({ hasText: input.folders[1] }).waitFor();
    assert.equal(await clients(page).count(), 3);
    assert.equal(await page.locator("main b").count(), 0);
    await picture(page, "clients-connected");
  });

  await step("servers show who shares them", async () => {
    assert.equal(await instances(page).count(), input.instances);
    await instances(page).first().getByText("MiB").waitFor();
    await instances(page).first().getByText("the clients of one project").waitFor();
  });

  await step("an instance is stopped after a confirmation", async () => {
    await instances(page).first().getByRole("button", { name: "Stop example" }).click();
    await page.getByRole("dialog").getByText("Open calls of all its clients fail").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
    await page.locator(".toast", { hasText: "was stopped" }).waitFor();
    await instances(page).nth(input.instances - 1).waitFor({ state: "detached" });
    await picture(page, "clients-stopped");
  });

  await step("the next call starts it again, and clients leave the page", async () => {
    for (const client of windows) await client.call("example__echo", { text: "again" });
    await page.reload();
    await instances(page).nth(input.instances - 1).waitFor();
    for (const client of windows) await client.close();
    await page.waitForFunction(async () => {
      const rows = document.querySelectorAll("[aria-labelledby=connected-title] tbody tr");
      return rows.length <= 1;
    });
  });
});
