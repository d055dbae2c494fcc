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
  const scoreOf = (sample, metric) => {
    const chips = [...sample.querySelectorAll(".chips .chip")].filter((chip) => !metric || chip.dataset.metric === metric);
    const scores = chips.filter((chip) => chip.dataset.score !== "").map((chip) => Number(chip.dataset.score));
    return scores.length ? Math.min(...scores) : null;
  };
  // Whether a sample is shown for this reason and for the sake of this metric; those drawn by chance are of all metrics.
  const isShownFor = (sample, how, metric) => {
    if (!metric || how === "random") return !how || sample.dataset.how.split(" ").includes(how);
    return [...sample.querySelectorAll(".chips .chip")].some((chip) => chip.dataset.metric === metric
      && (how ? chip.dataset.how.split(" ").includes(how) : chip.dataset.how !== ""));
  };
  const show = () => {
    const text = form.elements.text.value.trim().toLowerCase();
    const how = form.elements.how.value;
    const metric = form.elements.metric.value;
    let shown = 0;
    for (const sample of samples) {
      const fits = (!text || sample.textContent.toLowerCase().includes(text))
        && isShownFor(sample, how, metric)
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
  for (const link of document.querySelectorAll("#worst a")) {
    link.addEventListener("click", (event) => {
      event.preventDefault(); // in the frame of a notebook a fragment would lead away from the page
      const sample = document.getElementById(link.hash.slice(1));
      if (sample.hidden) {
        form.reset();
        show();
      }
      sample.open = true;
      sample.scrollIntoView();
      sample.querySelector("summary").focus({ preventScroll: true });
    });
  }
}
