// A journey without a pointer: skip the navigation, find a tool, try it, search.

import assert from "node:assert/strict";
import { isLive, logIn, script, step } from "./harness.mjs";

await script({}, async (context) => {
  const page = await step("log in", () => logIn(context));
  await isLive(page);
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() || document.activeElement?.name);
  const press = (key) => page.keyboard.press(key);
  const tabTo = async (text) => {
    for (let at = 0; at < 60; at += 1) {
      if ((await focused())?.startsWith(text)) return;
      await press("Tab");
    }
    assert.fail(`“${text}” is not reached with the Tab key`);
  };

  await step("the first link skips the navigation", async () => {
    await press("Tab");
    assert.equal(await focused(), "Skip to the content");
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.equal(outline, "solid", "the focused element has an outline");
    await press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  });

  await step("go to the tools", async () => {
    await page.evaluate(() => document.getElementById("side").querySelector("a").focus());
    await tabTo("Tools");
    await press("Enter");
    await page.getByRole("heading", { name: "Tools", level: 1 }).waitFor();
    await isLive(page);
  });

  await step("the slash goes to the filter, arrows through the list", async () => {
    await press("/");
    assert.equal(await focused(), "q");
    await page.keyboard.type("text");
    await page.waitForFunction(() => {
      const rows = document.querySelectorAll("tbody tr").length;
      return rows > 1 && rows < 16;
    });
    const names = await page.locator("tbody .name-link").allTextContents();
    await press("ArrowDown");
    assert.equal(await focused(), names[0]);
    await press("ArrowDown");
    assert.equal(await focused(), names[1]);
    await press("ArrowUp");
    await press("ArrowUp");
    assert.equal(await focused(), "q");
    await press("Escape");
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 16);
    await page.keyboard.type("slug");
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
    await press("ArrowDown");
    await press("Enter");
    await page.getByRole("heading", { name: "slugify", level: 1 }).waitFor();
  });

  await step("fill the form and run it", async () => {
    await isLive(page);
    await page.locator("#try-form input, #try-form textarea").first().focus();
    await page.keyboard.type("Calm and Dense");
    await tabTo("Run");
    await press("Enter");
    await page.locator("#try-result", { hasText: "calm-and-dense" }).waitFor();
  });

  await step("search and open the explanation", async () => {
    await page.evaluate(() => document.getElementById("side").querySelector("a").focus());
    await tabTo("Search");
    await press("Enter");
    await page.getByRole("heading", { name: "Search", level: 1 }).waitFor();
    await isLive(page);
    await press("/");
    await page.keyboard.type("turn a title into a slug");
    await page.locator("#results .name-link", { hasText: "slugify" }).first().waitFor();
    await press("ArrowDown");
    await tabTo("Why");
    await press("Enter");
    await page.locator("#results details[open] dl").first().waitFor();
  });
});
