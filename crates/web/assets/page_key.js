// The key of this browser's login. It is in the storage of this origin, which includes the port: pages of other
// programs on this host get the login's cookie from the browser, and never this.

const KEY = "pegboard-page-key";
const NEXT = "pegboard-next";

/** Whether this page was made for a login: it came without content. */
const isOfLogin = document.querySelector("[data-empty]") !== null;

/** Whether the login is over for certain: its key is gone from the storage. */
export const isLoggedOut = () => isOfLogin && !pageKey();

export const pageKey = () => localStorage.getItem(KEY) ?? "";
export const keepPageKey = (key) => localStorage.setItem(KEY, key);
export const dropPageKey = () => localStorage.removeItem(KEY);

/** Goes to the login page, and back here afterwards. */
export function goToLogin() {
  sessionStorage.setItem(NEXT, location.pathname + location.search);
  location.replace("/login");
}

/** Leaves when the person logs out in another tab. */
export function followLogout() {
  addEventListener("storage", () => {
    if (isLoggedOut()) goToLogin();
  });
}

/** Where to go after the login: a path of this origin. */
export function takeNext() {
  const next = sessionStorage.getItem(NEXT) ?? "/";
  sessionStorage.removeItem(NEXT);
  return /^\/(?![/\\])/.test(next) ? next : "/";
}
