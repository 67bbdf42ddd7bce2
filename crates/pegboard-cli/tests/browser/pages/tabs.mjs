// Any number of tabs: they share one stream of events, so that none takes the last connection.

import assert from "node:assert/strict";
import { isLive, logIn, script, step, input } from "./harness.mjs";

/** More than the connections that a browser opens to one host. */
const TABS = 9;

await script({}, async (context) => {
  const first = await step("log in", () => logIn(context));
  await isLive(first);
  let streams = 0;
  context.on("request", (request) => (streams += request.url().endsWith("/api/v1/events") ? 1 : 0));
  const tabs = [];
  await step(`${TABS} more tabs load and are live`, async () => {
    for (let at = 0; at < TABS; at += 1) {
      const tab = await context.newPage();
      await tab.goto(`${input.address}/servers/example`);
      await tab.getByRole("heading", { name: "example", level: 1 }).waitFor();
      await isLive(tab);
      tabs.push(tab);
    }
    assert.equal(streams, 0, "the first tab's stream serves them all");
  });
  await step("the last tab can refresh, and all tabs learn of it", async () => {
    await tabs.at(-1).getByRole("button", { name: "Refresh" }).click();
    for (const tab of tabs) await tab.locator("#delta", { hasText: "16 tools" }).waitFor();
  });
  await step("when the tab with the stream is closed, another one takes over", async () => {
    await first.close();
    const [disabling, ...others] = tabs;
    await disabling.getByRole("button", { name: "Disable" }).first().click();
    for (const tab of others) await tab.getByText("This server is disabled").waitFor();
    assert.equal(streams, 1);
  });
});
