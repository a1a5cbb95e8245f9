// Words and patches of the score sheet: what can be pointed at and pressed.

const describe = (cell) => (cell ? `${cell.score}, rank ${cell.rank} of ${cell.of}` : "no score yet");

function prepare(node, name, index, row, data) {
  const removed = data.removed.includes(index);
  const cell = removed ? undefined : row.cells[index];
  node.dataset.unit = index;
  node.tabIndex = -1;
  node.setAttribute("role", "button");
  node.setAttribute("aria-pressed", removed ? "true" : "false");
  const state = removed ? "removed; press to restore it" : `${describe(cell)}; press to remove it`;
  node.setAttribute("aria-label", `${name}, ${state}`);
  node.classList.toggle("removed", removed);
  node.classList.toggle("top", Boolean(cell?.top));
  return cell;
}

function unitSpan([text, index], row, data) {
  if (index < 0) return document.createTextNode(text);
  const span = element("span", "unit", text);
  const cell = prepare(span, text, index, row, data);
  span.classList.toggle("evidence", data.evidence.words.includes(index));
  if (cell) {
    span.style.backgroundColor = cell.colour;
    span.style.borderBottomWidth = cell.line;
  }
  return span;
}

function positioned(node, [left, top, width, height]) {
  Object.assign(node.style, { left: `${left}%`, top: `${top}%`, width: `${width}%`, height: `${height}%` });
  return node;
}

function imageElement(row, data) {
  const { src, width, height, patches } = data.image;
  const box = element("div", "image");
  box.style.setProperty("--ratio", width / height);
  const image = element("img");
  image.src = src; // made by the server from the pixels: a data address of a PNG or JPEG file
  image.alt = "The image that is explained";
  image.draggable = false;
  box.append(image);
  for (const [index, patch] of Object.entries(patches)) {
    const node = positioned(element("div", "unit patch"), patch);
    const cell = prepare(node, patch[4], Number(index), row, data);
    if (cell) {
      const [colour, size] = [element("div", "colour"), element("div", "size")];
      colour.style.backgroundColor = cell.colour;
      size.style.height = `calc(${cell.line} / 2)`;
      node.append(colour);
      if (cell.line !== "0px") node.append(size);
    }
    box.append(node);
  }
  for (const place of data.evidence.boxes) box.append(positioned(element("div", "true"), place));
  return box;
}

function mapElement(row, data) {
  const box = element("div", data.image ? "map pictured" : "map");
  if (row.status === "failed") {
    box.append(element("div", "problem", row.problem));
    return box;
  }
  if (data.image) box.append(imageElement(row, data));
  const texts = element("div", "texts");
  for (const [number, pieces] of data.segments.entries()) {
    const part = element("div", "part");
    const text = element("div", "text");
    part.dir = text.dir = "auto";
    if (data.labels[number]) part.append(element("span", "of", data.labels[number]));
    for (const piece of pieces) text.append(unitSpan(piece, row, data));
    part.append(text);
    texts.append(part);
  }
  if (data.image) texts.append(element("div", "shares", row.shares));
  box.append(texts);
  return box;
}
