// Disables buttons briefly after a list changed, so that the second click of a double-click does not reach a button
// that moved under the pointer.

/** How long buttons are disabled after a change; longer than the interval of a double-click. */
export const SETTLE_MS = 800;

const timers = new WeakMap();

/** The keys of the rows, in order. */
const rows = (region) => [...region.querySelectorAll("[data-row]")].map((row) => row.dataset.row).join("\n");

function hold(buttons) {
  buttons.forEach((button) => button.setAttribute("aria-disabled", "true"));
}

function release(buttons) {
  buttons.forEach((button) => button.removeAttribute("aria-disabled"));
}

/** Disables the buttons of a region briefly. */
export function settle(region) {
  const buttons = () => [...region.querySelectorAll("button")];
  hold(buttons());
  clearTimeout(timers.get(region));
  const wake = () => {
    timers.delete(region);
    release(buttons());
  };
  timers.set(region, setTimeout(wake, SETTLE_MS));
}

/** Changes a list, and disables its buttons briefly if its rows changed. */
export function changing(region, change) {
  const before = rows(region);
  change();
  if (rows(region) !== before) settle(region);
  // New buttons of a settling list are disabled too.
  else if (timers.has(region)) hold([...region.querySelectorAll("button")]);
}

/**
 * Ignores clicks on disabled buttons. Lists of a newly loaded page settle too: the click that led to the page may be
 * half of a double-click.
 */
export function startSettling() {
  const ignore = (event) => {
    if (!event.target.closest?.('button[aria-disabled="true"]')) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  document.addEventListener("click", ignore, { capture: true });
  document.querySelectorAll("[data-settles]").forEach(settle);
}
