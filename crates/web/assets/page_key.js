// The page key of this browser's login. It is stored for this origin, which includes the port: pages of other programs
// on this host receive the login's cookie, but never this key.

const KEY = "pegboard-page-key";
const NEXT = "pegboard-next";

/** Whether this page is used with a login: it was sent without content. */
const isOfLogin = document.querySelector("[data-empty]") !== null;

/** Whether the login has certainly ended: its key was removed from the storage. */
export const isLoggedOut = () => isOfLogin && !pageKey();

export const pageKey = () => localStorage.getItem(KEY) ?? "";
export const storePageKey = (key) => localStorage.setItem(KEY, key);
export const removePageKey = () => localStorage.removeItem(KEY);

/** Goes to the login page, and back here afterwards. */
export function goToLogin() {
  sessionStorage.setItem(NEXT, location.pathname + location.search);
  location.replace("/login");
}

/** Goes to the login page when the user logs out in another tab. */
export function followLogout() {
  addEventListener("storage", () => {
    if (isLoggedOut()) goToLogin();
  });
}

/** The path to open after the login. */
export function takeNext() {
  const next = sessionStorage.getItem(NEXT) ?? "/";
  sessionStorage.removeItem(NEXT);
  return /^\/(?![/\\])/.test(next) ? next : "/";
}
