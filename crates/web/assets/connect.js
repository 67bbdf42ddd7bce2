// Inserts the token into the snippets on demand.

import { call } from "./api.js";
import { during } from "./actions.js";
import { toast } from "./toasts.js";

const PLACEHOLDER = "YOUR_TOKEN";

export function startConnect() {
  const button = document.getElementById("show-token");
  button?.addEventListener("click", () => {
    const places = document.querySelectorAll("[data-token]");
    const isShown = button.dataset.shown === "yes";
    if (isShown) {
      places.forEach((place) => (place.textContent = PLACEHOLDER));
      button.dataset.shown = "no";
      button.textContent = "Insert the token";
      return;
    }
    during(button, async () => {
      const { token } = await call("GET", "/api/v1/call-token");
      places.forEach((place) => (place.textContent = token ?? PLACEHOLDER));
      button.dataset.shown = "yes";
      button.textContent = "Hide the token";
      toast("The token was inserted", { tone: "plain" });
    });
  });
}
