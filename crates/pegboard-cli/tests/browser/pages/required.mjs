// Nothing runs with values that were not entered: empty required fields are refused at the field, and the result of a call
// is in view.

import assert from "node:assert/strict";
import { isLive, logIn, picture, script, step, input } from "./harness.mjs";

await script({ viewport: { width: 1280, height: 600 } }, async (context) => {
  const page = await step("log in", () => logIn(context));
  await page.goto(`${input.address}/tools/chat__post`);
  await isLive(page);
  const calls = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/call")) calls.push(JSON.parse(request.postData()).arguments);
  });
  const form = page.locator("#try-form");
  const run = () => form.getByRole("button", { name: "Run" }).click();
  const field = (name) => form.getByLabel(name, { exact: true });
  const refusedAt = async (name) => {
    await run();
    await form.locator("#try-fault", { hasText: "Required" }).waitFor();
    assert.equal(await field(name).getAttribute("aria-invalid"), "true", name);
    assert.equal(await field(name).evaluate((control) => control === document.activeElement), true, `${name} has the focus`);
    assert.deepEqual(calls, [], "nothing was sent");
  };

  await step("an empty form is refused at its first required field", async () => {
    await form.getByText("Fields with * are required").waitFor();
    await refusedAt("channel_id");
    for (const [name, colorScheme, width] of [["light", "light", 1280], ["dark", "dark", 1280], ["narrow", "light", 400], ["narrow-dark", "dark", 400]]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 860 });
      await form.scrollIntoViewIfNeeded();
      await picture(page, `required-${name}`);
    }
    await page.setViewportSize({ width: 1280, height: 600 });
  });

  await step("the next ones follow", async () => {
    await field("channel_id").fill("c1");
    await refusedAt("text");
    await field("text").fill("hello");
    await refusedAt("count");
    await field("count").fill("0");
  });

  await step("JSON shows what is filled in so far", async () => {
    await page.getByRole("button", { name: "JSON" }).click();
    assert.deepEqual(JSON.parse(await page.getByLabel("Arguments as JSON").inputValue()), { channel_id: "c1", text: "hello", count: 0 });
    await page.locator("#try").getByRole("button", { name: "Form" }).click();
  });

  await step("an item that was added and left empty is refused, too", async () => {
    await form.getByRole("button", { name: "Add an item" }).click();
    await run();
    await form.locator("#try-fault", { hasText: "Fill it in or remove it" }).waitFor();
    assert.deepEqual(calls, []);
    await form.getByRole("button", { name: "Remove this item" }).click();
  });

  await step("optional parts stay out, and the result is in view", async () => {
    await run();
    const result = page.locator("#try-result");
    await result.locator(".chip, .callout").first().waitFor();
    assert.deepEqual(calls, [{ channel_id: "c1", text: "hello", count: 0 }]);
    const { top, bottom } = await result.evaluate((box) => box.getBoundingClientRect().toJSON());
    assert.ok(top >= 0 && top < 600 && bottom <= 601, `the result is at ${top} to ${bottom} of 600 pixels`);
  });
});
