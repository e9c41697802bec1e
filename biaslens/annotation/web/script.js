"use strict";
// Keys, and drafts of comments. Without this script every button and link works with a pointer and with Tab.
const form = document.querySelector("form.label");
const comment = form?.elements.comment;
const unsure = form?.elements.unsure;
const keys = document.getElementById("keys");
const draftName = form && `draft ${form.dataset.item}`;
let sent = false;

// What is typed is kept by the tab until the server has it: going to another item and back, or undoing, loses nothing.
const draft = () => ({ comment: comment.value, unsure: unsure.checked });
const same = (one, other) => one.comment === other.comment && one.unsure === other.unsure;
const keep = (more) => sessionStorage.setItem(draftName, JSON.stringify({ ...draft(), ...more }));
if (form) {
  const standing = draft();
  const show = () => (form.querySelector(".draft").hidden = same(draft(), standing));
  const kept = JSON.parse(sessionStorage.getItem(draftName) ?? "null");
  if (kept?.sent && "labelled" in form.dataset) sessionStorage.removeItem(draftName);
  else if (kept) [comment.value, unsure.checked] = [kept.comment, kept.unsure];
  show();
  form.addEventListener("input", () => {
    keep();
    show();
  });
}

for (const each of document.querySelectorAll("form")) {
  each.addEventListener("submit", (event) => {
    if (sent || event.submitter?.className === "away") return event.preventDefault();
    if (each === form) keep({ sent: true });
    sent = true;
  });
}

// On a phone the codebook stands below the answer: folded, it is one tap away.
if (matchMedia("(max-width: 60rem)").matches) document.querySelector("details.book")?.removeAttribute("open");

if (keys) {
  keys.checked = localStorage.getItem("keys") !== "off";
  keys.closest("label").hidden = false;
  keys.addEventListener("change", () => localStorage.setItem("keys", keys.checked ? "on" : "off"));
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target === comment) {
    if (event.key === "Escape") comment.blur();
    return;
  }
  // A key that is held, or was meant for the item before, must not label an answer that nobody has read.
  if (keys?.checked === false || event.repeat || sent || performance.now() < 200) return;
  const scrolls = event.key.startsWith("Arrow") && event.target.scrollWidth > event.target.clientWidth;
  if (scrolls && event.target !== document.body) return;
  if (event.key === "c" && comment) comment.focus();
  else if (event.key === "u" && unsure) unsure.click();
  else {
    const target = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (!target || target.disabled) return;
    target.click();
  }
  event.preventDefault();
});
