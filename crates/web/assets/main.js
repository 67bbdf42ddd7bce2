// What every page does.

import { call } from "./api.js";
import { fillFrame } from "./content.js";
import { startActions } from "./actions.js";
import { startApprovals } from "./approvals.js";
import { startAddServer } from "./add_server.js";
import { startConnect } from "./connect.js";
import { startLists } from "./lists.js";
import { follow, keepUpToDate, onEvent } from "./live.js";
import { startSettling } from "./settling.js";
import { dropPageKey, followLogout } from "./page_key.js";
import { keepTimes } from "./times.js";
import { toast } from "./toasts.js";
import { startTryTool } from "./try_tool.js";

const YEAR_SECONDS = 31_536_000;

/** Light, dark, and back to what the system says. */
function chooseTheme() {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const shown = root.dataset.theme ?? system;
  const next = shown === "dark" ? "light" : "dark";
  root.dataset.theme = next;
  document.cookie = `pegboard_theme=${next}; Path=/; Max-Age=${YEAR_SECONDS}; SameSite=Strict`;
  toast(`The page is ${next} now`, { tone: "plain" });
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
    dropPageKey();
    location.assign("/login");
  }
}

foldMenu();
document.getElementById("theme")?.addEventListener("click", chooseTheme);
document.getElementById("leave")?.addEventListener("click", leave);
followLogout();
await follow();
if (await fillFrame()) {
  startSettling();
  startActions();
  startApprovals();
  startLists();
  startAddServer();
  startTryTool();
  startConnect();
  keepTimes();
  keepUpToDate();
  onEvent((kind, data) => {
    if (kind !== "approval.asked" || location.pathname === "/approvals") return;
    toast(`A call of \`${data.tool}\` waits for you`, { tone: "plain", link: { href: "/approvals", words: "Look at it" } });
  });
}
