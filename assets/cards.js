// Draws one card per method from `data` and reports clicks. All text is written with textContent, never as HTML;
// colours arrive ready-made. `data` is described in app/compare/method_cards.py.

const describe = (cell) => (cell ? `${cell.score}, rank ${cell.rank} of ${cell.of}` : "no score yet");

// Makes a word or a patch something to point at, click and reach from the keyboard; returns its cell, if it has one.
function prepare(node, name, index, card, first, data) {
  const removed = data.removed.includes(index);
  const cell = removed ? undefined : card.cells[index];
  node.dataset.unit = index;
  node.setAttribute("role", "button");
  node.setAttribute("aria-pressed", removed ? "true" : "false");
  if (first) node.tabIndex = 0;
  const state = removed ? "removed; press to restore it" : `${describe(cell)}; press to remove it`;
  node.setAttribute("aria-label", `${name}, ${state}`);
  node.classList.toggle("removed", removed);
  node.classList.toggle("top", Boolean(cell?.top));
  return cell;
}

function unitSpan(piece, card, first, data) {
  const [text, index] = piece;
  if (index < 0) return document.createTextNode(text);
  const span = element("span", "unit", text);
  const cell = prepare(span, text, index, card, first, data);
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

function imageElement(card, first, data) {
  const { src, width, height, patches } = data.image;
  const box = element("div", "image");
  box.style.aspectRatio = `${width} / ${height}`;
  box.style.maxWidth = `calc(18rem * ${width / height})`;
  const image = element("img");
  image.src = src; // made by the server from the pixels: a data address of a PNG or JPEG file
  image.alt = "The image that is explained";
  image.draggable = false;
  box.append(image);
  for (const [index, patch] of Object.entries(patches)) {
    const node = positioned(element("div", "unit patch"), patch);
    const cell = prepare(node, patch[4], Number(index), card, first, data);
    if (cell) {
      const [colour, size] = [element("div", "colour"), element("div", "size")];
      colour.style.backgroundColor = cell.colour;
      size.style.height = `calc(${cell.line} / 2)`;
      node.append(colour);
      if (cell.line !== "0px") node.append(size);
    }
    box.append(node);
  }
  for (const each of data.evidence.boxes) box.append(positioned(element("div", "true"), each));
  return box;
}

function cardElement(card, position, data, open) {
  const box = element("section", "card");
  box.dataset.method = card.id;
  box.dataset.status = card.status;
  const head = headElement(card, [element("span", "kind", card.kind)], open);
  const caution = element("p", "caution", card.caution);
  caution.hidden = !open;
  const bar = element("div", card.status === "running" ? "bar on" : "bar");
  const done = element("div");
  done.style.width = `${Math.round(100 * card.progress)}%`;
  if (card.status === "running") bar.append(done);
  box.append(head, element("p", "idea", card.idea), caution, bar);
  if (data.image) box.append(imageElement(card, position === 0, data));
  for (const [number, pieces] of data.segments.entries()) {
    if (data.labels[number]) box.append(element("div", "of", data.labels[number]));
    const text = element("div", card.status === "waiting" ? "text dim" : "text");
    text.dir = "auto";
    for (const piece of pieces) text.append(unitSpan(piece, card, position === 0, data));
    box.append(text);
  }
  const legend = element("div", "legend");
  for (const { colour, text } of card.legend) {
    const swatch = element("span", "swatch");
    swatch.style.backgroundColor = colour;
    legend.append(swatch, element("span", "", text));
  }
  box.append(legend);
  if (data.image) box.append(element("div", "shares", card.shares));
  box.append(element("div", "score", card.note));
  box.append(element("div", card.status === "failed" ? "foot problem" : "foot", card.foot));
  return box;
}

// From a patch to the nearest one in the direction of an arrow key.
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function neighbour(patch, [x, y]) {
  const middle = (each) => [each.offsetLeft + each.offsetWidth / 2, each.offsetTop + each.offsetHeight / 2];
  const [left, top] = middle(patch);
  let nearest = null;
  let least = Infinity;
  for (const each of patch.parentElement.querySelectorAll(".patch")) {
    const [across, down] = [middle(each)[0] - left, middle(each)[1] - top];
    const [ahead, aside] = [across * x + down * y, Math.abs(across * y) + Math.abs(down * x)];
    if (ahead > 1 && ahead + 3 * aside < least) [nearest, least] = [each, ahead + 3 * aside];
  }
  return nearest;
}

function outline(root, units) {
  for (const each of root.querySelectorAll(".unit.near")) each.classList.remove("near");
  for (const unit of units) {
    for (const each of root.querySelectorAll(`.unit[data-unit="${Number(unit)}"]`)) each.classList.add("near");
  }
}

function showScores(root, data, index) {
  // The exact score of one unit in every card at once; null clears.
  outline(root, index === null ? [] : [index]);
  const word = data.segments.flat().find((piece) => piece[1] === index)?.[0] ?? data.image?.patches[index]?.[4] ?? "";
  for (const box of root.children) {
    const card = data.cards.find((each) => each.id === box.dataset.method);
    const score = data.removed.includes(index) ? "removed" : describe(card.cells[index]);
    box.querySelector(".score").textContent = index === null ? card.note : `${word}  ${score}`;
  }
}

const remembered = new WeakMap();

// Draws the cards anew if anything visible has changed, but not under a pressed button: its click would be lost.
function draw(root, memory) {
  const { data } = memory;
  const fresh = JSON.stringify({ ...data, time: 0, opacity: 0 });
  if (memory.pressed || fresh === memory.last) return;
  memory.last = fresh;
  const scrolled = [...root.querySelectorAll(".text")].map((text) => text.scrollTop);
  const focused = root.getRootNode().activeElement?.dataset?.unit;
  root.replaceChildren(...data.cards.map((card, i) => cardElement(card, i, data, memory.open.has(card.id))));
  root.querySelectorAll(".text").forEach((text, i) => (text.scrollTop = scrolled[i] ?? 0));
  if (focused !== undefined) root.querySelector(`.unit[data-unit="${focused}"][tabindex]`)?.focus();
  if (memory.hover !== null) showScores(root, data, memory.hover);
}

// Each click has its moment, by which the server knows one that it is told of twice.
function toggle(memory, unit) {
  memory.send("toggled", { unit: Number(unit.dataset.unit), moment: Date.now() });
}

function listen(root, memory) {
  const unitOf = (event) => event.target.closest?.(".unit");
  const released = () => {
    if (!memory.pressed) return;
    memory.pressed = false;
    setTimeout(() => draw(root, memory), 0); // after the click
  };
  window.addEventListener("crosslight-units", (event) => {
    outline(root, event.detail); // words that a sentence mentions: outlined in every heat map
  });
  window.addEventListener("pointerup", released);
  window.addEventListener("pointercancel", released);
  root.addEventListener("pointerdown", () => (memory.pressed = true));
  root.addEventListener("focusin", (event) => {
    const span = unitOf(event);
    if (span) showScores(root, memory.data, Number(span.dataset.unit));
  });
  root.addEventListener("pointerover", (event) => {
    const span = unitOf(event);
    if (memory.hover === (span ? Number(span.dataset.unit) : null)) return;
    memory.hover = span ? Number(span.dataset.unit) : null;
    showScores(root, memory.data, memory.hover);
  });
  root.addEventListener("pointerleave", () => {
    memory.hover = null;
    showScores(root, memory.data, null);
  });
  root.addEventListener("click", (event) => {
    const span = unitOf(event);
    if (span) return toggle(memory, span);
    toggleCaution(event, memory.open, "method");
  });
  root.addEventListener("keydown", (event) => {
    const span = unitOf(event);
    if (span && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      toggle(memory, span);
    } else if (span?.classList.contains("patch") && ARROWS[event.key]) {
      event.preventDefault();
      neighbour(span, ARROWS[event.key])?.focus();
    }
  });
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  let root = parentElement.querySelector(".crosslight-cards");
  if (!root) {
    root = element("div", "crosslight-cards");
    parentElement.append(root);
    remembered.set(root, { open: new Set(), last: "", hover: null, pressed: false, time: 0, data, send: setTriggerValue });
    listen(root, remembered.get(root));
  }
  const memory = remembered.get(root);
  if (data.time < memory.time) return; // handed over late: while the module loads, the order is not kept
  Object.assign(memory, { time: data.time, data, send: setTriggerValue });
  const narrow = root.clientWidth > 0 && root.clientWidth < 560;
  if (narrow !== data.narrow) component.setStateValue("narrow", narrow);
  root.style.setProperty("--opacity", data.opacity);
  draw(root, memory);
}
