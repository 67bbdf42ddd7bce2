// Generates a form from a JSON schema: nested objects, lists, choices and booleans; everything else is entered as JSON.
// Empty optional fields are omitted; empty required fields are refused, so that no value is sent that was not entered.

/** Largest nesting; deeper values are entered as JSON. */
const MAX_DEPTH = 5;
/** Largest number of fields; further ones are entered as JSON. */
const MAX_FIELDS = 200;
/** Longer texts get a larger field. */
const LONG_TEXT = 80;

const DECEPTIVE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ue000-\uf8ff]|\udb40[\udc00-\udfff]/g;

/** Escapes hidden characters of untrusted text. */
export function shown(text) {
  return String(text).replace(DECEPTIVE, (found) => `\\u{${found.codePointAt(0).toString(16)}}`);
}

const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
};

/** The element to focus for a field. */
const focusOf = (part) => part.control ?? part.element.querySelector("input, select, textarea, button");

/** An invalid value; `message` says why. */
export class BadField extends Error {
  constructor(message, control, hint = message) {
    super(message);
    this.control = control;
    /** The message at the field. */
    this.hint = hint;
  }
}

export class SchemaForm {
  constructor(schema) {
    this.root = schema;
    this.fields = 0;
    this.ids = 0;
    const flat = this.flatten(schema);
    const properties = flat.properties ?? {};
    const isPlain = Object.keys(properties).length > 0;
    this.field = isPlain ? this.object(flat, 0) : this.json({ ...flat, type: "object" });
    /** Whether there is nothing to fill in. */
    this.isEmpty = !isPlain && flat.additionalProperties === false;
    this.element = this.field.element;
  }

  /** The entered arguments. Throws a `BadField`. */
  value() {
    if (this.isEmpty) return {};
    return this.field.read(true) ?? {};
  }

  /** The values entered so far; required fields may be missing. */
  draft() {
    if (this.isEmpty) return {};
    return this.field.read(false) ?? {};
  }

  fill(value) {
    this.field.write(value);
  }

  /** Resolves references and merges `allOf`, to a limited depth. */
  flatten(schema, steps = 0) {
    if (schema === null || typeof schema !== "object" || steps > 8) return {};
    let flat = { ...schema };
    if (typeof flat.$ref === "string" && flat.$ref.startsWith("#")) {
      const { $ref, ...beside } = flat;
      flat = { ...this.flatten(this.target($ref), steps + 1), ...beside };
    }
    if (Array.isArray(flat.allOf)) {
      const { allOf, ...beside } = flat;
      for (const part of allOf.map((one) => this.flatten(one, steps + 1))) {
        flat = {
          ...part,
          ...beside,
          properties: { ...part.properties, ...flat.properties },
          required: [...(part.required ?? []), ...(flat.required ?? [])],
        };
      }
      delete flat.allOf;
    }
    // A nullable value is treated as an optional one.
    const alternatives = flat.anyOf ?? flat.oneOf;
    if (Array.isArray(alternatives)) {
      const real = alternatives.map((one) => this.flatten(one, steps + 1)).filter((one) => one.type !== "null");
      const { anyOf, oneOf, ...beside } = flat;
      if (real.length > 0 && real.every((one) => "const" in one)) return { ...beside, enum: real.map((one) => one.const) };
      if (real.length === 1) return { ...real[0], ...beside };
      return { ...beside, alternatives: real };
    }
    if (Array.isArray(flat.type)) {
      const types = flat.type.filter((type) => type !== "null");
      if (types.length === 1) flat.type = types[0];
    }
    if ("const" in flat && !flat.enum) flat.enum = [flat.const];
    return flat;
  }

  target(reference) {
    let place = this.root;
    for (const step of reference.slice(1).split("/").filter(Boolean)) {
      const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
      place = place !== null && typeof place === "object" && Object.hasOwn(place, key) ? place[key] : {};
    }
    return place;
  }

  make(schema, depth) {
    this.fields += 1;
    const flat = this.flatten(schema);
    if (this.fields > MAX_FIELDS || depth > MAX_DEPTH) return this.json(flat);
    if (Array.isArray(flat.enum)) return this.choice(flat);
    if (flat.alternatives) return this.either(flat, depth);
    switch (flat.type) {
      case "string":
        return this.text(flat);
      case "integer":
      case "number":
        return this.number(flat);
      case "boolean":
        return this.choice({ ...flat, enum: [true, false] });
      case "array":
        return flat.items && !Array.isArray(flat.items) && !flat.prefixItems ? this.list(flat, depth) : this.json(flat);
      case "object":
        return Object.keys(flat.properties ?? {}).length > 0 ? this.object(flat, depth) : this.json(flat);
      default:
        return Object.keys(flat.properties ?? {}).length > 0 ? this.object(flat, depth) : this.json(flat);
    }
  }

  id() {
    this.ids += 1;
    return `try-field-${this.ids}`;
  }

  hint(flat) {
    const hints = [];
    if (flat.description) hints.push(shown(flat.description).slice(0, 400));
    if (flat.minimum !== undefined || flat.maximum !== undefined)
      hints.push(`${flat.minimum ?? "…"} to ${flat.maximum ?? "…"}`);
    if (flat.format) hints.push(shown(flat.format));
    return hints.join(" · ");
  }

  /** The fields of an object. */
  object(flat, depth) {
    const required = new Set(flat.required ?? []);
    const box = element("div", { class: "stack" });
    const parts = Object.entries(flat.properties ?? {}).map(([name, schema]) => {
      const isNeeded = required.has(name);
      const part = this.make(schema, depth + 1);
      const inner = this.flatten(schema);
      const hint = this.hint(inner);
      if (part.isGroup) {
        const group = element("fieldset", { class: "nest stack" });
        const legend = element("legend", { class: isNeeded ? "mono needed" : "mono" }, shown(name));
        group.append(legend);
        if (hint) group.append(element("span", { class: "small faint" }, hint));
        group.append(part.element);
        box.append(group);
      } else {
        const id = this.id();
        part.control.id = id;
        const label = element("label", { class: isNeeded ? "mono needed" : "mono", for: id }, shown(name));
        const field = element("div", { class: "field" }, label, part.element);
        if (hint) field.append(element("span", { class: "hint", id: `${id}-hint` }, hint));
        if (hint) part.control.setAttribute("aria-describedby", `${id}-hint`);
        if (isNeeded) part.control.setAttribute("aria-required", "true");
        box.append(field);
      }
      return { name, part, isNeeded, inner };
    });
    const missing = (name, part) =>
      new BadField(`\`${shown(name)}\` is required`, focusOf(part), "Required. An empty value can be sent as JSON.");
    const valueOf = ({ name, part, isNeeded, inner }, isWhole) => {
      if (part.isFilled()) return part.read(isWhole);
      if (!isNeeded || !isWhole) return undefined;
      if ("default" in inner) return inner.default;
      // A required object without required fields may be empty; otherwise its missing field is reported.
      if (part.isObject) return part.read(isWhole);
      throw missing(name, part);
    };
    return {
      element: box,
      isGroup: true,
      isObject: true,
      isFilled: () => parts.some(({ part }) => part.isFilled()),
      read(isWhole) {
        const value = {};
        for (const one of parts) {
          const inner = valueOf(one, isWhole);
          if (inner === undefined) continue;
          Object.defineProperty(value, one.name, { value: inner, enumerable: true, configurable: true, writable: true });
        }
        return value;
      },
      write(value) {
        for (const { name, part } of parts) {
          const held = value !== null && typeof value === "object" && Object.hasOwn(value, name);
          part.write(held ? value[name] : undefined);
        }
      },
    };
  }

  /** A list of items. */
  list(flat, depth) {
    const rows = element("div", { class: "stack-tight" });
    const add = element("button", { type: "button", class: "slim" }, "Add an item");
    const box = element("div", { class: "stack-tight" }, rows, element("div", {}, add));
    const items = [];
    const grow = (value) => {
      const part = this.make(flat.items, depth + 1);
      const remove = element("button", { type: "button", class: "slim quiet", "aria-label": "Remove this item" }, "Remove");
      const holder = element("div", { class: "grow" }, part.element);
      if (part.control) part.control.setAttribute("aria-label", `Item ${items.length + 1}`);
      const row = element("div", { class: "row" }, holder, remove);
      const item = { part, row };
      remove.addEventListener("click", () => {
        items.splice(items.indexOf(item), 1);
        row.remove();
        add.focus();
      });
      items.push(item);
      rows.append(row);
      if (value !== undefined) part.write(value);
      return part;
    };
    add.addEventListener("click", () => {
      const part = grow();
      (part.control ?? part.element.querySelector("input, select, textarea"))?.focus();
    });
    return {
      element: box,
      isGroup: true,
      isFilled: () => items.length > 0,
      read(isWhole) {
        const values = items.map(({ part }, at) => {
          if (part.isFilled() || part.isObject) return part.read(isWhole);
          if (!isWhole) return undefined;
          throw new BadField(`Item ${at + 1} is empty`, focusOf(part), "Fill it in or remove it.");
        });
        return values.filter((value) => value !== undefined);
      },
      write(value) {
        items.splice(0).forEach(({ row }) => row.remove());
        if (Array.isArray(value)) value.forEach((one) => grow(one));
      },
    };
  }

  /** One of several alternatives. */
  either(flat, depth) {
    const names = flat.alternatives.map((one, at) => shown(one.title ?? one.type ?? `form ${at + 1}`));
    const select = element("select", { "aria-label": "Alternative" }, ...names.map((name, at) => element("option", { value: at }, name)));
    const parts = flat.alternatives.map((one) => this.make(one, depth + 1));
    const holder = element("div", {}, parts[0].element);
    const chosen = () => parts[Number(select.value)];
    select.addEventListener("change", () => holder.replaceChildren(chosen().element));
    parts.forEach((part) => part.control?.setAttribute("aria-label", "Value"));
    return {
      element: element("div", { class: "stack-tight" }, select, holder),
      isGroup: true,
      isFilled: () => chosen().isFilled(),
      read: (isWhole) => chosen().read(isWhole),
      write(value) {
        if (value === undefined) return chosen().write(undefined);
        const kind = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
        const fits = (one) => one.type === kind || (one.type === "integer" && Number.isInteger(value));
        const at = Math.max(0, flat.alternatives.findIndex(fits));
        select.value = String(at);
        holder.replaceChildren(parts[at].element);
        return parts[at].write(value);
      },
    };
  }

  choice(flat) {
    const texts = flat.enum.map((value) => JSON.stringify(value));
    const options = flat.enum.map((value, at) => element("option", { value: at }, shown(typeof value === "string" ? value : texts[at])));
    const none = element("option", { value: "" }, "default" in flat ? `— (${shown(JSON.stringify(flat.default))})` : "—");
    const select = element("select", {}, none, ...options);
    return {
      element: select,
      control: select,
      isFilled: () => select.value !== "",
      read: () => (select.value === "" ? undefined : flat.enum[Number(select.value)]),
      write(value) {
        const at = texts.indexOf(JSON.stringify(value));
        select.value = at < 0 ? "" : String(at);
      },
    };
  }

  text(flat) {
    const isLong = (flat.maxLength ?? 0) > LONG_TEXT || /multi-?line|markdown|content|body|source code|\btext\b/i.test(flat.description ?? "");
    const placeholder = "default" in flat ? shown(String(flat.default)) : null;
    const control = isLong ? element("textarea", { rows: 3, placeholder }) : element("input", { type: "text", placeholder });
    control.autocomplete = "off";
    return {
      element: control,
      control,
      isFilled: () => control.value !== "",
      read: () => (control.value === "" ? undefined : control.value),
      write: (value) => (control.value = value === undefined || value === null ? "" : String(value)),
    };
  }

  number(flat) {
    const placeholder = "default" in flat ? shown(String(flat.default)) : null;
    const control = element("input", { type: "text", inputmode: "decimal", placeholder, autocomplete: "off" });
    return {
      element: control,
      control,
      isFilled: () => control.value.trim() !== "",
      read() {
        const text = control.value.trim();
        if (text === "") return undefined;
        const number = Number(text);
        if (!Number.isFinite(number)) throw new BadField(`\`${text}\` is not a number`, control);
        if (flat.type === "integer" && !Number.isInteger(number)) throw new BadField(`\`${text}\` is not an integer`, control);
        return number;
      },
      write: (value) => (control.value = value === undefined || value === null ? "" : String(value)),
    };
  }

  /** Anything, as JSON. */
  json(flat) {
    const kind = { object: "{}", array: "[]" }[flat.type] ?? "JSON";
    const control = element("textarea", { rows: 3, class: "mono", spellcheck: "false", placeholder: kind, "aria-label": "JSON" });
    return {
      element: control,
      control,
      isFilled: () => control.value.trim() !== "",
      read() {
        if (control.value.trim() === "") return undefined;
        try {
          return JSON.parse(control.value);
        } catch {
          throw new BadField("Invalid JSON", control);
        }
      },
      write: (value) => (control.value = value === undefined ? "" : JSON.stringify(value, null, 2)),
    };
  }
}
