"use strict";
// Tables are sorted by a click on a column, rows within their part; samples are filtered and ordered. Without this script all
// is there, in its first order.
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    if (heading.classList.contains("plain")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      for (const body of table.tBodies) {
        const rows = [...body.rows].filter((row) => !row.classList.contains("layer"));
        body.append(...rows.sort((a, b) => compared(valueOf(a.cells[column]), valueOf(b.cells[column]), down ? -1 : 1)));
      }
    });
  });
}

function valueOf(cell) {
  const text = cell.dataset.value ?? cell.textContent.trim();
  if (text === "" || text === "–") return null;
  return text.trim() !== "" && !Number.isNaN(Number(text)) ? Number(text) : text;
}

function compared(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null); // what has no value is last either way
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * String(a).localeCompare(String(b), undefined, { numeric: true });
}

const form = document.getElementById("filter");
if (form) {
  const list = document.getElementById("list");
  const samples = [...list.children];
  for (const select of form.querySelectorAll("[data-slice]")) {
    const found = new Set(samples.map((sample) => sample.getAttribute(`data-slice-${select.dataset.slice}`)));
    for (const value of [...found].sort()) select.append(new Option(value, `=${value}`));
  }
  const scoreOf = (sample, metric) => {
    const chips = [...sample.querySelectorAll(".chips .chip")].filter((chip) => !metric || chip.dataset.metric === metric);
    const scores = chips.filter((chip) => chip.dataset.score !== "").map((chip) => Number(chip.dataset.score));
    return scores.length ? Math.min(...scores) : null;
  };
  const show = () => {
    const text = form.elements.text.value.trim().toLowerCase();
    const how = form.elements.how.value;
    const metric = form.elements.metric.value;
    let shown = 0;
    for (const sample of samples) {
      const fits = (!text || sample.textContent.toLowerCase().includes(text))
        && (!how || sample.dataset.how.split(" ").includes(how))
        && (!metric || [...sample.querySelectorAll(".chips .chip")].some((chip) => chip.dataset.metric === metric))
        && [...form.querySelectorAll("[data-slice]")].every((select) => !select.value
          || `=${sample.getAttribute(`data-slice-${select.dataset.slice}`)}` === select.value);
      sample.hidden = !fits;
      shown += fits;
    }
    const order = form.elements.order.value;
    const sign = order === "high" ? -1 : 1;
    const ordered = !order ? samples : [...samples].sort((a, b) => order === "id"
      ? compared(a.dataset.id, b.dataset.id, 1) : compared(scoreOf(a, metric), scoreOf(b, metric), sign));
    list.append(...ordered);
    form.querySelector("output").textContent = `${shown} of ${samples.length} shown`;
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  show();
}
