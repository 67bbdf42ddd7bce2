// Logging in: the one-time code comes from the address or from the person, and the page key goes into the storage.

import { keepPageKey, takeNext } from "./page_key.js";

const form = document.getElementById("login");
const problem = document.getElementById("problem");
let linked = new URLSearchParams(location.hash.slice(1)).get("code") ?? "";

/** Shows the form that fits: a button for a link with a code, else a field for the code. */
function show() {
  document.querySelectorAll("[data-with-code]").forEach((part) => (part.hidden = !linked));
  document.querySelectorAll("[data-without-code]").forEach((part) => (part.hidden = Boolean(linked)));
  form.elements.code.required = !linked;
  form.querySelector("button:not([hidden])")?.focus();
  if (!linked) form.elements.code.focus();
}

function complain(text) {
  problem.hidden = false;
  problem.querySelector("span").textContent = text;
  linked = "";
  form.elements.code.value = "";
  show();
}

async function logIn() {
  const code = linked || form.elements.code.value.trim();
  const response = await fetch("/login", { method: "POST", body: new URLSearchParams({ code }), credentials: "same-origin" });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok || !answer.pageKey) {
    const { message = "Pegboard did not accept the code.", remedy = "" } = answer.error ?? {};
    complain(`${message} ${remedy}`);
    return;
  }
  keepPageKey(answer.pageKey);
  location.replace(takeNext());
}

// The code does not stay in the address bar and in the history.
if (linked) history.replaceState({}, "", location.pathname);
show();
form.addEventListener("submit", (event) => {
  event.preventDefault();
  logIn().catch(() => complain("Pegboard does not answer. Is it still running?"));
});
