// Keeps "3 min ago" and "40 s left" true, and adds the exact time to them.

const EVERY_MS = 10_000;

function words(ms) {
  const seconds = Math.floor(Math.max(0, ms) / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** Writes the times below an element as of now. */
export function tellTimes(root = document) {
  const now = Date.now();
  for (const place of root.querySelectorAll("[data-at]")) {
    const at = Number(place.dataset.at);
    place.title ||= new Date(at).toLocaleString();
    const passed = now - at;
    const text = passed < 1000 ? "just now" : `${words(passed)} ago`;
    if (place.textContent !== text) place.textContent = text;
  }
  for (const place of root.querySelectorAll("[data-until]")) {
    const left = Number(place.dataset.until) - now;
    place.textContent = left > 0 ? `${words(left)} left` : "no longer waiting";
  }
}

export function keepTimes() {
  tellTimes();
  setInterval(() => {
    if (!document.hidden) tellTimes();
  }, EVERY_MS);
  // Somebody who decides sees every second.
  setInterval(() => {
    if (!document.hidden && document.querySelector("[data-until]")) tellTimes();
  }, 1000);
}
