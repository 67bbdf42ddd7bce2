// The form for trying a tool: arguments by form or as JSON, and the result.

import { call } from "./api.js";
import { refreshTopics, onEvent } from "./live.js";
import { BadField, SchemaForm, shown } from "./schema_form.js";
import { appendInlineCode, toast } from "./toasts.js";

/** Largest number of characters shown of a result. */
const SHOWN = 200_000;
/** Image types that are displayed; everything else is shown as text. */
const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

const make = (tag, className, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

function parsed(text, otherwise) {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}

function block(text) {
  const box = make("div", "code");
  const pre = make("pre", "", shown(text).slice(0, SHOWN));
  pre.tabIndex = 0;
  const copy = make("button", "copy slim", "Copy");
  copy.type = "button";
  copy.dataset.copy = "";
  box.append(pre, copy);
  return box;
}

const pretty = (value) => JSON.stringify(value, null, 2);

/** Renders one content block of a result. */
function piece(content) {
  if (content.type === "text") {
    const value = parsed(content.text, undefined);
    return block(value !== null && typeof value === "object" ? pretty(value) : content.text ?? "");
  }
  if (content.type === "image" && IMAGE_TYPES.includes(content.mimeType)) {
    const image = make("img");
    image.src = `data:${content.mimeType};base64,${content.data}`;
    image.alt = "Image returned by the tool";
    return image;
  }
  return block(pretty(content));
}

class Trial {
  constructor(card) {
    this.card = card;
    this.tool = card.dataset.tool;
    this.form = card.querySelector("#try-form");
    this.result = card.querySelector("#try-result");
    this.json = card.querySelector("#try-json");
    this.schemaForm = new SchemaForm(parsed(card.dataset.schema, {}));
    const place = card.querySelector("[data-part=form]");
    if (this.schemaForm.isEmpty) place.append(make("p", "muted", "It has no parameters."));
    else place.append(this.schemaForm.element);
    if (place.querySelector(".needed")) place.prepend(make("p", "small faint", "Fields with * are required."));
    this.mode = "form";
    card.querySelectorAll("[data-mode]").forEach((tab) => tab.addEventListener("click", () => this.setMode(tab.dataset.mode)));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.run();
    });
    document.addEventListener("click", (event) => {
      const example = event.target.closest("[data-use-example]");
      if (example) this.fill(parsed(example.dataset.useExample, {}));
    });
  }

  fill(value) {
    this.schemaForm.fill(value);
    this.json.value = pretty(value);
    this.card.scrollIntoView({ block: "nearest" });
    toast("The example was filled in", { tone: "plain" });
  }

  /** Switches between form and JSON, keeping the values. */
  setMode(mode) {
    if (mode === this.mode) return;
    try {
      if (mode === "json") this.json.value = pretty(this.schemaForm.draft());
      else this.schemaForm.fill(this.readJson());
    } catch (error) {
      this.showFault(error);
      return;
    }
    this.mode = mode;
    this.card.querySelectorAll("[data-mode]").forEach((tab) => tab.setAttribute("aria-pressed", String(tab.dataset.mode === mode)));
    this.card.querySelectorAll("[data-part]").forEach((part) => (part.hidden = part.dataset.part !== mode));
  }

  readJson() {
    const value = parsed(this.json.value.trim() || "{}", undefined);
    if (value === null || typeof value !== "object" || Array.isArray(value)) throw new BadField("The arguments must be a JSON object", this.json);
    return value;
  }

  /** Shows an error at its field. */
  showFault(error) {
    this.clearFaults();
    const { control } = error;
    if (!control) {
      this.present(this.callout("bad", "Not run", error.message, ""));
      return;
    }
    this.result.hidden = true;
    const fault = make("span", "fault");
    fault.id = "try-fault";
    fault.setAttribute("role", "alert");
    appendInlineCode(fault, error.hint);
    control.after(fault);
    control.setAttribute("aria-invalid", "true");
    control.setAttribute("aria-errormessage", fault.id);
    control.focus();
    for (const kind of ["input", "click"]) control.addEventListener(kind, () => this.clearFaults(), { once: true });
  }

  clearFaults() {
    this.form.querySelectorAll("#try-fault").forEach((fault) => fault.remove());
    this.form.querySelectorAll("[aria-invalid]").forEach((control) => {
      control.removeAttribute("aria-invalid");
      control.removeAttribute("aria-errormessage");
    });
  }

  /** Shows the result and scrolls it into view. */
  present(...parts) {
    this.result.hidden = false;
    this.result.replaceChildren(...parts);
    const isTall = this.result.offsetHeight > innerHeight;
    this.result.scrollIntoView({ block: isTall ? "start" : "nearest" });
  }

  callout(tone, title, text, remedy) {
    const box = make("div", `callout ${tone}`);
    box.append(make("strong", "", title));
    const message = make("span");
    appendInlineCode(message, shown(text));
    box.append(message);
    if (remedy) {
      const next = make("span", "muted");
      appendInlineCode(next, shown(remedy));
      box.append(next);
    }
    return box;
  }

  async run() {
    let text;
    try {
      // JSON is sent verbatim, so that numbers keep all digits.
      this.mode === "json" ? this.readJson() : null;
      text = this.mode === "json" ? this.json.value.trim() || "{}" : JSON.stringify(this.schemaForm.value());
    } catch (error) {
      this.showFault(error);
      return;
    }
    const button = this.form.querySelector("[type=submit]");
    button.setAttribute("aria-busy", "true");
    button.disabled = true;
    this.clearFaults();
    this.present(make("p", "muted", "Running…"));
    const stop = onEvent((kind, data) => {
      if (kind === "approval.requested" && data.tool === this.tool) this.showWaiting();
    });
    const started = performance.now();
    try {
      const response = await call("POST", `/api/v1/tools/${encodeURIComponent(this.tool)}/call`, `{"arguments":${text}}`);
      this.showResult(response, Math.round(performance.now() - started));
    } catch (error) {
      const title = error.code === "TOOL_DENIED" || error.status === 403 ? "Not allowed" : "The call failed";
      this.present(this.callout("bad", title, error.message, `${error.remedy} ${error.code ? `\`${error.code}\`` : ""}`));
    } finally {
      stop();
      button.disabled = false;
      button.removeAttribute("aria-busy");
      refreshTopics(["activity", "catalog"]);
    }
  }

  showWaiting() {
    const box = this.callout("warn", "Waiting for approval", "A policy requires an approval before this tool runs.", "");
    const link = make("a", "", "Decide in Approvals");
    link.href = "/approvals";
    link.target = "_blank";
    box.append(link);
    this.present(box);
  }

  showResult(response, took) {
    const { result = {}, isError = false, outcome = "complete" } = response ?? {};
    const head = make("div", "row");
    head.append(make("span", isError ? "chip bad" : "chip ok", isError ? "failed" : "ok"));
    head.append(make("span", "small faint num", `${took} ms`));
    if (outcome !== "complete") head.append(make("span", "chip warn", outcome.replace("_", " ")));
    const parts = [head];
    for (const content of result.content ?? []) parts.push(piece(content));
    if (result.structuredContent !== undefined) {
      const details = make("details");
      details.append(make("summary", "", "Structured content"), block(pretty(result.structuredContent)));
      parts.push(details);
    }
    if (!result.content && result.structuredContent === undefined) parts.push(block(pretty(result)));
    this.present(...parts);
  }
}

export function startTryTool() {
  const card = document.getElementById("try");
  if (card) new Trial(card);
}
