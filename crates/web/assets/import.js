// The import page: chooses servers, writes them, and shows their discovery as it happens.

import { during } from "./actions.js";
import { call } from "./api.js";
import { onEvent } from "./live.js";
import { settle } from "./settling.js";
import { appendInlineCode, showError, toast } from "./toasts.js";

const make = (tag, className, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

const plural = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

class Import {
  constructor(form) {
    this.form = form;
    this.progress = document.getElementById("import-progress");
    this.button = form.querySelector("[type=submit]");
    this.lines = new Map();
    form.addEventListener("change", () => this.showCount());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.run();
    });
    this.showCount();
  }

  get chosen() {
    return [...this.form.querySelectorAll("[name=server]:checked")];
  }

  get movesSecrets() {
    return this.form.elements.store?.checked ?? true;
  }

  showCount() {
    const number = this.chosen.length;
    this.form.querySelector("[data-count]").textContent = number > 0 ? ` ${plural(number, "server")}` : "";
    if (!this.isDone) this.button.disabled = number === 0;
  }

  /** Asks before anything is written. */
  confirmed() {
    const dialog = document.getElementById("confirm");
    const title = document.getElementById("confirm-title");
    title.replaceChildren();
    appendInlineCode(title, `Import ${plural(this.chosen.length, "server")}?`);
    const secrets = this.chosen.reduce((sum, box) => sum + Number(box.dataset.secrets), 0);
    const about = [`They are written to ${this.form.dataset.file} and started once to discover their tools.`];
    if (secrets > 0) {
      about.push(
        this.movesSecrets
          ? `What looks like a secret (${plural(secrets, "value")}) goes into the secret store.`
          : `What looks like a secret (${plural(secrets, "value")}) is written into the file.`,
      );
    }
    document.getElementById("confirm-text").textContent = about.join(" ");
    const yes = document.getElementById("confirm-yes");
    yes.textContent = "Import";
    yes.className = "primary";
    dialog.returnValue = "no";
    dialog.showModal();
    settle(dialog);
    return new Promise((resolve) => {
      const close = () => {
        yes.className = "danger";
        resolve(dialog.returnValue === "yes");
      };
      dialog.addEventListener("close", close, { once: true });
    });
  }

  step(state, text) {
    const mark = make("span", `state lines ${state}`);
    const title = make("span");
    appendInlineCode(title, text);
    mark.append(title);
    this.progress.append(mark);
    return (now, words) => {
      mark.className = `state lines ${now}`;
      title.replaceChildren();
      appendInlineCode(title, words);
    };
  }

  async run() {
    if (!(await this.confirmed())) return;
    this.button.setAttribute("aria-busy", "true");
    this.button.disabled = true;
    this.progress.replaceChildren();
    const stop = onEvent((kind, data) => this.discovered(kind, data));
    try {
      const outcome = await call("POST", "/api/v1/import", {
        planHash: this.form.dataset.plan,
        servers: this.chosen.map((box) => box.value),
        secrets: this.movesSecrets ? "store" : "keep",
      });
      this.isDone = true;
      this.show(outcome);
    } catch (error) {
      stop();
      showError(error);
      this.step("bad", error.message);
      if (error.code === "PLAN_CHANGED") {
        const again = make("button", "slim", "Read the files again");
        again.type = "button";
        again.addEventListener("click", () => location.reload());
        this.progress.append(again);
      }
      this.button.disabled = false;
    } finally {
      this.button.removeAttribute("aria-busy");
    }
  }

  show(outcome) {
    const written = outcome.results.filter((one) => one.state === "written");
    for (const result of outcome.results) {
      if (result.state === "written" && result.needsTrust) this.step("warn", `\`${result.name}\` was written; review it on its page`);
      else if (result.state === "written") this.wait(result.name);
      else this.step(result.state === "failed" ? "bad" : "off", `\`${result.name}\`: ${result.reason ?? "skipped"}`);
    }
    for (const name of outcome.missingSecrets) this.step("warn", `Set a secret: \`pegboard secret set ${name}\``);
    if (outcome.storedSecrets.length > 0) this.step("ok", `Stored ${plural(outcome.storedSecrets.length, "secret")}`);
    toast(`${plural(written.length, "server")} imported`, { link: { href: "/connect", label: "Connect your clients" } });
    const row = make("div", "row");
    for (const [href, text, style] of [
      ["/connect", "Connect your clients", "button primary"],
      ["/servers", "Show the servers", "button"],
    ]) {
      const link = make("a", style, text);
      link.href = href;
      row.append(link);
    }
    if (written.length > 0) row.append(this.undo(written.map((one) => one.name)));
    this.progress.append(row);
    for (const [name, [kind, data]] of this.early ?? []) if (this.lines.has(name)) this.discovered(kind, data);
  }

  /** A button that removes the imported servers again. */
  undo(names) {
    const button = make("button", "", "Undo the import");
    button.type = "button";
    button.addEventListener("click", () =>
      during(button, async () => {
        for (const name of names) await call("DELETE", `/api/v1/servers/${encodeURIComponent(name)}`);
        toast(`${plural(names.length, "server")} removed`, { text: "Stored secrets stay in the store.", link: { href: "/import", label: "Import again" } });
        button.disabled = true;
      }),
    );
    return button;
  }

  wait(name) {
    this.lines.set(name, this.step("run busy", `\`${name}\`: discovering its tools`));
  }

  /** Updates the line of a server. Events can arrive before the response. */
  discovered(kind, data) {
    if (!["tools.discovery.server.success", "tools.discovery.server.failed"].includes(kind)) return;
    const update = this.lines.get(data.server);
    if (!update) {
      this.early ??= new Map();
      this.early.set(data.server, [kind, data]);
      return;
    }
    if (kind.endsWith("success")) update("ok", `\`${data.server}\`: its tools are known`);
    else update("bad", `\`${data.server}\` could not be discovered; its page says why`);
  }
}

export function startImport() {
  const form = document.getElementById("import");
  if (form) new Import(form);
}
