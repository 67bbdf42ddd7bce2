// Requests to the API, with the page key of this browser's login.

import { goToLogin, pageKey } from "./page_key.js";

const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";

/** The header that proves that a request comes from one of Pegboard's pages. */
export const proof = () => (pageKey() ? { "x-pegboard-page-key": pageKey() } : {});

export const isAdmin = meta("pegboard-role") === "admin";

/** An error response of the API. */
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

/** Sends a request and returns the response as JSON. */
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
    throw new ApiError(0, { message: "Pegboard does not respond.", remedy: "Is it still running?" });
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

/** Fetches the content of a page without its frame, as a document fragment. */
export async function fragment(target, signal) {
  const url = new URL(target, location.href);
  url.hash = "";
  url.searchParams.set("fragment", "1");
  const response = await fetch(url, { signal, headers: { accept: "text/html", ...proof() }, credentials: "same-origin" });
  const isRedirected = response.redirected && new URL(response.url).pathname === "/login";
  if (isRedirected || response.status === 401) {
    goToLogin();
    // The page is about to leave.
    return new Promise(() => {});
  }
  if (!response.ok) throw new ApiError(response.status, {});
  const template = document.createElement("template");
  template.innerHTML = await response.text();
  return template.content;
}
