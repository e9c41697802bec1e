"use strict";
// Sorting and filtering; without this script every row is there, in the order of the table.
const key = (row, column) => {
  const value = row.children[column].dataset.value;
  const number = Number(value);
  return value === "" || value === undefined ? null : Number.isNaN(number) ? value : number;
};
const before = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));

for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].children];
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...body.rows].map((row, place) => ({ row, place, value: key(row, column) }));
      rows.sort((a, b) => {
        // Totals stay at the end, and so does what is not known, whichever way the column is sorted.
        const totals = ("total" in a.row.dataset) - ("total" in b.row.dataset);
        if (totals) return totals;
        if (a.value === null || b.value === null) return (a.value === null) - (b.value === null) || a.place - b.place;
        return (up ? 1 : -1) * before(a.value, b.value) || a.place - b.place;
      });
      body.append(...rows.map(({ row }) => row));
      const status = document.getElementById("sorted");
      if (status) status.textContent = `Sorted by ${button.textContent}, ${up ? "ascending" : "descending"}.`;
    });
  });
}

const filters = [...document.querySelectorAll("select[data-filter]")];
const apply = () => {
  for (const row of document.querySelectorAll("tr[data-kind]")) {
    row.hidden = filters.some((filter) => filter.value !== "" && row.dataset[filter.dataset.filter] !== filter.value);
  }
};
for (const filter of filters) filter.addEventListener("change", apply);
for (const place of document.querySelectorAll(".filters")) place.hidden = false;
apply();
