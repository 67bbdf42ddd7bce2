// Talking to the API: JSON both ways, with the key of this browser's login.

import { goToLogin, pageKey } from "./page_key.js";

const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";

/** What shows that a request comes from one of our own pages. */
export const proof = () => (pageKey() ? { "x-pegboard-page-key": pageKey() } : {});

export const isAdmin = meta("pegboard-role") === "admin";

/** A refusal or failure, with what the API says about it. */
export class ApiError extends Error {
  constructor(status, detail) {
    super(detail.message || `The request failed (${status}).`);
    this.status = status;
    this.code = detail.code ?? "";
    this.remedy = detail.remedy ?? "";
    this.field = detail.field ?? "";
    this.detail = detail;
  }
}

/** Sends a request and gives the answer as JSON. */
export async function call(method, path, body, signal) {
  const headers = { accept: "application/json", ...proof() };
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      signal,
      body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
      credentials: "same-origin",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { message: "Pegboard does not answer.", remedy: "Is it still running?" });
  }
  const text = await response.text();
  let value = null;
  try {
    value = text ? JSON.parse(text) : null;
  } catch {
    value = null;
  }
  if (response.status === 401) goToLogin();
  if (!response.ok) throw new ApiError(response.status, value?.error ?? {});
  return value;
}

/** The part of a page that may have changed, as a document fragment to take pieces from. */
export async function fragment(address, signal) {
  const url = new URL(address, location.href);
  url.hash = "";
  url.searchParams.set("fragment", "1");
  const response = await fetch(url, { signal, headers: { accept: "text/html", ...proof() }, credentials: "same-origin" });
  const isSentAway = response.redirected && new URL(response.url).pathname === "/login";
  if (isSentAway || response.status === 401) {
    goToLogin();
    // The page is about to leave.
    return new Promise(() => {});
  }
  if (!response.ok) throw new ApiError(response.status, {});
  const template = document.createElement("template");
  template.innerHTML = await response.text();
  return template.content;
}
