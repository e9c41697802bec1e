"use strict";
// Keys, and news of runs that grow. Without this script every link and button works with a pointer and with Tab.
const help = document.getElementById("help");
const button = document.querySelector("[data-help]");
if (button) {
  button.hidden = false;
  button.addEventListener("click", () => help.showModal());
}

const entries = [...document.querySelectorAll("a.entry")];
const step = (by) => {
  const at = entries.indexOf(document.activeElement);
  const next = entries[at < 0 ? (by > 0 ? 0 : entries.length - 1) : at + by];
  if (next) next.focus();
  else if (by > 0) document.querySelector(".pages [rel=next]")?.focus();
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || help?.open) return;
  if (event.target.matches("input, textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const follow = (selector) => document.querySelector(selector)?.click();
  const actions = {
    j: () => (entries.length ? step(1) : follow("[rel=next]")),
    k: () => (entries.length ? step(-1) : follow("[rel=prev]")),
    u: () => follow("[data-up]"),
    "/": () => document.querySelector("input[type=search]")?.focus(),
    "?": () => help?.showModal(),
  };
  if (!Object.hasOwn(actions, event.key)) return;
  event.preventDefault();
  actions[event.key]();
});

const live = document.getElementById("live");
if (live) {
  let known = null;
  const look = async () => {
    try {
      const now = await (await fetch("/live")).json();
      const asked = now.runs.reduce((sum, run) => sum + run.asked, 0);
      const planned = now.runs.reduce((sum, run) => sum + run.planned, 0);
      known ??= asked;
      if (String(now.version) !== live.dataset.version) {
        live.hidden = false;
        live.textContent = `${asked.toLocaleString("en")} of ${planned.toLocaleString("en")} asked, ${(asked - known).toLocaleString("en")} since this page was opened. `;
        const again = document.createElement("a");
        again.href = location.href;
        again.textContent = "Show them";
        live.append(again);
      }
    } catch {
      live.hidden = false;
      live.textContent = "The viewer was stopped; start `biaslens view` again.";
      return;
    }
    setTimeout(look, 3000);
  };
  setTimeout(look, 3000);
}
