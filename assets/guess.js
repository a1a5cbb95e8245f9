// Draws the input once, with every word and patch a button that a person marks in the order of importance. All text is
// written with textContent. `data` is described in app/compare/guess.py; marks are sent as a whole, with their moment.

const guesses = new WeakMap();

function guessUnit(node, name, index, memory) {
  const place = memory.marked.indexOf(index) + 1;
  node.dataset.unit = index;
  node.dataset.name = name;
  node.setAttribute("role", "button");
  paint(node, place);
  node.tabIndex = -1;
  return node;
}

function paint(node, place) {
  node.classList.toggle("marked", place > 0);
  node.dataset.place = place || "";
  node.setAttribute("aria-pressed", place ? "true" : "false");
  node.setAttribute("aria-label", place ? `${node.dataset.name}, your number ${place}` : node.dataset.name);
}

function guessImage({ src, width, height, patches }, memory) {
  const box = element("div", "image");
  box.style.aspectRatio = `${width} / ${height}`;
  const image = element("img");
  image.src = src; // made by the server from the pixels: a data address of a PNG or JPEG file
  image.alt = "The image that the model reads";
  image.draggable = false;
  box.append(image);
  for (const [index, [left, top, across, down, name]] of Object.entries(patches)) {
    const patch = guessUnit(element("div", "unit patch"), name, Number(index), memory);
    Object.assign(patch.style, { left: `${left}%`, top: `${top}%`, width: `${across}%`, height: `${down}%` });
    box.append(patch);
  }
  return box;
}

function guessTexts(data, memory) {
  const texts = element("div", "texts");
  for (const [number, pieces] of data.segments.entries()) {
    if (data.labels[number]) texts.append(element("div", "of", data.labels[number]));
    const text = element("div", "text");
    text.dir = "auto";
    for (const [characters, index] of pieces) {
      if (index < 0) text.append(document.createTextNode(characters));
      else text.append(guessUnit(element("span", "unit", characters), characters, index, memory));
    }
    texts.append(text);
  }
  return texts;
}

function units(root) {
  return [...root.querySelectorAll(".unit")];
}

// One stop of the Tab key: the unit that was reached last, or the first one.
function setStop(root, memory) {
  const all = units(root);
  const stop = all.find((unit) => Number(unit.dataset.unit) === memory.stop) ?? all[0];
  for (const unit of all) unit.tabIndex = unit === stop ? 0 : -1;
}

function repaint(root, memory) {
  for (const unit of units(root)) paint(unit, memory.marked.indexOf(Number(unit.dataset.unit)) + 1);
  const count = memory.marked.length;
  root.querySelector(".count").textContent = count ? `${count} marked. Press one again to unmark it.` : "Nothing marked yet.";
}

function build(root, memory) {
  const { data } = memory;
  const fresh = JSON.stringify([data.labels, data.segments, data.image, data.task]);
  if (fresh !== memory.last) {
    memory.last = fresh;
    const focused = units(root).some((unit) => unit.matches(":focus"));
    const input = element("div", "input");
    input.setAttribute("role", "group");
    input.setAttribute("aria-label", data.task);
    if (data.image) input.append(guessImage(data.image, memory));
    input.append(guessTexts(data, memory));
    const count = element("p", "count");
    count.setAttribute("role", "status");
    root.replaceChildren(element("p", "task", data.task), input, count);
    setStop(root, memory);
    if (focused) root.querySelector('.unit[tabindex="0"]')?.focus();
  }
  repaint(root, memory);
}

function mark(root, memory, unit) {
  const index = Number(unit.dataset.unit);
  const others = memory.marked.filter((number) => number !== index);
  memory.marked = others.length < memory.marked.length ? others : [...others, index];
  memory.moment = Math.max(Date.now(), memory.moment + 1);
  memory.stop = index;
  setStop(root, memory);
  repaint(root, memory);
  memory.send("marked", { about: memory.about, units: memory.marked, moment: memory.moment });
}

// Left and right follow the reading order, up and down go to the nearest unit of the line above or below.
function next(root, unit, key) {
  const all = units(root);
  const at = all.indexOf(unit);
  if (key === "Home") return all[0];
  if (key === "End") return all[all.length - 1];
  if (key === "ArrowRight") return all[at + 1];
  if (key === "ArrowLeft") return all[at - 1];
  const middle = (node) => {
    const box = node.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2, box.height];
  };
  const [x, y, height] = middle(unit);
  const sign = key === "ArrowDown" ? 1 : -1;
  let nearest;
  let least = Infinity;
  for (const other of all) {
    const [across, down] = middle(other);
    const ahead = sign * (down - y);
    if (ahead > height / 2 && 4 * ahead + Math.abs(across - x) < least) {
      [nearest, least] = [other, 4 * ahead + Math.abs(across - x)];
    }
  }
  return nearest;
}

const KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];

function listenToMarks(root, memory) {
  const unitOf = (event) => event.target.closest?.(".unit");
  root.addEventListener("click", (event) => {
    const unit = unitOf(event);
    if (unit) mark(root, memory, unit);
  });
  root.addEventListener("keydown", (event) => {
    const unit = unitOf(event);
    if (!unit) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (!event.repeat) mark(root, memory, unit);
    } else if (KEYS.includes(event.key)) {
      event.preventDefault();
      const target = next(root, unit, event.key);
      if (!target) return;
      memory.stop = Number(target.dataset.unit);
      setStop(root, memory);
      target.focus();
    }
  });
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  let root = parentElement.querySelector(".crosslight-guess");
  if (!root) {
    root = element("div", "crosslight-guess");
    parentElement.append(root);
    guesses.set(root, { marked: [], moment: 0, stop: -1, last: "", time: 0 });
    listenToMarks(root, guesses.get(root));
  }
  const memory = guesses.get(root);
  if (data.time < memory.time) return; // handed over late: while the module loads, the order is not kept
  Object.assign(memory, { time: data.time, data, send: setTriggerValue });
  // marks that are still on their way to the server are newer than its own; those of another guess are not kept
  const other = data.about !== memory.about;
  if (other || data.moment >= memory.moment) Object.assign(memory, { marked: data.marked, moment: data.moment });
  memory.about = data.about;
  build(root, memory);
}
