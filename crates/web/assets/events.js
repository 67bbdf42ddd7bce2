// One event stream for all tabs of this browser, because browsers allow six connections per host and a stream occupies
// one. The tab that holds a lock reads the stream and shares the events; when it is closed, another tab gets the lock.

import { proof } from "./api.js";
import { isLoggedOut } from "./page_key.js";

const NAME = "pegboard-events";
/** Delays before the stream is reopened; the last one repeats. */
const PAUSES_MS = [300, 1000, 2000, 5000];
/** The server sends data at least every 15 seconds; a stream that is silent for longer is broken. */
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

/** Reads the stream once, until it ends or breaks. Returns whether the login is still valid. */
async function open(send, signal) {
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
      send({ type: "state", state: "on", isOpened: true });
      await read(response, send, isAlive);
    }
  } catch {
    // The caller reopens it.
  } finally {
    clearTimeout(watchdog);
    signal.removeEventListener("abort", stop);
  }
  return true;
}

/** Keeps the stream open until `signal` is aborted or the login has expired. */
async function keepOpen(send, signal) {
  for (let tries = 0; !signal.aborted; tries += 1) {
    const begun = Date.now();
    if (!(await open(send, signal))) {
      send({ type: "expired" });
      return;
    }
    if (signal.aborted) return;
    send({ type: "state", state: "off" });
    if (Date.now() - begun > PAUSES_MS.at(-1)) tries = 0;
    await pause(PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)]);
  }
}

/** Without locks, which browsers do not offer to pages of other machines, each visible tab has its own stream. */
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
 * Calls back with messages: `event` with its kind and data, `state` when the stream opens or breaks, and `expired` when
 * the login has expired.
 */
export function listen(handle) {
  if (!navigator.locks || !globalThis.BroadcastChannel) {
    listenWhileSeen(handle);
    return;
  }
  const channel = new BroadcastChannel(NAME);
  const leaving = new AbortController();
  let state = null;
  const send = (message) => {
    if (leaving.signal.aborted) return;
    if (message.type === "state") state = { type: "state", state: message.state };
    handle(message);
    channel.postMessage(message);
  };
  channel.addEventListener("message", ({ data }) => {
    if (data.type !== "who") handle(data);
    else if (state) channel.postMessage(state);
  });
  // The tab that reads the stream replies with its state.
  channel.postMessage({ type: "who" });
  const { signal } = leaving;
  navigator.locks.request(NAME, { signal }, () => keepOpen(send, signal)).catch(() => {});
  addEventListener("pagehide", () => {
    leaving.abort();
    channel.close();
  });
}
