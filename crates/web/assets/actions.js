// Buttons that do something: each says in its attributes which request it makes and what to tell afterwards.

import { call, isAdmin } from "./api.js";
import { decided } from "./approvals.js";
import { look } from "./live.js";
import { settle } from "./settling.js";
import { appendMarked, tellFailure, toast } from "./toasts.js";

/** Asks before what cannot be undone. */
function confirmed(button) {
  const dialog = document.getElementById("confirm");
  const { confirm, confirmText = "", confirmYes = "Yes" } = button.dataset;
  if (!confirm || !dialog) return Promise.resolve(true);
  const title = document.getElementById("confirm-title");
  title.replaceChildren();
  appendMarked(title, confirm);
  document.getElementById("confirm-text").textContent = confirmText;
  document.getElementById("confirm-yes").textContent = confirmYes;
  dialog.returnValue = "no";
  dialog.showModal();
  settle(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

/** Runs an action once at a time, with the button showing that it goes on. */
export async function during(button, work) {
  if (button.getAttribute("aria-busy") === "true") return undefined;
  button.setAttribute("aria-busy", "true");
  try {
    return await work();
  } catch (error) {
    tellFailure(error);
    return undefined;
  } finally {
    button.removeAttribute("aria-busy");
    look();
  }
}

/** What a refresh found, in a few words. */
export function refreshWords(answer) {
  const delta = answer?.delta ?? {};
  const parts = [
    [delta.added?.length, "new"],
    [delta.changed?.length, "changed"],
    [delta.removed?.length, "gone"],
  ];
  const told = parts.filter(([number]) => number > 0).map(([number, word]) => `${number} ${word}`);
  return told.length > 0 ? told.join(", ") : "nothing changed";
}

async function press(button) {
  if (!(await confirmed(button))) return;
  const [method, path] = button.dataset.call.split(" ");
  await during(button, async () => {
    const answer = await call(method, path, button.dataset.body ?? (method === "POST" ? {} : undefined));
    decided(button);
    if ("refresh" in button.dataset) tellRefresh(answer);
    else toast(button.dataset.done ?? "Done");
    if (button.dataset.next) location.assign(button.dataset.next);
  });
}

/** Tells how one server or several answered. */
function tellRefresh(answer) {
  const all = answer?.servers ?? [answer ?? {}];
  const failed = all.filter((one) => one.status === "failed");
  for (const { server, error } of failed.slice(0, 3)) {
    const [first] = String(error?.message ?? "").split("\n");
    const text = `${first} ${error?.remedy ?? ""}`;
    toast(`\`${server}\` did not answer as it should`, { text, tone: "bad" });
  }
  const good = all.filter((one) => one.status !== "failed");
  if (answer?.servers) toast(`${good.length} of ${all.length} servers answered`);
  else if (good.length > 0) toast(`\`${good[0].server}\` has ${good[0].tools} tools: ${refreshWords(good[0])}`);
}

/** Sets the rule for a server, a tool or a pattern. */
async function setPolicy(select) {
  const { policy: server, pattern } = select.dataset;
  const before = [...select.options].findIndex((option) => option.defaultSelected);
  try {
    await setRule(server, pattern, select.value);
    const what = pattern ? `\`${pattern}\`` : `all tools of \`${server}\``;
    toast(select.value ? `The policy of ${what} is \`${select.value}\`` : `The rule for ${what} was taken out`);
    [...select.options].forEach((option) => (option.defaultSelected = option.selected));
    select.blur();
  } catch (error) {
    select.selectedIndex = Math.max(0, before);
    tellFailure(error);
  }
  look();
}

/** The rule of the policies with this place; an empty policy takes it out. */
function setRule(server, pattern, policy) {
  const rule = { pattern: pattern || "*", ...(server ? { server } : {}) };
  if (policy) return call("PUT", "/api/v1/policies", { ...rule, policy });
  return call("DELETE", `/api/v1/policies?${new URLSearchParams(rule)}`);
}

async function copy(button) {
  const block = button.closest(".code")?.querySelector("pre");
  const text = button.dataset.copyText ?? block?.textContent ?? "";
  try {
    await navigator.clipboard.writeText(text);
    const words = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = words), 1500);
  } catch {
    toast("The browser does not let pages copy here", { text: "Select the text and copy it by hand.", tone: "plain" });
  }
}

/** Takes away what this person may not do, with the reason. */
export function limit(root = document) {
  if (isAdmin) return;
  for (const button of root.querySelectorAll("[data-admin]")) {
    button.disabled = true;
    button.title = "Needs the admin token";
  }
}

export function startActions() {
  limit();
  document.addEventListener("renewed", (event) => limit(event.target));
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.call) press(button);
    else if (button.dataset.dropRule !== undefined)
      during(button, async () => {
        await setRule(button.dataset.server, button.dataset.dropRule, "");
        toast(`The rule for \`${button.dataset.dropRule}\` was taken out`);
      });
    else if (button.dataset.revoke)
      during(button, async () => {
        await call("DELETE", `/api/v1/grants?${new URLSearchParams({ tool: button.dataset.revoke })}`);
        toast(`\`${button.dataset.revoke}\` asks again`);
      });
    else if ("copy" in button.dataset || button.dataset.copyText) copy(button);
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("select[data-policy]")) setPolicy(event.target);
  });
}
