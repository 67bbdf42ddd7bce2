// A double-click decides one call: the second click never reaches the card that follows.

import assert from "node:assert/strict";
import { connectClient, isLive, logIn, picture, script, step, input } from "./harness.mjs";

/** Gaps between the two clicks, in milliseconds. */
const GAPS = [150, 300, 450];

await script({}, async (context) => {
  const page = await step("log in", () => logIn(context));
  const client = await connectClient();
  const decisions = [];
  page.on("request", (request) => {
    if (request.method() === "POST" && request.url().includes("/api/v1/approvals/")) decisions.push(request.url());
  });
  const waiting = page.locator("#waiting article").filter({ has: page.getByRole("button", { name: "Allow once" }) });

  for (const gap of GAPS) {
    await step(`two clicks within ${gap} ms approve one of three calls`, async () => {
      decisions.length = 0;
      const calls = [1, 2, 3].map((number) => client.call("asking__echo", { text: `call ${number} of ${gap}` }));
      const done = calls.map(() => false);
      calls.forEach((call, at) => call.then(() => (done[at] = true)));
      await page.goto(`${input.address}/approvals`);
      await isLive(page);
      await page.waitForFunction(() => document.querySelectorAll("#waiting article").length === 3);
      const button = waiting.first().getByRole("button", { name: "Allow once" });
      await button.click({ trial: true });
      const box = await button.boundingBox();
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      await page.mouse.click(x, y);
      await page.waitForTimeout(gap);
      await page.mouse.click(x, y);
      // Whatever the click sent is known after a round trip to the page.
      await page.evaluate(() => new Promise(requestAnimationFrame));
      assert.equal(decisions.length, 1, `one decision was sent: ${decisions}`);
      const decided = page.locator("#waiting article", { hasText: "Allowed once" });
      await decided.waitFor();
      assert.equal(await waiting.count(), 2, "two calls still wait");
      await page.waitForFunction(() => document.querySelector("#badge-side .badge")?.textContent.startsWith("2"));
      assert.equal(done.filter(Boolean).length, 1, "one call ran");
      assert.equal(await decided.count(), 1, "the decided card stays");
      await page.mouse.click(x, y);
      assert.equal(decisions.length, 1, "a click on the decided card sends nothing");
      if (gap === GAPS[0]) {
        for (const [name, colorScheme, width] of [["light", "light", 1280], ["dark", "dark", 1280], ["narrow", "light", 400], ["narrow-dark", "dark", 400]]) {
          await page.emulateMedia({ colorScheme });
          await page.setViewportSize({ width, height: 860 });
          await picture(page, `approvals-decided-${name}`);
        }
        await page.setViewportSize({ width: 1280, height: 860 });
      }
      await decided.getByRole("button", { name: "Dismiss" }).click();
      await decided.waitFor({ state: "detached" });
      for (let left = 1; left >= 0; left -= 1) {
        await waiting.first().getByRole("button", { name: "Refuse" }).click();
        await page.locator("#waiting article", { hasText: "Refused" }).nth(1 - left).waitFor();
      }
      const results = await Promise.all(calls);
      assert.equal(results.filter((result) => !result.isError).length, 1);
    });
  }
  await client.close();
});
