// Fetches the content of an empty frame. The cookie alone returns only the frame; the content requires the page key.

import { ApiError, fragment } from "./api.js";

const scrollKey = () => `pegboard-scroll ${location.pathname}${location.search}`;

/** Restores the scroll position, or scrolls to the fragment of the URL. */
function restorePosition(inner) {
  const [navigation] = performance.getEntriesByType("navigation");
  const top = Number(sessionStorage.getItem(scrollKey()));
  if (["back_forward", "reload"].includes(navigation?.type) && top > 0) scrollTo({ top });
  else if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
  else inner.querySelector("[autofocus]")?.focus({ preventScroll: true });
}

/** Shows why there is no content, with a button to retry. */
function showFailure(inner, error) {
  const box = document.createElement("div");
  box.className = "callout bad";
  const [title, text, again] = ["strong", "span", "button"].map((tag) => document.createElement(tag));
  title.textContent = "This page could not be loaded";
  text.textContent = error instanceof ApiError ? `${error.message} ${error.remedy}` : "Pegboard does not respond. Is it still running?";
  again.type = "button";
  again.textContent = "Try again";
  again.addEventListener("click", () => location.reload());
  const row = document.createElement("div");
  row.append(again);
  box.append(title, text, row);
  inner.replaceChildren(box);
}

/** Fills the frame. Returns whether the page has content. */
export async function fillFrame() {
  const inner = document.querySelector("[data-empty]");
  if (!inner) return true;
  addEventListener("pagehide", () => sessionStorage.setItem(scrollKey(), String(scrollY)));
  let fresh;
  try {
    fresh = await fragment(location.href);
  } catch (error) {
    showFailure(inner, error);
    return false;
  }
  const title = fresh.querySelector("#page-title");
  document.title = `${title?.dataset.title ?? "Dashboard"} · Pegboard`;
  title?.remove();
  for (const id of ["badge-top", "badge-side"]) {
    const badge = fresh.querySelector(`#${id}`);
    if (badge) document.getElementById(id)?.replaceWith(badge);
  }
  inner.replaceChildren(fresh);
  delete inner.dataset.empty;
  restorePosition(inner);
  return true;
}
