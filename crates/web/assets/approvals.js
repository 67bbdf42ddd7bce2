// Approval requests. Cards keep their position: new ones are added at the end, and a decided one stays, with the
// decision, until the user dismisses it or leaves the page.

import { changing, settle } from "./settling.js";

/** The text of a decided card, by decision. */
const DECIDED = {
  once: ["ok", "Allowed once"],
  session: ["ok", "Allowed for this session"],
  always: ["ok", "Always allowed"],
  refuse: ["warn", "Refused"],
};
/** The text of a card that is no longer waiting. */
const GONE = ["off", "No longer waiting: decided elsewhere, cancelled or expired"];

const cards = (list) => [...list.querySelectorAll("article[data-row]")];

/** Replaces a card's buttons by the outcome. */
function close(card, [tone, text]) {
  if (card.dataset.decided !== undefined) return;
  card.dataset.decided = "";
  const choices = card.querySelector("[data-choices]");
  const height = choices.offsetHeight;
  const hadFocus = choices.contains(document.activeElement);
  const state = document.createElement("span");
  state.className = `state ${tone} grow`;
  state.tabIndex = -1;
  state.textContent = text;
  const dismiss = document.createElement("button");
  dismiss.type = "button";
  dismiss.className = "slim quiet";
  dismiss.dataset.dismiss = "";
  dismiss.textContent = "Dismiss";
  choices.removeAttribute("aria-label");
  choices.replaceChildren(state, dismiss);
  // Prevents the cards below from moving.
  choices.style.minHeight = `${height}px`;
  const left = card.querySelector("[data-until]");
  left?.removeAttribute("data-until");
  if (left) left.textContent = "\u00a0";
  if (hadFocus) state.focus({ preventScroll: true });
}

/** Shows the decision on its card. */
export function decided(button) {
  const card = button.closest("article[data-row]");
  const { decision } = JSON.parse(button.dataset.body ?? "{}");
  if (card && DECIDED[decision]) close(card, DECIDED[decision]);
}

/** Updates the list without moving any card. */
export function mergeApprovals(list, next) {
  changing(list, () => {
    const fresh = new Map(cards(next).map((card) => [card.dataset.row, card]));
    const shown = new Set(cards(list).map((card) => card.dataset.row));
    cards(list)
      .filter((card) => !fresh.has(card.dataset.row))
      .forEach((card) => close(card, GONE));
    const beside = [...next.children].filter((child) => !child.matches("article[data-row]"));
    [...list.children].filter((child) => !child.matches("article[data-row]")).forEach((child) => child.remove());
    const added = [...fresh.values()].filter((card) => !shown.has(card.dataset.row));
    list.append(...[...added, ...beside].map((node) => node.cloneNode(true)));
  });
}

export function startApprovals() {
  document.addEventListener("click", (event) => {
    const dismiss = event.target.closest("[data-dismiss]");
    const card = dismiss?.closest("article[data-row]");
    if (!card) return;
    const list = card.parentElement;
    card.remove();
    settle(list);
    document.getElementById("main")?.focus({ preventScroll: true });
  });
}
