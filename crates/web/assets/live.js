// Live updates: what an event affects is fetched again, once for events that arrive together.

import { fragment } from "./api.js";
import { mergeApprovals } from "./approvals.js";
import { listen } from "./events.js";
import { goToLogin } from "./page_key.js";
import { changing } from "./settling.js";
import { updateTimes } from "./times.js";

/** How long events are collected before the page is updated. */
const GATHER_MS = 120;
/** The activity log is written with a delay, so a page that shows it is updated again. */
const LOG_MS = 700;

/** How often the clients and servers of other projects, which send no events to this page, are updated. */
const PROCESS_MS = 3_000;

/** How long the content of a page waits for the stream, so that no event is missed. */
const OPENING_MS = 300;

/** The topics that an event affects. */
const AFFECTED_TOPICS = {
  "tools.discovery.started": ["catalog"],
  "tools.discovery.server.success": ["catalog", "activity"],
  "tools.discovery.server.failed": ["catalog", "activity"],
  "tools.registry.updated": ["catalog"],
  "tools.registry.server.removed": ["catalog", "activity"],
  "server.started": ["catalog"],
  "server.stopped": ["catalog"],
  "config.reloaded": ["catalog", "activity"],
  "approval.requested": ["approvals", "activity"],
  "approval.decided": ["approvals", "activity"],
  "approval.expired": ["approvals", "activity"],
  "approvals.changed": ["approvals"],
  "review.needed": ["catalog"],
  "review.decided": ["catalog", "activity"],
  "tools.call.finished": ["activity", "catalog"],
  "tools.call.mismatch": ["activity"],
  "server.request.finished": ["activity"],
};

const affected = new Set();
const listeners = new Set();
let timer = null;
let later = null;
let updating = null;
/** The state of the event stream. */
let stream = "wait";
/** Whether the page still waits for its content. */
let isHeld = true;

/** Calls back with every event: kind and data. */
export function onEvent(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Schedules an update of all regions with these topics. */
export function refreshTopics(topics = ["catalog", "activity", "approvals"]) {
  topics.forEach((topic) => affected.add(topic));
  if (timer === null && !document.hidden && !isHeld) timer = setTimeout(refetch, GATHER_MS);
}

function regions(topics) {
  const all = [...document.querySelectorAll("[data-live]")];
  return all.filter((region) => region.dataset.live.split(" ").some((topic) => topics.has(topic)));
}

async function refetch() {
  timer = null;
  const topics = new Set(affected);
  affected.clear();
  if (regions(topics).length === 0) return;
  if (updating) {
    // One update at a time; topics that were affected in the meantime come next.
    topics.forEach((topic) => affected.add(topic));
    return;
  }
  updating = new AbortController();
  try {
    const fresh = await fragment(location.href, updating.signal);
    for (const region of regions(topics)) {
      const next = fresh.getElementById?.(region.id) ?? fresh.querySelector(`#${CSS.escape(region.id)}`);
      if (next) replace(region, next);
    }
  } catch {
    // When the stream is open again, everything is updated.
  } finally {
    updating = null;
    if (affected.size > 0 && timer === null) timer = setTimeout(refetch, GATHER_MS);
  }
}

/** Replaces the content of a region; focus, open details and edited fields are preserved. */
export function replace(region, next) {
  if (region.innerHTML === next.innerHTML) return;
  if ("approvals" in region.dataset) {
    mergeApprovals(region, next);
    updateTimes(region);
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
  updateTimes(region);
  region.dispatchEvent(new CustomEvent("renewed", { bubbles: true }));
  if (path) (region.querySelector(path) ?? document.getElementById("main"))?.focus({ preventScroll: true });
}

/** A selector for the same element in new content. */
function pathTo(region, element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  if (element.dataset.call) return `[data-call="${CSS.escape(element.dataset.call)}"]`;
  const href = element.getAttribute("href");
  return href ? `a[href="${CSS.escape(href)}"]` : element.tagName.toLowerCase();
}

function showState(state, label) {
  const place = document.getElementById("live");
  if (!place) return;
  place.dataset.state = state;
  place.textContent = label;
}

function handleEvent(kind, text) {
  const topics = AFFECTED_TOPICS[kind];
  if (topics) refreshTopics(topics);
  if (topics?.includes("activity")) {
    clearTimeout(later);
    later = setTimeout(() => refreshTopics(["activity"]), LOG_MS);
  }
  // Some events were lost: update everything.
  if (kind === "lagged") refreshTopics();
  let data = {};
  try {
    data = JSON.parse(text);
  } catch {
    data = {};
  }
  if (topics) listeners.forEach((listener) => listener(kind, data));
}

/** Updates what no event reports: the clients and servers of other projects. */
function pollProcess() {
  if (regions(new Set(["process"])).length > 0) refreshTopics(["process"]);
}

/** Records the state of the stream; the page shows it once it has content. */
function setStream(state) {
  stream = state;
  if (isHeld) return;
  if (stream === "on") showState("on", "live");
  else if (stream === "off") showState("off", "reconnecting");
}

/** Opens the event stream. Resolves when it is open, or after a short timeout. */
export function startLive() {
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && affected.size > 0) refreshTopics([]);
  });
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
  return new Promise((resolve) => {
    // A page that was sent with its content may have missed events.
    let isLate = document.querySelector("[data-empty]") === null;
    const done = () => {
      isLate = true;
      resolve();
    };
    setTimeout(done, OPENING_MS);
    listen((message) => {
      if (message.type === "expired") goToLogin();
      if (message.type === "event") handleEvent(message.kind, message.data);
      if (message.type !== "state") return;
      setStream(message.state);
      // Events were missed while no stream was open.
      if (message.isOpened && isLate) refreshTopics();
      if (message.state === "on") done();
    });
  });
}

/** Called when the page has content: enables updates and fetches pending changes. */
export function enableUpdates() {
  isHeld = false;
  setStream(stream);
  if (affected.size > 0) refreshTopics([]);
  setInterval(pollProcess, PROCESS_MS);
}
