// One stream of events for all tabs of this browser: browsers allow a host six connections, and a stream takes one for
// as long as it is open. The tab that holds a lock reads the stream and passes on what it says; when that tab is
// closed, another one gets the lock.

import { proof } from "./api.js";
import { isLoggedOut } from "./page_key.js";

const NAME = "pegboard-events";
/** Pauses before the stream is opened again; the last one stays. */
const PAUSES_MS = [300, 1000, 2000, 5000];
/** The server says something at least every 15 seconds; a stream that is silent for longer is broken. */
const SILENCE_MS = 45_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Reads server-sent events until the stream ends. */
async function read(response, deliver, isAlive) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    isAlive();
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split("\n");
      const field = (name) => lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trim());
      const [kind] = field("event");
      if (kind) deliver({ type: "event", kind, data: field("data").join("\n") });
    }
  }
}

/** Opens the stream once, until it ends or breaks; whether the login still counts. */
async function open(tell, signal) {
  if (isLoggedOut()) return false;
  const attempt = new AbortController();
  const stop = () => attempt.abort();
  signal.addEventListener("abort", stop);
  let watchdog = setTimeout(stop, SILENCE_MS);
  const isAlive = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(stop, SILENCE_MS);
  };
  try {
    const headers = { accept: "text/event-stream", ...proof() };
    const response = await fetch("/api/v1/events", { headers, signal: attempt.signal, credentials: "same-origin", cache: "no-store" });
    if (response.status === 401) return false;
    if (response.ok) {
      tell({ type: "state", state: "on", isOpened: true });
      await read(response, tell, isAlive);
    }
  } catch {
    // It is opened again below.
  } finally {
    clearTimeout(watchdog);
    signal.removeEventListener("abort", stop);
  }
  return true;
}

/** Keeps the stream open until `signal` says otherwise or the login is over. */
async function keepOpen(tell, signal) {
  for (let tries = 0; !signal.aborted; tries += 1) {
    const begun = Date.now();
    if (!(await open(tell, signal))) {
      tell({ type: "expired" });
      return;
    }
    if (signal.aborted) return;
    tell({ type: "state", state: "off" });
    if (Date.now() - begun > PAUSES_MS.at(-1)) tries = 0;
    await pause(PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)]);
  }
}

/** Without locks, which pages of other machines do not get, each tab has its own stream while it is seen. */
function listenWhileSeen(handle) {
  let current = null;
  const update = () => {
    if (document.hidden || current) {
      if (document.hidden) current?.abort();
      if (document.hidden) current = null;
      return;
    }
    current = new AbortController();
    keepOpen(handle, current.signal);
  };
  document.addEventListener("visibilitychange", update);
  addEventListener("pagehide", () => current?.abort());
  update();
}

/**
 * Calls back with what the stream says: `event` with its kind and data, `state` when the stream opens or breaks, and
 * `expired` when the login is over.
 */
export function listen(handle) {
  if (!navigator.locks || !globalThis.BroadcastChannel) {
    listenWhileSeen(handle);
    return;
  }
  const channel = new BroadcastChannel(NAME);
  const leaving = new AbortController();
  let state = null;
  const tell = (message) => {
    if (leaving.signal.aborted) return;
    if (message.type === "state") state = { type: "state", state: message.state };
    handle(message);
    channel.postMessage(message);
  };
  channel.addEventListener("message", ({ data }) => {
    if (data.type !== "who") handle(data);
    else if (state) channel.postMessage(state);
  });
  // The tab that reads the stream says how it stands.
  channel.postMessage({ type: "who" });
  const { signal } = leaving;
  navigator.locks.request(NAME, { signal }, () => keepOpen(tell, signal)).catch(() => {});
  addEventListener("pagehide", () => {
    leaving.abort();
    channel.close();
  });
}
