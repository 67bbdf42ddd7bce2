// Pegboard restarts while a page is open: the login stays valid. An expired login leads to the login page.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { away, isLive, logIn, script, step, told } from "./harness.mjs";

/** Starts a Pegboard of this home and waits for its address. */
async function start(port) {
  const child = spawn(told.program, ["serve", "--port", String(port)], { env: told.environment });
  // A script that fails exits at once.
  process.on("exit", () => child.kill("SIGKILL"));
  let said = "";
  const address = await new Promise((resolve, reject) => {
    child.stdout.on("data", (data) => {
      said += data;
      const [, found] = said.match(/(http:\/\/127\.0\.0\.1:\d+)\/mcp/) ?? [];
      if (found) resolve(found);
    });
    child.on("exit", () => reject(new Error(`it ended: ${said}`)));
  });
  const stop = async () => {
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  };
  return { address, stop };
}

let running = await start(0);
told.address = running.address;
const port = new URL(running.address).port;
try {
  await script({}, async (context) => {
    const made = await fetch(`${told.address}/api/v1/logins`, { method: "POST", headers: { authorization: `Bearer ${told.admin}` } });
    told.login = (await made.json()).url;
    const page = await step("log in", () => logIn(context));
    await page.goto(`${told.address}/servers/example`);
    await isLive(page);

    await step("the page is live again after a restart", () =>
      away(async () => {
        await running.stop();
        await page.locator("#live", { hasText: "reconnecting" }).waitFor();
        running = await start(port);
        await isLive(page);
        await page.getByRole("button", { name: "Refresh" }).click();
        await page.locator("#delta", { hasText: "16 tools" }).waitFor();
      }),
    );

    await step("a login that is gone leads to the login page", () =>
      away(async () => {
        await running.stop();
        rmSync(`${told.environment.PEGBOARD_STATE_DIR}/logins.json`);
        running = await start(port);
        await page.waitForURL(/\/login$/);
        await page.getByLabel("One-time code").waitFor();
      }),
    );
  });
} finally {
  await running.stop();
}
