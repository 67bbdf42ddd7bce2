// The entry point of every page.

import { call } from "./api.js";
import { fillFrame } from "./content.js";
import { startActions } from "./actions.js";
import { startApprovals } from "./approvals.js";
import { startAddServer } from "./add_server.js";
import { startClients } from "./clients.js";
import { startConnect } from "./connect.js";
import { startImport } from "./import.js";
import { startLists } from "./lists.js";
import { startLive, enableUpdates, onEvent } from "./live.js";
import { startSettling } from "./settling.js";
import { removePageKey, followLogout } from "./page_key.js";
import { startTimes } from "./times.js";
import { toast } from "./toasts.js";
import { startTryTool } from "./try_tool.js";

const YEAR_SECONDS = 31_536_000;

/** Toggles between the light and the dark theme. */
function chooseTheme() {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const shown = root.dataset.theme ?? system;
  const next = shown === "dark" ? "light" : "dark";
  root.dataset.theme = next;
  document.cookie = `pegboard_theme=${next}; Path=/; Max-Age=${YEAR_SECONDS}; SameSite=Strict`;
  toast(`Switched to the ${next} theme`, { tone: "plain" });
}

function foldMenu() {
  const [side, button] = [document.getElementById("side"), document.getElementById("menu")];
  const set = (isOpen) => {
    side.toggleAttribute("data-open", isOpen);
    button.setAttribute("aria-expanded", String(isOpen));
  };
  button?.addEventListener("click", () => set(button.getAttribute("aria-expanded") !== "true"));
  side?.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || button.getAttribute("aria-expanded") !== "true") return;
    set(false);
    button.focus();
  });
}

async function leave() {
  try {
    await call("POST", "/logout");
  } finally {
    removePageKey();
    location.assign("/login");
  }
}

foldMenu();
document.getElementById("theme")?.addEventListener("click", chooseTheme);
document.getElementById("leave")?.addEventListener("click", leave);
followLogout();
await startLive();
if (await fillFrame()) {
  startSettling();
  startActions();
  startApprovals();
  startLists();
  startAddServer();
  startTryTool();
  startConnect();
  startClients();
  startImport();
  startTimes();
  enableUpdates();
  onEvent((kind, data) => {
    if (kind !== "approval.requested" || location.pathname === "/approvals") return;
    toast(`A call of \`${data.tool}\` is waiting for approval`, { tone: "plain", link: { href: "/approvals", label: "Review" } });
  });
}
