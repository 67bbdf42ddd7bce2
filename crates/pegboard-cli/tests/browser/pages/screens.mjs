// Every screen in light, in dark and at 400 pixels: a screenshot and automatic accessibility checks of each.

import assert from "node:assert/strict";
import { connectClient, isLive, logIn, openBrowser, picture, refused, script, step, input } from "./harness.mjs";

const SCREENS = {
  overview: "/",
  servers: "/servers",
  server: "/servers/example",
  "server-failed": "/servers/broken",
  "server-asking": "/servers/asking",
  "server-untrusted": "/servers/theirs",
  "add-server": "/add-server?name=example2&command=npx%20-y%20%40modelcontextprotocol%2Fserver-everything",
  tools: "/tools",
  tool: "/tools/example__convert_units",
  search: "/search?q=how%20many%20words%20has%20this%20text",
  approvals: "/approvals",
  activity: "/activity",
  context: "/context",
  clients: "/clients",
  connect: "/connect",
  import: "/import",
  "not-found": "/servers/nowhere",
};

/** Returns the accessibility problems of a page. */
function accessibilityProblems() {
  const problems = [];
  const isSeen = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const count = document.querySelectorAll("h1").length;
  if (count !== 1) problems.push(`${count} first headings`);
  for (const landmark of ["main", "nav", "header"]) {
    if (!document.querySelector(landmark)) problems.push(`no ${landmark}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
  if (twice.length > 0) problems.push(`duplicate ids: ${twice}`);
  for (const field of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (field.labels?.length || field.ariaLabel || field.getAttribute("aria-labelledby")) continue;
    problems.push(`a field without a label: ${field.outerHTML.slice(0, 120)}`);
  }
  for (const control of document.querySelectorAll("button, a[href]")) {
    if (!control.textContent.trim() && !control.ariaLabel) problems.push(`no text: ${control.outerHTML.slice(0, 120)}`);
  }
  for (const head of document.querySelectorAll("th:not([scope])")) problems.push(`a table's head without scope: ${head.textContent}`);
  for (const table of document.querySelectorAll("table")) if (!table.caption) problems.push("a table without a caption");

  const colour = (text) => text.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => {
    const part = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const backgroundOf = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = colour(getComputedStyle(at).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return colour(getComputedStyle(document.documentElement).backgroundColor);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || !isSeen(element)) continue;
    if (element.closest(":disabled, [aria-disabled=true], option, .visually-hidden, .skip")) continue;
    const style = getComputedStyle(element);
    const [front, back] = [luminance(colour(style.color)), luminance(backgroundOf(element))];
    const contrast = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (contrast < (isLarge ? 3 : 4.5)) {
      problems.push(`contrast ${contrast.toFixed(2)} of “${texts.currentNode.textContent.trim().slice(0, 40)}” (${element.className})`);
    }
  }
  return [...new Set(problems)];
}

await script({}, async (context) => {
  const page = await step("log in", () => logIn(context));
  const cookies = await context.cookies();
  const client = await connectClient();
  const { call } = client;
  // Fill the activity log, and let one call wait for approval.
  await call("example__echo", { text: "hello" });
  await call("example__hash_text", { text: "hello" });
  await call("example__nowhere", {}).catch(() => {});
  const waiting = call("asking__convert_units", { value: 12.5, from: "kilometre", to: "mile" });
  await page.locator("#badge-side .badge").waitFor();

  const problems = [];
  for (const look of [
    { name: "light", colorScheme: "light", width: 1280, height: 860 },
    { name: "dark", colorScheme: "dark", width: 1280, height: 860 },
    { name: "narrow", colorScheme: "light", width: 400, height: 800 },
    { name: "narrow-dark", colorScheme: "dark", width: 400, height: 800 },
  ]) {
    const { name, colorScheme, width, height } = look;
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height });
    for (const [screen, path] of Object.entries(SCREENS)) {
      await step(`${screen} in ${name}`, async () => {
        const visit = () => page.goto(input.address + path);
        await (screen === "not-found" ? refused(404, visit) : visit());
        await isLive(page);
        problems.push(...(await page.evaluate(accessibilityProblems)).map((problem) => `${screen} in ${name}: ${problem}`));
        const surplus = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        if (surplus > 0) problems.push(`${screen} in ${name}: it is ${surplus} pixels too wide`);
        await picture(page, `${screen}-${name}`);
      });
    }
  }

  await step("no screen has a problem", async () => assert.deepEqual(problems, []));

  await step("the navigation folds and unfolds", async () => {
    const navigation = page.getByRole("navigation", { name: "Main" });
    assert.equal(await navigation.isVisible(), false);
    await page.getByRole("button", { name: "Menu" }).click();
    await navigation.waitFor();
    await picture(page, "menu-narrow");
    await page.keyboard.press("Escape");
    await navigation.waitFor({ state: "hidden" });
  });

  await step("the chosen theme is kept", async () => {
    await page.setViewportSize({ width: 1280, height: 860 });
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(input.address);
    await page.getByRole("button", { name: "Light or dark" }).click();
    const theme = () => page.evaluate(() => [document.documentElement.dataset.theme, getComputedStyle(document.body).colorScheme]);
    assert.deepEqual(await theme(), ["dark", "dark"]);
    await page.reload();
    assert.deepEqual(await theme(), ["dark", "dark"]);
  });

  await step("the login page", async () => {
    const { browser, context: others } = await openBrowser();
    const visitor = await others.newPage();
    await visitor.goto(input.address);
    await picture(visitor, "login-light");
    await browser.close();
  });

  await step("a variable that changes what runs gets a warning while it is typed", async () => {
    await page.goto(`${input.address}/add-server`);
    await page.getByRole("button", { name: "Add to Variables" }).click();
    await page.getByLabel("Variables: name").fill("ld_preload");
    await page.getByText("Warning: the dynamic linker loads").waitFor();
    await page.getByLabel("Variables: name").fill("MODE");
    await page.getByText("Warning: the dynamic linker loads").waitFor({ state: "detached" });
  });

  await step("a project's server is trusted after everything was shown", async () => {
    await page.goto(`${input.address}/servers/theirs`);
    const dialog = page.locator("#trust");
    for (const part of ["example-server", "BASH_ENV=.lint.sh", "Warning: bash runs this file", "OUT=${HOME}", "`HOME` is passed to the program"]) {
      await dialog.getByText(part).first().waitFor();
    }
    await dialog.getByRole("button", { name: "Trust this server" }).click();
    await dialog.waitFor({ state: "detached" });
  });

  await step("the call that waited is allowed", async () => {
    assert.ok(cookies.length > 0);
    await page.goto(`${input.address}/approvals`);
    await page.getByRole("button", { name: "Allow for this session" }).click();
    assert.equal((await waiting).isError ?? false, false);
    await client.close();
  });
});
