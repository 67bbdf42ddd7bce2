// Updates "3 min ago" and "40 s left", and adds the exact time as a tooltip.

const INTERVAL_MS = 10_000;

function formatDuration(ms) {
  const seconds = Math.floor(Math.max(0, ms) / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** Updates the times inside an element. */
export function updateTimes(root = document) {
  const now = Date.now();
  for (const place of root.querySelectorAll("[data-at]")) {
    const at = Number(place.dataset.at);
    place.title ||= new Date(at).toLocaleString();
    const passed = now - at;
    const text = passed < 1000 ? "just now" : `${formatDuration(passed)} ago`;
    if (place.textContent !== text) place.textContent = text;
  }
  for (const place of root.querySelectorAll("[data-until]")) {
    const left = Number(place.dataset.until) - now;
    place.textContent = left > 0 ? `${formatDuration(left)} left` : "no longer waiting";
  }
}

export function startTimes() {
  updateTimes();
  setInterval(() => {
    if (!document.hidden) updateTimes();
  }, INTERVAL_MS);
  // Remaining times are updated every second.
  setInterval(() => {
    if (!document.hidden && document.querySelector("[data-until]")) updateTimes();
  }, 1000);
}
