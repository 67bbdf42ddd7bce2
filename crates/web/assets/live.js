// Pages that stay true: what an event touches is fetched again, once for many events that come together.

import { fragment } from "./api.js";
import { mergeApprovals } from "./approvals.js";
import { listen } from "./events.js";
import { goToLogin } from "./page_key.js";
import { changing } from "./settling.js";
import { tellTimes } from "./times.js";

/** How long events are gathered before the page looks again. */
const GATHER_MS = 120;
/** The log of activity is written a moment after things happen, so that a page that shows it looks once more. */
const LOG_MS = 700;

/** How long the content of a page waits for the stream, so that nothing that happens after it is missed. */
const OPENING_MS = 300;

/** Which parts of a page an event touches. */
const TOUCHES = {
  "tools.discovery.started": ["catalog"],
  "tools.discovery.server.success": ["catalog", "activity"],
  "tools.discovery.server.failed": ["catalog", "activity"],
  "tools.registry.updated": ["catalog"],
  "tools.registry.server.removed": ["catalog", "activity"],
  "server.started": ["catalog"],
  "server.stopped": ["catalog"],
  "config.reloaded": ["catalog", "activity"],
  "approval.asked": ["approvals", "activity"],
  "approval.decided": ["approvals", "activity"],
  "approval.expired": ["approvals", "activity"],
  "approvals.changed": ["approvals"],
  "tools.call.finished": ["activity", "catalog"],
  "tools.call.mismatch": ["activity"],
  "server.request.finished": ["activity"],
};

const touched = new Set();
const listeners = new Set();
let timer = null;
let later = null;
let looking = null;
/** How the stream of events stands. */
let stream = "wait";
/** Whether the page still waits for its content. */
let isHeld = true;

/** Calls back with every event: its kind and its data. */
export function onEvent(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Looks again at all parts that hold these topics. */
export function look(topics = ["catalog", "activity", "approvals"]) {
  topics.forEach((topic) => touched.add(topic));
  if (timer === null && !document.hidden && !isHeld) timer = setTimeout(refetch, GATHER_MS);
}

function regions(topics) {
  const all = [...document.querySelectorAll("[data-live]")];
  return all.filter((region) => region.dataset.live.split(" ").some((topic) => topics.has(topic)));
}

async function refetch() {
  timer = null;
  const topics = new Set(touched);
  touched.clear();
  if (regions(topics).length === 0) return;
  if (looking) {
    // One look at a time; what was touched meanwhile is looked at next.
    topics.forEach((topic) => touched.add(topic));
    return;
  }
  looking = new AbortController();
  try {
    const fresh = await fragment(location.href, looking.signal);
    for (const region of regions(topics)) {
      const next = fresh.getElementById?.(region.id) ?? fresh.querySelector(`#${CSS.escape(region.id)}`);
      if (next) replace(region, next);
    }
  } catch {
    // The stream tells when Pegboard is back; then everything is looked at again.
  } finally {
    looking = null;
    if (touched.size > 0 && timer === null) timer = setTimeout(refetch, GATHER_MS);
  }
}

/** Puts new content in place of old; what has the focus, what is open and what is being edited stays. */
export function replace(region, next) {
  if (region.innerHTML === next.innerHTML) return;
  if ("approvals" in region.dataset) {
    mergeApprovals(region, next);
    tellTimes(region);
    region.dispatchEvent(new CustomEvent("renewed", { bubbles: true }));
    return;
  }
  const active = document.activeElement;
  const isInside = region.contains(active) && active !== region;
  if (isInside && active.matches("input, textarea, select")) return;
  const path = isInside ? pathTo(region, active) : null;
  const open = [...region.querySelectorAll("details")].map((details) => details.open);
  const busy = [...region.querySelectorAll("[aria-busy=true]")];
  if (busy.length > 0) return;
  const renew = () => region.replaceChildren(...next.cloneNode(true).childNodes);
  if ("settles" in region.dataset) changing(region, renew);
  else renew();
  const details = [...region.querySelectorAll("details")];
  if (details.length === open.length) details.forEach((one, at) => (one.open = open[at]));
  tellTimes(region);
  region.dispatchEvent(new CustomEvent("renewed", { bubbles: true }));
  if (path) (region.querySelector(path) ?? document.getElementById("main"))?.focus({ preventScroll: true });
}

/** A way to find the same element again in new content. */
function pathTo(region, element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  if (element.dataset.call) return `[data-call="${CSS.escape(element.dataset.call)}"]`;
  const href = element.getAttribute("href");
  return href ? `a[href="${CSS.escape(href)}"]` : element.tagName.toLowerCase();
}

function tell(state, words) {
  const place = document.getElementById("live");
  if (!place) return;
  place.dataset.state = state;
  place.textContent = words;
}

function hear(kind, text) {
  const topics = TOUCHES[kind];
  if (topics) look(topics);
  if (topics?.includes("activity")) {
    clearTimeout(later);
    later = setTimeout(() => look(["activity"]), LOG_MS);
  }
  // Some events were lost: everything may be different.
  if (kind === "lagged") look();
  let data = {};
  try {
    data = JSON.parse(text);
  } catch {
    data = {};
  }
  if (topics) listeners.forEach((listener) => listener(kind, data));
}

/** Notes how the stream stands; the page says so once it has its content. */
function note(state) {
  stream = state;
  if (isHeld) return;
  if (stream === "on") tell("on", "live");
  else if (stream === "off") tell("off", "reconnecting");
}

/** Follows the stream of events. Done when it is open, or after a moment without it. */
export function follow() {
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && touched.size > 0) look([]);
  });
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
  return new Promise((resolve) => {
    // A page that came with its content may have missed something already.
    let isLate = document.querySelector("[data-empty]") === null;
    const done = () => {
      isLate = true;
      resolve();
    };
    setTimeout(done, OPENING_MS);
    listen((message) => {
      if (message.type === "expired") goToLogin();
      if (message.type === "event") hear(message.kind, message.data);
      if (message.type !== "state") return;
      note(message.state);
      // Whatever happened while no stream was open was missed.
      if (message.isOpened && isLate) look();
      if (message.state === "on") done();
    });
  });
}

/** The page has its content: from now on it is kept up to date, and what happened meanwhile is fetched. */
export function keepUpToDate() {
  isHeld = false;
  note(stream);
  if (touched.size > 0) look([]);
}
