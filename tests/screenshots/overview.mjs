// Calls tools of several servers, as an agent would, and takes a picture of the overview in a light theme.

import { writeFileSync } from "node:fs";
import { connectClient, input, isLive, logIn, picture, script, step } from "../../crates/pegboard-cli/tests/browser/pages/harness.mjs";

// `git` and `time` are not called, so that their tools are known while they do not run.
const CALLS = [
  ["filesystem__read_text_file", { path: `${input.files}/notes.md` }],
  ["memory__create_entities", { entities: [{ name: "Pegboard", entityType: "project", observations: ["written in Rust"] }] }],
  ["memory__search_nodes", { query: "Rust" }],
  ["example__convert_units", { value: 17, from: "kilometre", to: "mile" }],
];

await script({ deviceScaleFactor: 2, colorScheme: "light", viewport: { width: 1100, height: 680 } }, async (context) => {
  writeFileSync(`${input.files}/notes.md`, "# Notes\n");
  const client = await connectClient();
  for (const [name, args] of CALLS) {
    await step(name, async () => {
      const result = await client.call(name, args);
      if (result.isError) throw new Error(JSON.stringify(result));
    });
  }
  const page = await step("log in", () => logIn(context));
  await isLive(page);
  await step("all calls are in the activity", async () => {
    for (const [name] of CALLS) await page.locator("tbody tr", { hasText: name }).first().waitFor();
  });
  await picture(page, "overview");
  await client.close();
});
