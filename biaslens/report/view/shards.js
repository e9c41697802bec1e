"use strict";
// Answers from packed scripts. What is shown stands behind the # of the address, as in `biaslens view`.
const PAGE = 50;
const NONE = -1;
const arrived = new Map();
globalThis.biaslens = (name, text) => arrived.set(name, text);

const loading = new Map();
const load = (name) => {
  if (!loading.has(name)) loading.set(name, fetched(name));
  return loading.get(name);
};
const fetched = async (name) => {
  const script = document.createElement("script");
  script.src = `${name}.js`;
  await new Promise((resolve, reject) => {
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${name}.js cannot be loaded; it belongs beside this page.`));
    document.head.append(script);
  });
  script.remove();
  const bytes = Uint8Array.from(atob(arrived.get(name)), (char) => char.charCodeAt(0));
  arrived.delete(name);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
};

const element = (tag, attributes, ...inside) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(name, value);
  made.append(...inside);
  return made;
};

// Control and format characters are shown; joiners shape letters and emoji.
const unseen = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}]/gu;
const visible = (text) => {
  const plain = text.replace(/\r\n?/g, "\n");
  const parts = [];
  let from = 0;
  for (const found of plain.matchAll(unseen)) {
    const code = found[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    parts.push(plain.slice(from, found.index), element("span", { class: "mark" }, `U+${code}`));
    from = found.index + found[0].length;
  }
  return [...parts, plain.slice(from)];
};
const count = (number) => number.toLocaleString("en");
const bdi = (text) => element("bdi", { dir: "auto" }, ...visible(text));

let about = null;
const runs = new Map();

const open = async (place) => {
  if (!runs.has(place)) {
    const packed = await load(`${about.runs[place].folder}/rows`);
    const question = new Int32Array(packed.question.length);
    let last = 0;
    packed.question.forEach((step, row) => { question[row] = last += step; });
    const columns = {};
    for (const [name, text] of Object.entries(packed.columns)) {
      columns[name] = Int32Array.from({ length: text.length }, (_, row) => text.charCodeAt(row) - 49);
    }
    runs.set(place, { place, question, columns });
  }
  return runs.get(place);
};

const chosen = () => {
  const known = new Set(about.columns.map((column) => column.name));
  const found = new Map();
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    if (known.has(name)) found.set(name, [...(found.get(name) ?? []), value]);
  }
  return found;
};
const address = (values) => "#" + new URLSearchParams([...values].flatMap(([name, all]) => all.map((one) => [name, one])));
const toggled = (values, name, value) => {
  const before = values.get(name) ?? [];
  const now = before.includes(value) ? before.filter((one) => one !== value) : [...before, value];
  const made = new Map(values);
  if (now.length) made.set(name, now);
  else made.delete(name);
  return address(made);
};

// Rows of a run that have all that is chosen; a column is counted over those that have all but its own.
const select = (run, values, counts) => {
  const size = run.question.length;
  const missing = new Uint8Array(size);
  const only = new Uint8Array(size);
  const code = (column) => {
    if (column.name === "model") return () => run.place;
    return column.codes ? (row) => column.codes[run.question[row]] : (row) => run.columns[column.name][row];
  };
  about.columns.forEach((column, number) => {
    if (!values.has(column.name)) return;
    const wanted = new Set(values.get(column.name).map((value) => column.values.indexOf(value)).filter((one) => one >= 0));
    const of = code(column);
    for (let row = 0; row < size; row++) if (!wanted.has(of(row))) { missing[row]++; only[row] = number; }
  });
  about.columns.forEach((column, number) => {
    const of = code(column);
    const into = counts[number];
    for (let row = 0; row < size; row++) {
      if (missing[row] === 0 || (missing[row] === 1 && only[row] === number)) {
        const value = of(row);
        if (value !== NONE) into[value]++;
      }
    }
  });
  const rows = [];
  for (let row = 0; row < size; row++) if (missing[row] === 0) rows.push(row);
  return rows;
};

// Answers to one question stand together, whichever run they are of.
function* merged(found) {
  const at = found.map(() => 0);
  const before = (a, b) => {
    const [one, other] = [found[a], found[b]];
    const [row, next] = [one.rows[at[a]], other.rows[at[b]]];
    return one.run.question[row] - other.run.question[next] || one.run.columns.condition[row] - other.run.columns.condition[next];
  };
  for (;;) {
    let first = -1;
    for (let n = 0; n < found.length; n++) if (at[n] < found[n].rows.length && (first < 0 || before(n, first) < 0)) first = n;
    if (first < 0) return;
    yield { run: found[first].run, row: found[first].rows[at[first]++] };
  }
}

const starts = (run, block) => {
  let [low, high] = [0, run.question.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (run.question[middle] < block * about.block) low = middle + 1;
    else high = middle;
  }
  return low;
};

const named = (name) => about.columns.find((column) => column.name === name);
const value = (run, row, name) => {
  const column = named(name);
  const code = !column ? NONE : column.codes ? column.codes[run.question[row]] : run.columns[name][row];
  return code === NONE ? "" : column.values[code];
};

const answer = (run, row, text) => {
  const state = value(run, row, "outcome");
  const facts = [`trial ${run.columns.trial[row]}`, value(run, row, "reason"), value(run, row, "cut") === "cut off" ? "cut off" : ""];
  const chip = element("span", { class: `chip ${state}` }, element("span", { class: "sign", "aria-hidden": "true" }, about.marks[state]), state);
  const head = element("span", { class: "head" }, chip, " ", element("span", { class: "small" }, ...visible(facts.filter(Boolean).join(" · "))));
  const said = element("div", { class: "said", dir: "auto" });
  if (text === null || !text.trim()) said.append(element("em", {}, text === null ? "no answer" : "nothing"));
  else {
    said.append(...visible(text.slice(0, about.longest)));
    if (text.length > about.longest) {
      const more = element("button", { type: "button" }, `… ${count(text.length - about.longest)} characters more`);
      more.addEventListener("click", () => said.replaceChildren(...visible(text)), { once: true });
      said.append(" ", more);
    }
  }
  return element("div", { class: "entry" }, head, said);
};

const block = (run, row, question) => {
  const role = run.columns.condition[row] === about.role;
  const [text, options, persona] = question;
  const tag = (words, more = "") => element("span", { class: `tag ${more}` }, bdi(words));
  const asked = element("p", { class: "asked" }, tag(value(run, row, "kind")), " ", role ? tag(persona, "role") : tag(value(run, row, "condition")), " ");
  if (about.runs.length > 1) asked.append(tag(about.runs[run.place].name), " ");
  asked.append(bdi(text));
  if (options.length) {
    asked.append(" ", element("span", { class: "options" }, ...options.flatMap((option, n) => (n ? [" / ", bdi(option)] : [bdi(option)]))));
  }
  return element("article", { class: "block" }, asked);
};

const opened = new Set(["model", "outcome", "condition", "kind", "attribute"]);
const filters = (values, counts, loaded) => {
  const place = document.querySelector(".columns");
  const focus = document.activeElement?.dataset?.key;
  place.replaceChildren();
  if (values.size) place.append(element("p", {}, element("a", { href: "#" }, "Show all answers again")));
  about.columns.forEach((column, number) => {
    const on = values.get(column.name) ?? [];
    // Of a model that is not loaded nothing is counted; it can still be chosen.
    const unknown = (n) => column.name === "model" && !loaded.includes(n);
    const places = [...column.values.keys()].filter((n) => counts[number][n] || on.includes(column.values[n]) || unknown(n));
    if (places.length < 2 && !on.length) return;
    const few = column.values.length <= 2 * about.few;
    if (!few) places.sort((a, b) => counts[number][b] - counts[number][a] || a - b);
    const line = (n) => {
      const is = on.includes(column.values[n]);
      const link = element(
        "a", { href: toggled(values, column.name, column.values[n]), class: is ? "on" : undefined, "aria-current": is ? "true" : undefined, "data-key": `${column.name} ${n}` },
        element("span", { class: "value" }, bdi(column.values[n])), " ", element("span", { class: "count" }, unknown(n) ? "" : count(counts[number][n])),
      );
      return element("li", {}, link);
    };
    const list = element("ul", {}, ...places.filter((n, order) => few || order < about.few || on.includes(column.values[n])).map(line));
    if (!few && places.length > about.few) {
      const more = element("button", { type: "button", class: "all" }, `all ${count(places.length)}`);
      more.addEventListener("click", () => list.replaceChildren(...places.map(line)));
      list.append(element("li", {}, more));
    }
    const details = element("details", {}, element("summary", {}, column.title), list);
    details.open = opened.has(column.name) || on.length > 0;
    details.addEventListener("toggle", () => (details.open ? opened.add(column.name) : opened.delete(column.name)));
    place.append(details);
  });
  if (focus) place.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus();
};

const status = document.getElementById("status");
const further = document.getElementById("further");
let turn = 0;

const show = async () => {
  const mine = ++turn;
  const values = chosen();
  const models = values.get("model");
  status.textContent = "Unpacking …";
  const wanted = [...about.runs.keys()].filter((place) => !models || models.includes(about.runs[place].name));
  const found = [];
  const counts = about.columns.map((column) => new Int32Array(column.values.length));
  for (const place of wanted) {
    const run = await open(place);
    if (mine !== turn) return;
    found.push({ run, rows: select(run, values, counts) });
  }
  const total = found.reduce((sum, { rows }) => sum + rows.length, 0);
  filters(values, counts, wanted);
  document.getElementById("found").textContent = `${count(total)} answer${total === 1 ? "" : "s"}`;
  document.getElementById("blocks").replaceChildren();
  const rows = merged(found);
  const together = (a, b) => a.run === b.run && a.run.question[a.row] === b.run.question[b.row]
    && a.run.columns.condition[a.row] === b.run.columns.condition[b.row];
  let [shown, held] = [0, rows.next().value];
  const next = async () => {
    further.hidden = true;
    const part = [];
    while (held && (part.length < PAGE || together(held, part[part.length - 1]))) {
      part.push(held);
      held = rows.next().value;
    }
    const texts = await Promise.all(part.map(async ({ run, row }) => {
      const number = Math.floor(run.question[row] / about.block);
      const [asked, said] = await Promise.all([load(`questions/${number}`), load(`${about.runs[run.place].folder}/${number}`)]);
      return [asked[run.question[row] - number * about.block], said[row - starts(run, number)]];
    }));
    if (mine !== turn) return;
    const made = [];
    part.forEach((one, n) => {
      if (!n || !together(one, part[n - 1])) made.push(block(one.run, one.row, texts[n][0]));
      made[made.length - 1].append(answer(one.run, one.row, texts[n][1]));
    });
    document.getElementById("blocks").append(...made);
    shown += part.length;
    status.textContent = total ? `Shown: ${count(shown)} of ${count(total)}, by role and question.` : "No answer is like that.";
    further.hidden = shown >= total;
    return made[0];
  };
  further.onclick = async () => {
    try {
      const first = await next();
      first?.setAttribute("tabindex", "-1");
      first?.focus();
    } catch (error) { status.textContent = error.message; }
  };
  await next();
};

const begin = async () => {
  document.getElementById("warning").hidden = true;
  document.getElementById("answers").hidden = false;
  document.getElementById("filters").open = matchMedia("(min-width: 60rem)").matches;
  const told = async () => {
    try {
      about ??= await load("about");
      await show();
    } catch (error) { status.textContent = error.message; }
  };
  addEventListener("hashchange", told);
  if (!("DecompressionStream" in globalThis)) status.textContent = "This browser is too old to unpack the answers.";
  else await told();
};

const READ = "biaslens-read";
const stored = () => { try { return sessionStorage.getItem(READ); } catch { return null; } };
if (stored()) begin();
else {
  document.getElementById("warning").hidden = false;
  document.querySelector("#warning button").addEventListener("click", () => {
    try { sessionStorage.setItem(READ, "1"); } catch { /* then it is asked again */ }
    begin().then(() => document.getElementById("found").focus());
  });
}
