// Action buttons: their attributes define the request and the message afterwards.

import { call, isAdmin } from "./api.js";
import { decided } from "./approvals.js";
import { refreshTopics } from "./live.js";
import { settle } from "./settling.js";
import { appendInlineCode, showError, toast } from "./toasts.js";

/** Asks for confirmation if the button requires it. */
function confirmed(button) {
  const dialog = document.getElementById("confirm");
  const { confirm, confirmText = "", confirmYes = "Yes" } = button.dataset;
  if (!confirm || !dialog) return Promise.resolve(true);
  const title = document.getElementById("confirm-title");
  title.replaceChildren();
  appendInlineCode(title, confirm);
  document.getElementById("confirm-text").textContent = confirmText;
  document.getElementById("confirm-yes").textContent = confirmYes;
  dialog.returnValue = "no";
  dialog.showModal();
  settle(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

/** Runs an action, one at a time per button; the button shows that it is busy. */
export async function during(button, work) {
  if (button.getAttribute("aria-busy") === "true") return undefined;
  button.setAttribute("aria-busy", "true");
  try {
    return await work();
  } catch (error) {
    showError(error);
    return undefined;
  } finally {
    button.removeAttribute("aria-busy");
    refreshTopics();
  }
}

/** Summarises the changes of a refresh. */
export function refreshSummary(response) {
  const delta = response?.delta ?? {};
  const parts = [
    [delta.added?.length, "new"],
    [delta.changed?.length, "changed"],
    [delta.removed?.length, "removed"],
  ];
  const changes = parts.filter(([number]) => number > 0).map(([number, word]) => `${number} ${word}`);
  return changes.length > 0 ? changes.join(", ") : "nothing changed";
}

async function press(button) {
  if (!(await confirmed(button))) return;
  const [method, path] = button.dataset.call.split(" ");
  await during(button, async () => {
    const response = await call(method, path, button.dataset.body ?? (method === "POST" ? {} : undefined));
    decided(button);
    if ("refresh" in button.dataset) showRefresh(response);
    else if (!("open" in button.dataset)) toast(button.dataset.done ?? "Done");
    // The page of an authorization server: only a web address is opened.
    if ("open" in button.dataset && /^https?:\/\//.test(response?.url ?? "")) location.assign(response.url);
    if (button.dataset.next) location.assign(button.dataset.next);
  });
}

/** Shows the result of a refresh of one or all servers. */
function showRefresh(response) {
  const all = response?.servers ?? [response ?? {}];
  const failed = all.filter((one) => one.status === "failed");
  for (const { server, error } of failed.slice(0, 3)) {
    const [first] = String(error?.message ?? "").split("\n");
    const text = `${first} ${error?.remedy ?? ""}`;
    toast(`\`${server}\` could not be refreshed`, { text, tone: "bad" });
  }
  const good = all.filter((one) => one.status !== "failed");
  if (response?.servers) toast(`${good.length} of ${all.length} servers refreshed`);
  else if (good.length > 0) toast(`\`${good[0].server}\` has ${good[0].tools} tools: ${refreshSummary(good[0])}`);
}

/** Sets the rule for a server, a tool or a pattern. */
async function setPolicy(select) {
  const { policy: server, pattern } = select.dataset;
  const before = [...select.options].findIndex((option) => option.defaultSelected);
  try {
    await setRule(server, pattern, select.value);
    const what = pattern ? `\`${pattern}\`` : `all tools of \`${server}\``;
    toast(select.value ? `The policy of ${what} is \`${select.value}\`` : `The rule for ${what} was removed`);
    [...select.options].forEach((option) => (option.defaultSelected = option.selected));
    select.blur();
  } catch (error) {
    select.selectedIndex = Math.max(0, before);
    showError(error);
  }
  refreshTopics();
}

/** Sets a policy rule; an empty policy removes it. */
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
    const label = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = label), 1500);
  } catch {
    toast("The browser does not allow copying here", { text: "Select and copy the text by hand.", tone: "plain" });
  }
}

/** Disables actions that the role does not allow. */
export function limit(root = document) {
  if (isAdmin) return;
  for (const button of root.querySelectorAll("[data-admin]")) {
    button.disabled = true;
    button.title = "Requires the admin token";
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
        toast(`The rule for \`${button.dataset.dropRule}\` was removed`);
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
