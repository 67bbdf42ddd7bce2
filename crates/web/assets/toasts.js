// Short messages about actions. Screen readers announce them, and they disappear after a while.

const SHOWN_MS = 6000;
const MAX_TOASTS = 4;

/** Shows a message; `tone` is `ok`, `bad` or `plain`. */
export function toast(title, { text = "", tone = "ok", link } = {}) {
  const place = document.getElementById("toasts");
  if (!place) return;
  const box = document.createElement("div");
  box.className = "toast";
  box.dataset.tone = tone;
  const strong = document.createElement("strong");
  appendInlineCode(strong, title);
  box.append(strong);
  if (text || link) {
    const more = document.createElement("p");
    appendInlineCode(more, text);
    if (link) {
      const anchor = document.createElement("a");
      anchor.href = link.href;
      anchor.textContent = link.label;
      more.append(text ? " " : "", anchor);
    }
    box.append(more);
  }
  const close = document.createElement("button");
  close.type = "button";
  close.className = "quiet slim";
  close.textContent = "Close";
  close.addEventListener("click", () => box.remove());
  box.append(close);
  place.append(box);
  while (place.children.length > MAX_TOASTS) place.firstElementChild.remove();
  // Errors stay until they are closed.
  if (tone !== "bad") {
    let timer = setTimeout(() => box.remove(), SHOWN_MS);
    box.addEventListener("pointerenter", () => clearTimeout(timer));
    box.addEventListener("pointerleave", () => (timer = setTimeout(() => box.remove(), SHOWN_MS)));
  }
}

/** Shows an error with its remedy. */
export function showError(error) {
  // Lines after the first are output of a program; they are shown elsewhere.
  const [first] = String(error.message).split("\n");
  toast(first, { text: error.remedy ?? "", tone: "bad" });
}

/** Adds text in which backticks mark inline code. */
export function appendInlineCode(place, text) {
  String(text)
    .split("`")
    .forEach((piece, at) => {
      if (at % 2 === 0) {
        place.append(piece);
        return;
      }
      const code = document.createElement("code");
      code.textContent = piece;
      place.append(code);
    });
}
