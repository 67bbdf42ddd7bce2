// Ten thousand tools: the page stays small, and the filter finds a tool.

import assert from "node:assert/strict";
import { isLive, logIn, picture, script, step, input } from "./harness.mjs";

/** Maximum number of elements of a page. */
const ELEMENTS = 2_500;

await script({}, async (context) => {
  const page = await step("log in", () => logIn(context));
  const elements = () => page.evaluate(() => document.querySelectorAll("*").length);
  for (const path of ["/", "/servers", "/servers/many3", "/tools", "/search?q=tool", "/context", "/activity"]) {
    await step(`${path} stays short`, async () => {
      await page.goto(input.address + path);
      await isLive(page);
      const number = await elements();
      assert.ok(number < ELEMENTS, `${number} elements`);
    });
  }
  await step("all tools are counted, fifty are shown", async () => {
    await page.goto(`${input.address}/tools`);
    await page.getByText(`of ${input.tools.toLocaleString("en")} tools`).waitFor();
    assert.equal(await page.locator("tbody tr").count(), 50);
    await picture(page, "many-tools");
  });
  await step("typing finds the one", async () => {
    await isLive(page);
    await page.getByRole("searchbox", { name: "Filter tools" }).pressSequentially("tool_3_1999");
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
    await page.getByRole("link", { name: "tool_3_1999" }).waitFor();
    assert.ok((await elements()) < ELEMENTS);
  });
  await step("pages are turned in place", async () => {
    await page.getByRole("searchbox", { name: "Filter tools" }).fill("");
    await page.getByText("1–50 of").waitFor();
    await page.getByRole("link", { name: "Next" }).click();
    await page.getByText("51–100 of").waitFor();
    assert.match(page.url(), /page=2/);
    await page.goBack();
    await page.getByText("1–50 of").waitFor();
  });
});
