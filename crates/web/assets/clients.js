// Connects and disconnects clients: shows the change, then writes exactly that change.

import { call } from "./api.js";
import { during } from "./actions.js";
import { refreshTopics } from "./live.js";
import { settle } from "./settling.js";
import { appendInlineCode, toast } from "./toasts.js";

const make = (tag, className, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

/** A diff with a color for each added and removed line. */
export function diffBlock(diff) {
  const block = make("div", "code diff");
  const pre = make("pre");
  pre.tabIndex = 0;
  for (const line of diff.replace(/\n$/, "").split("\n")) {
    const kind = { "+": "added", "-": "removed", "@": "place" }[line[0]] ?? "";
    pre.append(make("span", kind, `${line}\n`));
  }
  block.append(pre);
  return block;
}

function showChanges(place, preview) {
  place.replaceChildren();
  for (const change of preview.changes) {
    place.append(make("code", "small", change.file));
    place.append(diffBlock(change.diff));
    const notes = [
      [change.createsFile, "The file is created."],
      [change.deletesFile, "The file is deleted, because connecting has created it."],
      [change.isExact, "The file gets its old content back, byte for byte."],
      [change.takenOut.length > 0, `Through Pegboard only: ${change.takenOut.join(", ")}`],
      [change.putBack.length > 0, `Direct again: ${change.putBack.join(", ")}`],
      [change.direct.length > 0, `Still direct: ${change.direct.join(", ")}`],
    ];
    for (const [applies, text] of notes) if (applies) place.append(make("p", "small muted", text));
  }
  if (preview.changes.length === 0) place.append(make("p", "muted", "There is nothing to change."));
}

/** Shows a plan in the dialog and returns the confirmed one, or null. */
async function review(name, action, plan) {
  const dialog = document.getElementById("preview");
  const [box, changes, yes] = ["preview-take-over", "preview-changes", "preview-yes"].map((id) => document.getElementById(id));
  const check = box.querySelector("input");
  const title = document.getElementById("preview-title");
  title.textContent = action === "connect" ? `Connect ${name}` : `Disconnect ${name}`;
  const text = document.getElementById("preview-text");
  text.replaceChildren();
  appendInlineCode(text, action === "connect" ? "This is written to its file. Disconnecting takes it back." : "This takes back what connecting has changed.");
  box.hidden = action !== "connect";
  check.checked = action === "connect";
  let preview = await plan(check.checked);
  const show = () => {
    showChanges(changes, preview);
    yes.disabled = preview.changes.length === 0;
  };
  const again = async () => {
    yes.disabled = true;
    preview = await plan(check.checked);
    show();
  };
  show();
  const onChange = () => during(yes, again);
  check.addEventListener("change", onChange);
  dialog.returnValue = "no";
  dialog.showModal();
  settle(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener(
      "close",
      () => {
        check.removeEventListener("change", onChange);
        resolve(dialog.returnValue === "yes" ? { preview, takeOver: check.checked } : null);
      },
      { once: true },
    );
  });
}

async function change(button, action) {
  const key = button.dataset[action];
  const { name } = button.dataset;
  const path = `/api/v1/clients/${encodeURIComponent(key)}/connection`;
  const plan = (takeOver) => call("POST", `${path}/plan`, action === "connect" ? { action, takeOver } : { action });
  const confirmed = await review(name, action, plan);
  if (!confirmed) return;
  const { planHash } = confirmed.preview;
  if (action === "connect") await call("PUT", path, { planHash, takeOver: confirmed.takeOver });
  else await call("DELETE", `${path}?${new URLSearchParams({ planHash })}`);
  const text = action === "connect" ? "Restart it to use Pegboard. Disconnect undoes this." : "Restart it to use its own servers.";
  toast(action === "connect" ? `${name} is connected` : `${name} is disconnected`, { text });
}

export function startClients() {
  if (!document.getElementById("preview")) return;
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-connect], button[data-disconnect]");
    if (!button) return;
    await during(button, () => change(button, "connect" in button.dataset ? "connect" : "disconnect"));
    refreshTopics(["clients"]);
  });
}
