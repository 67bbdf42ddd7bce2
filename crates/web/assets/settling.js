// Buttons that wait until what is around them stays in place. A second click of a double-click must not reach a
// button that moved under the pointer, so a list whose rows changed takes no decisions for a moment.

/** How long a list takes no decisions after its rows changed; longer than the gap of any double-click. */
export const SETTLE_MS = 800;

const timers = new WeakMap();

/** What the rows of a list are, in order. */
const rows = (region) => [...region.querySelectorAll("[data-row]")].map((row) => row.dataset.row).join("\n");

function hold(buttons) {
  buttons.forEach((button) => button.setAttribute("aria-disabled", "true"));
}

function release(buttons) {
  buttons.forEach((button) => button.removeAttribute("aria-disabled"));
}

/** Takes no decisions inside `region` for a moment. */
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

/** Changes the content of a list, and settles it if its rows are different afterwards. */
export function changing(region, change) {
  const before = rows(region);
  change();
  if (rows(region) !== before) settle(region);
  // New buttons of a list that is settling wait like the others.
  else if (timers.has(region)) hold([...region.querySelectorAll("button")]);
}

/**
 * Ignores clicks on buttons that wait. Every list of a page that was just loaded settles, too: the click that led to
 * the page may be half of a double-click.
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
