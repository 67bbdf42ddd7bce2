// Trying a tool: arguments by form or as JSON, the call through the API, the result as text.

import { call } from "./api.js";
import { look, onEvent } from "./live.js";
import { BadField, SchemaForm, shown } from "./schema_form.js";
import { appendMarked, toast } from "./toasts.js";

/** Characters of a result that are shown. */
const SHOWN = 200_000;
/** Pictures that are shown as such; everything else stays text. */
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

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

/** One piece of a result. */
function piece(content) {
  if (content.type === "text") {
    const value = parsed(content.text, undefined);
    return block(value !== null && typeof value === "object" ? pretty(value) : content.text ?? "");
  }
  if (content.type === "image" && PICTURES.includes(content.mimeType)) {
    const image = make("img");
    image.src = `data:${content.mimeType};base64,${content.data}`;
    image.alt = "A picture that the tool gave";
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
    if (this.schemaForm.isEmpty) place.append(make("p", "muted", "It takes no arguments."));
    else place.append(this.schemaForm.element);
    if (place.querySelector(".needed")) place.prepend(make("p", "small faint", "Fields with * are required."));
    this.mode = "form";
    card.querySelectorAll("[data-mode]").forEach((tab) => tab.addEventListener("click", () => this.turn(tab.dataset.mode)));
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
    toast("The example is in the form", { tone: "plain" });
  }

  /** Between form and JSON, taking along what is there. */
  turn(mode) {
    if (mode === this.mode) return;
    try {
      if (mode === "json") this.json.value = pretty(this.schemaForm.draft());
      else this.schemaForm.fill(this.readJson());
    } catch (error) {
      this.complain(error);
      return;
    }
    this.mode = mode;
    this.card.querySelectorAll("[data-mode]").forEach((tab) => tab.setAttribute("aria-pressed", String(tab.dataset.mode === mode)));
    this.card.querySelectorAll("[data-part]").forEach((part) => (part.hidden = part.dataset.part !== mode));
  }

  readJson() {
    const value = parsed(this.json.value.trim() || "{}", undefined);
    if (value === null || typeof value !== "object" || Array.isArray(value)) throw new BadField("The arguments are not a JSON object", this.json);
    return value;
  }

  /** Says at the field what is wrong with it. */
  complain(error) {
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
    appendMarked(fault, error.hint);
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

  /** Shows these parts as the result, and brings them into view. */
  present(...parts) {
    this.result.hidden = false;
    this.result.replaceChildren(...parts);
    const isTall = this.result.offsetHeight > innerHeight;
    this.result.scrollIntoView({ block: isTall ? "start" : "nearest" });
  }

  callout(tone, title, text, remedy) {
    const box = make("div", `callout ${tone}`);
    box.append(make("strong", "", title));
    const told = make("span");
    appendMarked(told, shown(text));
    box.append(told);
    if (remedy) {
      const next = make("span", "muted");
      appendMarked(next, shown(remedy));
      box.append(next);
    }
    return box;
  }

  async run() {
    let text;
    try {
      // What was written as JSON goes as it was written: numbers keep all their digits.
      this.mode === "json" ? this.readJson() : null;
      text = this.mode === "json" ? this.json.value.trim() || "{}" : JSON.stringify(this.schemaForm.value());
    } catch (error) {
      this.complain(error);
      return;
    }
    const button = this.form.querySelector("[type=submit]");
    button.setAttribute("aria-busy", "true");
    button.disabled = true;
    this.clearFaults();
    this.present(make("p", "muted", "Running…"));
    const stop = onEvent((kind, data) => {
      if (kind === "approval.asked" && data.tool === this.tool) this.waits();
    });
    const started = performance.now();
    try {
      const answer = await call("POST", `/api/v1/tools/${encodeURIComponent(this.tool)}/call`, `{"arguments":${text}}`);
      this.tell(answer, Math.round(performance.now() - started));
    } catch (error) {
      const title = error.code === "TOOL_DENIED" || error.status === 403 ? "Not allowed" : "It did not run";
      this.present(this.callout("bad", title, error.message, `${error.remedy} ${error.code ? `\`${error.code}\`` : ""}`));
    } finally {
      stop();
      button.disabled = false;
      button.removeAttribute("aria-busy");
      look(["activity", "catalog"]);
    }
  }

  waits() {
    const box = this.callout("warn", "Waiting for an answer", "A policy asks a person before this tool runs.", "");
    const link = make("a", "", "Decide in Approvals");
    link.href = "/approvals";
    link.target = "_blank";
    box.append(link);
    this.present(box);
  }

  tell(answer, took) {
    const { result = {}, isError = false, outcome = "complete" } = answer ?? {};
    const head = make("div", "row");
    head.append(make("span", isError ? "chip bad" : "chip ok", isError ? "the tool failed" : "ok"));
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
