// The score sheet as a matrix of methods and words, for short texts.

function drawMatrix(root, data) {
  const wide = element("div", "wide");
  const table = element("table", memory.numbers ? "matrix numbers" : "matrix");
  const units = data.segments.flat().filter((piece) => piece[1] >= 0);
  const patches = Object.entries(data.image?.patches ?? {}).map(([index, patch]) => [patch[4].replace("patch ", ""), Number(index)]);
  const top = element("tr");
  top.append(element("th"));
  for (const [text, index] of [...units, ...patches]) {
    const head = element("th", "word");
    head.scope = "col";
    const name = element("span", "unit", text);
    prepare(name, text, index, { cells: {} }, data);
    name.tabIndex = top.children.length === 1 ? 0 : -1; // the one Tab stop; arrow keys go on from there
    name.setAttribute("aria-label", `${text}; press to ${data.removed.includes(index) ? "restore" : "remove"} it`);
    head.append(name);
    top.append(head);
  }
  const header = element("thead");
  header.append(top);
  const body = element("tbody");
  for (const row of data.rows) body.append(matrixRow(row, data, [...units, ...patches]));
  table.append(header, body);
  wide.append(table);
  const numbers = element("button", "more", memory.numbers ? "Hide the numbers" : "Show the numbers");
  numbers.type = "button";
  numbers.dataset.numbers = "";
  root.replaceChildren(once("head", [data.view, data.matrix, data.metrics], () => sheetHead(data)), wide, numbers);
}

function matrixRow(row, data, units) {
  const line = element("tr", row.old ? "old" : "");
  line.dataset.method = row.id;
  line.dataset.status = row.status;
  const name = element("th", "", row.name);
  name.scope = "row";
  line.append(name);
  for (const [text, index] of units) {
    const cell = data.removed.includes(index) ? undefined : row.cells[index];
    const box = element("td", cell?.top ? "top" : "", cell ? Number(cell.score.split(" ")[0]).toFixed(2) : "");
    if (cell) box.style.backgroundColor = cell.colour;
    box.title = `${row.name}, ${text}: ${describe(cell)}`;
    line.append(box);
  }
  return line;
}
