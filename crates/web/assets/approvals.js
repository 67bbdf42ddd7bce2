// The calls that wait for a person. Cards keep their place: new ones are added at the end, and one that was decided
// stays where it is, with what was decided, until the person dismisses it or leaves the page.

import { changing, settle } from "./settling.js";

/** What a card says once it is decided, by the decision. */
const DECIDED = {
  once: ["ok", "Allowed once"],
  session: ["ok", "Allowed for this session"],
  always: ["ok", "Always allowed"],
  refuse: ["warn", "Refused"],
};
/** What a card says that was decided in another place. */
const GONE = ["off", "No longer waiting: it was answered elsewhere, taken back, or its time is over"];

const cards = (list) => [...list.querySelectorAll("article[data-row]")];

/** Puts the outcome in the place of a card's buttons. */
function close(card, [tone, words]) {
  if (card.dataset.decided !== undefined) return;
  card.dataset.decided = "";
  const choices = card.querySelector("[data-choices]");
  const height = choices.offsetHeight;
  const hadFocus = choices.contains(document.activeElement);
  const state = document.createElement("span");
  state.className = `state ${tone} grow`;
  state.tabIndex = -1;
  state.textContent = words;
  const dismiss = document.createElement("button");
  dismiss.type = "button";
  dismiss.className = "slim quiet";
  dismiss.dataset.dismiss = "";
  dismiss.textContent = "Dismiss";
  choices.removeAttribute("aria-label");
  choices.replaceChildren(state, dismiss);
  // The cards below must not move.
  choices.style.minHeight = `${height}px`;
  const left = card.querySelector("[data-until]");
  left?.removeAttribute("data-until");
  if (left) left.textContent = "\u00a0";
  if (hadFocus) state.focus({ preventScroll: true });
}

/** Notes at its card what the person decided there. */
export function decided(button) {
  const card = button.closest("article[data-row]");
  const { decision } = JSON.parse(button.dataset.body ?? "{}");
  if (card && DECIDED[decision]) close(card, DECIDED[decision]);
}

/** Brings the list up to date without moving any card. */
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
