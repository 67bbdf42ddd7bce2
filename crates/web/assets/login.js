// Login: reads the one-time code from the URL or the form, and stores the page key.

import { storePageKey, takeNext } from "./page_key.js";

const form = document.getElementById("login");
const problem = document.getElementById("problem");
let linked = new URLSearchParams(location.hash.slice(1)).get("code") ?? "";

/** Shows a button for a link with a code, else a field for the code. */
function show() {
  document.querySelectorAll("[data-with-code]").forEach((part) => (part.hidden = !linked));
  document.querySelectorAll("[data-without-code]").forEach((part) => (part.hidden = Boolean(linked)));
  form.elements.code.required = !linked;
  form.querySelector("button:not([hidden])")?.focus();
  if (!linked) form.elements.code.focus();
}

function showProblem(text) {
  problem.hidden = false;
  problem.querySelector("span").textContent = text;
  linked = "";
  form.elements.code.value = "";
  show();
}

async function logIn() {
  const code = linked || form.elements.code.value.trim();
  const response = await fetch("/login", { method: "POST", body: new URLSearchParams({ code }), credentials: "same-origin" });
  const result = await response.json().catch(() => ({}));
  if (!response.ok || !result.pageKey) {
    const { message = "Pegboard did not accept the code.", remedy = "" } = result.error ?? {};
    showProblem(`${message} ${remedy}`);
    return;
  }
  storePageKey(result.pageKey);
  location.replace(takeNext());
}

// Removes the code from the address bar and the history.
if (linked) history.replaceState({}, "", location.pathname);
show();
form.addEventListener("submit", (event) => {
  event.preventDefault();
  logIn().catch(() => showProblem("Pegboard does not respond. Is it still running?"));
});
