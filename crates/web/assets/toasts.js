// Short words about what an action did. They are read out by screen readers, and go by themselves.

const SHOWN_MS = 6000;
const MOST = 4;

/** Shows a message; `tone` is `ok`, `bad` or `plain`. */
export function toast(title, { text = "", tone = "ok", link } = {}) {
  const place = document.getElementById("toasts");
  if (!place) return;
  const box = document.createElement("div");
  box.className = "toast";
  box.dataset.tone = tone;
  const strong = document.createElement("strong");
  appendMarked(strong, title);
  box.append(strong);
  if (text || link) {
    const more = document.createElement("p");
    appendMarked(more, text);
    if (link) {
      const anchor = document.createElement("a");
      anchor.href = link.href;
      anchor.textContent = link.words;
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
  while (place.children.length > MOST) place.firstElementChild.remove();
  // Failures stay until they are read.
  if (tone !== "bad") {
    let timer = setTimeout(() => box.remove(), SHOWN_MS);
    box.addEventListener("pointerenter", () => clearTimeout(timer));
    box.addEventListener("pointerleave", () => (timer = setTimeout(() => box.remove(), SHOWN_MS)));
  }
}

/** Tells of a failure with its remedy. */
export function tellFailure(error) {
  // Further lines of a message are what a program wrote; they are shown where the failure is.
  const [first] = String(error.message).split("\n");
  toast(first, { text: error.remedy ?? "", tone: "bad" });
}

/** Adds text in which `…` marks what is typed. */
export function appendMarked(place, text) {
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
