// The form for adding a server: parses its command and shows the discovery as it happens.

import { call } from "./api.js";
import { onEvent } from "./live.js";
import { shown } from "./schema_form.js";
import { appendInlineCode, showError, toast } from "./toasts.js";

/** Splits a command like a shell: supports quotes and backslashes, nothing else. */
export function words(text) {
  const found = [];
  let word = null;
  let quote = "";
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (quote) {
      if (char === quote) quote = "";
      else if (char === "\\" && quote === '"' && /["\\$`]/.test(text[at + 1] ?? "")) word += text[(at += 1)];
      else word += char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= "";
    } else if (char === "\\" && at + 1 < text.length) {
      word = (word ?? "") + text[(at += 1)];
    } else if (/\s/.test(char)) {
      if (word !== null) found.push(word);
      word = null;
    } else {
      word = (word ?? "") + char;
    }
  }
  if (word !== null) found.push(word);
  return { found, isOpen: quote !== "" };
}

const make = (tag, className, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

/** Why a variable changes what a program loads, or undefined. */
export function loaderReason(rows, name) {
  const lower = name.toLowerCase();
  const isMatch = (pattern) => {
    const [start, end] = pattern.toLowerCase().split("*");
    if (end === undefined) return lower === start;
    return lower.length >= start.length + end.length && lower.startsWith(start) && lower.endsWith(end);
  };
  return rows.find(([pattern]) => isMatch(pattern))?.[1];
}

/** Largest number of pasted servers that are offered. */
const MAX_OFFERED = 20;

class AddServer {
  constructor(form) {
    this.form = form;
    this.loaders = JSON.parse(form.dataset.loaderVariables ?? "[]");
    this.progress = document.getElementById("progress");
    form.elements.command.addEventListener("input", () => this.showWords());
    form.querySelectorAll("[name=kind]").forEach((choice) => choice.addEventListener("change", () => this.setKind()));
    form.querySelectorAll("[data-add-pair]").forEach((button) =>
      button.addEventListener("click", () => this.addPair(button.closest("[data-pairs]")).querySelector("input").focus()),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.add();
    });
    document.getElementById("paste-take")?.addEventListener("click", () => this.paste());
    this.showWords();
  }

  get kind() {
    return this.form.querySelector("[name=kind]:checked").value;
  }

  setKind(kind = this.kind) {
    this.form.querySelector(`[name=kind][value=${kind}]`).checked = true;
    this.form.querySelectorAll("[data-kind]").forEach((part) => (part.hidden = part.dataset.kind !== kind));
  }

  showWords() {
    const place = document.getElementById("words");
    const { found, isOpen } = words(this.form.elements.command.value);
    place.replaceChildren(...found.map((word) => make("code", "", word)));
    if (found.length === 0) place.append(make("span", "small faint", "—"));
    if (isOpen) place.append(make("span", "fault", "a quote is not closed"));
  }

  addPair(group, name = "", value = "") {
    const row = make("div", "pair");
    const [key, text] = [make("input", "mono"), make("input", "mono")];
    key.placeholder = group.dataset.keyHint;
    key.setAttribute("aria-label", `${group.dataset.title}: name`);
    key.value = name;
    text.placeholder = group.dataset.valueHint;
    text.setAttribute("aria-label", `${group.dataset.title}: value`);
    text.value = value;
    const remove = make("button", "slim quiet", "Remove");
    remove.type = "button";
    remove.addEventListener("click", () => row.remove());
    row.append(key, text, remove);
    if (group.dataset.pairs === "env") {
      const warning = make("span", "fault");
      warning.setAttribute("role", "status");
      const warn = () => {
        const reason = loaderReason(this.loaders, key.value.trim());
        warning.textContent = reason ? `Warning: ${reason}.` : "";
      };
      key.addEventListener("input", warn);
      warn();
      row.append(warning);
    }
    group.append(row);
    return row;
  }

  pairs(name) {
    const rows = [...this.form.querySelectorAll(`[data-pairs=${name}] .pair`)];
    const pairs = rows.map((row) => [...row.querySelectorAll("input")].map((input) => input.value.trim()));
    return Object.fromEntries(pairs.filter(([key]) => key));
  }

  /** The request body for the API. */
  definition() {
    const text = (name) => this.form.elements[name].value.trim();
    const definition = { name: text("name") };
    if (this.kind === "http") {
      definition.url = text("url");
      const headers = this.pairs("headers");
      if (Object.keys(headers).length > 0) definition.headers = headers;
    } else {
      const [command = "", ...args] = words(text("command")).found;
      definition.command = command;
      definition.args = args;
      const env = this.pairs("env");
      if (Object.keys(env).length > 0) definition.env = env;
      if (text("cwd")) definition.cwd = text("cwd");
    }
    if (text("description")) definition.description = text("description");
    return definition;
  }

  fault(field, message) {
    const place = this.form.querySelector(`[data-field="${CSS.escape(field)}"]`);
    if (!place) return false;
    place.dataset.fault = "";
    const text = make("span", "fault");
    appendInlineCode(text, message);
    place.append(text);
    place.querySelector("input")?.focus();
    return true;
  }

  clear() {
    this.form.querySelectorAll("[data-fault]").forEach((field) => {
      delete field.dataset.fault;
      field.querySelectorAll(".fault").forEach((fault) => fault.remove());
    });
  }

  async add() {
    this.clear();
    const definition = this.definition();
    const needed = this.kind === "http" ? "url" : "command";
    if (!definition.name) return this.fault("name", "A name is required");
    if (!definition[needed]) return this.fault(needed, needed === "url" ? "A URL is required" : "A command is required");
    if (this.kind === "stdio" && words(this.form.elements.command.value).isOpen) return this.fault("command", "A quote is not closed");
    const button = this.form.querySelector("[type=submit]");
    button.setAttribute("aria-busy", "true");
    button.disabled = true;
    const steps = make("ul", "stack-tight");
    this.progress.replaceChildren(steps);
    const addStep = (state, text) => {
      const line = make("li");
      const mark = make("span", `state lines ${state}`);
      // Lines after the first are output of the program.
      const [first, ...more] = shown(text).split("\n");
      const title = make("span");
      appendInlineCode(title, first);
      mark.append(title);
      line.append(mark);
      if (more.length > 0) {
        const log = make("div", "code log");
        log.append(make("pre", "", more.join("\n")));
        line.append(log);
      }
      steps.append(line);
      return (now) => (mark.className = `state lines ${now}`);
    };
    const discovering = addStep("run busy", `Starting \`${definition.name}\` and fetching its tools`);
    const stop = onEvent((kind, data) => {
      if (kind === "server.started" && data.server === definition.name) addStep("ok", "It is running");
    });
    try {
      const response = await call("POST", "/api/v1/servers", definition);
      discovering(response?.discovery?.error ? "bad" : "ok");
      this.showResult(definition.name, response, addStep);
    } catch (error) {
      discovering("bad");
      const isAtField = error.field && this.fault(error.field.split(/[./]/)[0], error.message);
      addStep("bad", error.message);
      if (error.remedy) addStep("off", error.remedy);
      if (!isAtField) showError(error);
    } finally {
      stop();
      button.disabled = false;
      button.removeAttribute("aria-busy");
    }
    return undefined;
  }

  showResult(name, response, addStep) {
    const outcome = response?.discovery ?? {};
    const command = response?.command;
    if (command) {
      this.progress.append(make("p", "small faint", "Command"), make("code", "command", command));
    }
    for (const warning of response?.server?.warnings ?? []) addStep("warn", `\`${warning.key}\`: ${warning.text}`);
    const error = outcome.error;
    if (error) {
      addStep("bad", error.message ?? "The discovery failed");
      if (error.remedy) addStep("off", error.remedy);
      addStep("off", "It stays configured; its page shows its log.");
    } else {
      addStep("ok", `${outcome.tools ?? "Its"} tools are known`);
      toast(`\`${name}\` was added`, { text: outcome.tools !== undefined ? `${outcome.tools} tools are known.` : "" });
    }
    const row = make("div", "row");
    for (const [href, text, style] of [
      [`/servers/${name}`, "Open the server", "button primary"],
      [`/tools?server=${name}`, "Show its tools", "button"],
    ]) {
      const link = make("a", style, text);
      link.href = href;
      row.append(link);
    }
    this.progress.append(row);
  }

  /** Fills the form from an entry of another client's file. */
  paste() {
    let value;
    try {
      value = JSON.parse(document.getElementById("paste").value);
    } catch {
      toast("Invalid JSON", { text: "Paste an entry exactly as it is in the other client's file.", tone: "bad" });
      return;
    }
    const table = value?.mcpServers ?? value?.servers ?? value?.context_servers ?? value;
    const named = table?.command || table?.url ? [["", table]] : Object.entries(table ?? {});
    const servers = named.filter(([, entry]) => entry !== null && typeof entry === "object");
    if (servers.length === 0) {
      toast("No server was found", { tone: "bad" });
      return;
    }
    this.offer(servers);
    this.fillFrom(...servers[0]);
    if (servers.length === 1) toast("The form was filled in", { tone: "plain" });
    else toast(`${servers.length} servers were found`, { text: `The form shows \`${shown(servers[0][0])}\`. Choose another one below, and add them one by one.`, tone: "plain" });
  }

  /** Shows a button for each pasted server. */
  offer(servers) {
    const place = document.getElementById("paste-found");
    place.replaceChildren();
    if (servers.length < 2) return;
    place.append(make("span", "small muted", `${servers.length} servers were found. The form shows one at a time:`));
    const row = make("div", "row");
    for (const [name, entry] of servers.slice(0, MAX_OFFERED)) {
      const button = make("button", "slim", shown(name));
      button.type = "button";
      button.addEventListener("click", () => {
        this.fillFrom(name, entry);
        choose(button);
      });
      row.append(button);
    }
    const choose = (chosen) => [...row.children].forEach((button) => button.setAttribute("aria-pressed", String(button === chosen)));
    choose(row.firstElementChild);
    place.append(row);
    if (servers.length > MAX_OFFERED) place.append(make("span", "small muted", `and ${servers.length - MAX_OFFERED} more`));
  }

  /** Fills the form from one entry. */
  fillFrom(name, entry) {
    this.clear();
    const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${String(word).replaceAll("'", "'\\''")}'`);
    const set = (field, text) => (this.form.elements[field].value = text ?? "");
    if (name) set("name", name.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_+|_+$/g, "").slice(0, 24));
    const url = entry.url ?? entry.serverUrl ?? entry.httpUrl;
    this.form.querySelectorAll(".pair").forEach((row) => row.remove());
    if (url) {
      set("url", url);
      this.setKind("http");
    } else {
      const command = [entry.command ?? []].flat();
      set("command", [...command, ...(entry.args ?? [])].map(quoted).join(" "));
      set("cwd", entry.cwd);
      this.setKind("stdio");
    }
    const group = this.form.querySelector(`[data-pairs=${url ? "headers" : "env"}]`);
    Object.entries((url ? entry.headers : entry.env) ?? {}).forEach(([key, text]) => this.addPair(group, key, String(text)));
    this.showWords();
  }
}

export function startAddServer() {
  const form = document.getElementById("add-server");
  if (form) new AddServer(form);
}
