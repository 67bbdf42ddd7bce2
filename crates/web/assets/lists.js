// Lists: filtered while typing, paged in place, navigated with the arrow keys.

import { fragment } from "./api.js";
import { replace } from "./live.js";

const TYPING_MS = 140;

let pending = null;

const here = () => location.pathname + location.search;
let shownAt = here();

/** Fetches a list, replaces the old one and updates the URL. */
async function show(url, id, { push = false } = {}) {
  pending?.abort();
  const mine = (pending = new AbortController());
  const region = document.getElementById(id);
  if (!region) {
    location.assign(url);
    return;
  }
  region.setAttribute("aria-busy", "true");
  try {
    const fresh = await fragment(url, mine.signal);
    const next = fresh.querySelector(`#${CSS.escape(id)}`);
    history[push ? "pushState" : "replaceState"]({}, "", url);
    shownAt = here();
    region.removeAttribute("aria-busy");
    if (next) replace(region, next);
  } catch (error) {
    if (error.name !== "AbortError") location.assign(url);
  } finally {
    if (pending === mine) {
      pending = null;
      region.removeAttribute("aria-busy");
    }
  }
}

function urlOf(form) {
  const values = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (value.trim()) values.set(name, value.trim());
  }
  const text = values.toString();
  return form.getAttribute("action") + (text ? `?${text}` : "");
}

function filterWhileTyping() {
  for (const form of document.querySelectorAll("form[data-filter]")) {
    const id = form.dataset.filter;
    let timer = null;
    form.addEventListener("input", (event) => {
      clearTimeout(timer);
      const wait = event.target.matches("select") ? 0 : TYPING_MS;
      timer = setTimeout(() => show(urlOf(form), id), wait);
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      clearTimeout(timer);
      show(urlOf(form), id);
    });
  }
}

function pageInPlace() {
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const swap = event.target.closest("a[data-swap]");
    const link = event.target.closest("a[data-page]");
    if (swap) {
      event.preventDefault();
      show(swap.getAttribute("href").split("#")[0] || location.pathname, swap.dataset.swap).then(() => {
        document.querySelector(`#${swap.dataset.swap} [aria-current]`)?.focus({ preventScroll: true });
      });
      return;
    }
    const region = link?.closest("[data-live]");
    if (!link?.href || !region) return;
    event.preventDefault();
    show(link.getAttribute("href"), region.id, { push: true }).then(() => {
      scrollTo({ top: 0 });
      region.querySelector("tbody a, li a")?.focus({ preventScroll: true });
    });
  });
  // Navigation within the page does not reload it.
  addEventListener("popstate", () => {
    if (here() !== shownAt) location.reload();
  });
}

/** Arrow keys move between rows; Home and End to the first and last. */
function navigateWithKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const field = document.querySelector("[data-slash]");
    const isTyping = event.target.matches("input, textarea, select, [contenteditable]");
    if (event.key === "/" && !isTyping && field) {
      event.preventDefault();
      field.focus();
      field.select();
      return;
    }
    const isFilter = event.target.matches("[data-slash]");
    if (event.key === "Escape" && isFilter && event.target.value) {
      event.preventDefault();
      event.target.value = "";
      event.target.dispatchEvent(new Event("input", { bubbles: true }));
      return;
    }
    if (!["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) return;
    if (isTyping && !(isFilter && event.key === "ArrowDown")) return;
    const list = isFilter ? document.querySelector("main [data-keys]") : event.target.closest("[data-keys]");
    if (!list) return;
    const links = [...list.querySelectorAll(".name-link")];
    const at = links.indexOf(event.target.closest(".pick")?.querySelector(".name-link"));
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 }[event.key];
    if (next === -1 && at === 0) {
      event.preventDefault();
      field?.focus();
      return;
    }
    if (links[next]) {
      event.preventDefault();
      links[next].focus();
    }
  });
}

export function startLists() {
  filterWhileTyping();
  pageInPlace();
  navigateWithKeys();
}
