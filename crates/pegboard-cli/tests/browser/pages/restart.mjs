// Pegboard restarts while a page is open: the login stays valid. An expired login leads to the login page.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { whileStopped, isLive, logIn, script, step, input } from "./harness.mjs";

/** Starts a Pegboard of this home and waits for its address. */
async function start(port) {
  const child = spawn(input.program, ["serve", "--port", String(port)], { env: input.environment });
  // A script that fails exits at once.
  process.on("exit", () => child.kill("SIGKILL"));
  let output = "";
  const address = await new Promise((resolve, reject) => {
    child.stdout.on("data", (data) => {
      output += data;
      const [, found] = output.match(/(http:\/\/127\.0\.0\.1:\d+)\/mcp/) ?? [];
      if (found) resolve(found);
    });
    child.on("exit", () => reject(new Error(`it ended: ${output}`)));
  });
  const stop = async () => {
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  };
  return { address, stop };
}

let running = await start(0);
input.address = running.address;
const port = new URL(running.address).port;
try {
  await script({}, async (context) => {
    const made = await fetch(`${input.address}/api/v1/logins`, { method: "POST", headers: { authorization: `Bearer ${input.admin}` } });
    input.login = (await made.json()).url;
    const page = await step("log in", () => logIn(context));
    await page.goto(`${input.address}/servers/example`);
    await isLive(page);

    await step("the page is live again after a restart", () =>
      whileStopped(async () => {
        await running.stop();
        await page.locator("#live", { hasText: "reconnecting" }).waitFor();
        running = await start(port);
        await isLive(page);
        await page.getByRole("button", { name: "Refresh" }).click();
        await page.locator("#delta", { hasText: "16 tools" }).waitFor();
      }),
    );

    await step("a deleted login leads to the login page", () =>
      whileStopped(async () => {
        await running.stop();
        rmSync(`${input.environment.PEGBOARD_STATE_DIR}/logins.json`);
        running = await start(port);
        await page.waitForURL(/\/login$/);
        await page.getByLabel("One-time code").waitFor();
      }),
    );
  });
} finally {
  await running.stop();
}
