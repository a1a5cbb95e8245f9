// Draws the score sheet from `data`: a row per method, or the matrix of methods and words; and reports what is pressed.
// All text is written with textContent, never as HTML; colours arrive ready-made. `data` is described in
// app/compare/score_sheet.py. What a person has opened and where the focus is outlives a new drawing.

const SLACK = 6; // pixels by which a finger or a hand moves during a press
const TOUCH = 600; // milliseconds after a press in which the browser's own click is not a second one

// There is one sheet on a page; what is remembered outlives a new mounting of it.
const memory = {
  root: null, data: null, send: () => {}, time: 0, last: "", open: new Set(), more: new Set(), numbers: false, hover: null,
  pressed: null, input: "", touched: null, handled: 0, made: new Map(), placed: new Map(),
};

// The element that was made of the same things before, or a new one.
function once(name, of, make) {
  const key = JSON.stringify(of);
  const before = memory.made.get(name);
  if (before?.key === key) return before.node;
  const node = make();
  memory.made.set(name, { key, node });
  return node;
}

function outline(units) {
  for (const node of memory.root.querySelectorAll(".unit.near")) node.classList.remove("near");
  for (const unit of units) {
    for (const node of memory.root.querySelectorAll(`.unit[data-unit="${Number(unit)}"]`)) node.classList.add("near");
  }
}

// The exact score of one unit in every row at once; null clears.
function showScores(index) {
  const { data } = memory;
  memory.hover = index;
  outline(index === null ? [] : [index]);
  for (const box of memory.root.querySelectorAll(".row[data-method]")) {
    const row = data.rows.find((row) => row.id === box.dataset.method);
    const line = box.querySelector(".score");
    if (!row || !line) continue;
    line.textContent = index === null ? resting(row) : data.removed.includes(index) ? "removed" : describe(row.cells[index]);
  }
}

// A row of a long text shows its first decisive unit, a few lines below its edge, unless a person has scrolled the row.
// `scrolled` is undefined for a row that was not there before.
function place(row, { first }, scrolled) {
  const map = row.querySelector(".map");
  const before = memory.placed.get(row.dataset.method);
  map.scrollTop = scrolled ?? 0;
  const unit = row.matches(".full") && first >= 0 && map.clientHeight ? map.querySelector(`.unit[data-unit="${Number(first)}"]`) : null;
  if (!unit) return memory.placed.delete(row.dataset.method);
  if (scrolled !== undefined && before?.unit === first && before.input === memory.input) return;
  if (scrolled && scrolled !== before?.top) return;
  const below = unit.getBoundingClientRect().top - map.getBoundingClientRect().top + map.scrollTop;
  map.scrollTop = below > map.clientHeight / 2 ? below - map.clientHeight / 4 : 0;
  if (below <= map.clientHeight / 2 || map.scrollTop) memory.placed.set(row.dataset.method, { unit: first, input: memory.input, top: map.scrollTop });
}

function draw() {
  const { data, root } = memory;
  const active = root.getRootNode().activeElement;
  const at = active && root.contains(active) ? [active.closest("[data-method]")?.dataset.method, active.dataset.unit] : null;
  const scrolled = new Map([...root.querySelectorAll("[data-method]")].map((row) => [row.dataset.method, row.querySelector(".map")?.scrollTop ?? 0]));
  (data.view === "matrix" && data.matrix ? drawMatrix : drawRows)(root, data);
  for (const row of root.querySelectorAll(".row[data-method]")) place(row, data, scrolled.get(row.dataset.method));
  if (at && root.getRootNode().activeElement !== active) {
    const row = at[0] && root.querySelector(`[data-method="${CSS.escape(at[0])}"]`);
    (row || root).querySelector(at[1] === undefined ? ".open" : `.unit[data-unit="${Number(at[1])}"]`)?.focus({ preventScroll: true });
  }
  if (memory.hover !== null) showScores(memory.hover);
}

// Each press has its moment, by which the server knows one that it is told of twice.
function toggle(unit) {
  memory.handled = Date.now();
  memory.send("toggled", { unit: Number(unit), moment: Date.now() });
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// From a patch to the nearest one in the direction of an arrow key.
function neighbour(patch, [x, y]) {
  const middle = (node) => [node.offsetLeft + node.offsetWidth / 2, node.offsetTop + node.offsetHeight / 2];
  const [left, top] = middle(patch);
  let nearest = null;
  let least = Infinity;
  for (const other of patch.parentElement.querySelectorAll(".patch")) {
    const [across, down] = [middle(other)[0] - left, middle(other)[1] - top];
    const [ahead, aside] = [across * x + down * y, Math.abs(across * y) + Math.abs(down * x)];
    if (ahead > 1 && ahead + 3 * aside < least) [nearest, least] = [other, ahead + 3 * aside];
  }
  return nearest;
}

// One Tab stop per row, its name; arrow keys go from there through its units and to the rows above and below.
function move(node, key) {
  const row = node.closest(".row, table");
  const stops = [...row.querySelectorAll(".open, .unit")];
  if (node.classList.contains("patch")) {
    const next = neighbour(node, ARROWS[key]);
    if (next) return next;
  }
  if (key === "ArrowLeft" || key === "ArrowRight") return stops[stops.indexOf(node) + (key === "ArrowRight" ? 1 : -1)];
  const rows = [...memory.root.querySelectorAll(".row[data-method]")].filter((candidate) => candidate.offsetParent !== null);
  const same = node.dataset.unit === undefined ? ".open" : `.unit[data-unit="${node.dataset.unit}"]`;
  const others = key === "ArrowDown" ? rows.slice(rows.indexOf(row) + 1) : rows.slice(0, Math.max(0, rows.indexOf(row))).reverse();
  return others.find((other) => other.querySelector(same))?.querySelector(same);
}

const unitOf = (event) => event.target.closest?.(".unit") ?? null;

function listen(root) {
  root.addEventListener("pointerdown", (event) => {
    const unit = unitOf(event);
    if (!unit) memory.touched = null;
    memory.pressed = !unit || event.button !== 0 ? null : {
      unit: unit.dataset.unit, touch: event.pointerType === "touch", x: event.clientX, y: event.clientY, input: memory.input,
    };
  });
  // Rows move while results come: a press counts for its word where the pointer did not move, whatever lies below it now.
  const release = (event) => {
    if (!root.isConnected) return document.removeEventListener("pointerup", release, true);
    const pressed = memory.pressed;
    memory.pressed = null;
    if (!pressed || pressed.input !== memory.input) return;
    const unit = event.composedPath()[0].closest?.(".unit");
    const still = Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) <= SLACK;
    if (!still && pressed.unit !== unit?.dataset.unit) return;
    memory.handled = Date.now();
    if (pressed.touch && memory.touched !== pressed.unit) {
      memory.touched = pressed.unit; // the first touch reads the word, the second one removes it
      return showScores(Number(pressed.unit));
    }
    memory.touched = null;
    toggle(pressed.unit);
  };
  document.addEventListener("pointerup", release, true);
  root.addEventListener("pointercancel", () => (memory.pressed = null));
  root.addEventListener("focusin", (event) => {
    const unit = unitOf(event);
    if (unit && !memory.pressed) showScores(Number(unit.dataset.unit));
  });
  root.addEventListener("pointerover", (event) => {
    const unit = unitOf(event);
    const index = unit ? Number(unit.dataset.unit) : null;
    if (event.pointerType !== "touch" && memory.hover !== index) showScores(index);
    const row = event.target.closest?.("[data-method]");
    window.dispatchEvent(new CustomEvent("crosslight-method", { detail: row?.dataset.method ?? null }));
  });
  root.addEventListener("pointerleave", (event) => {
    window.dispatchEvent(new CustomEvent("crosslight-method", { detail: null }));
    if (event.pointerType !== "touch") showScores(null);
  });
  root.addEventListener("click", (event) => {
    const unit = unitOf(event);
    if (unit) return Date.now() - memory.handled > TOUCH ? toggle(unit.dataset.unit) : undefined; // from a screen reader
    const button = event.target.closest?.("button");
    if (!button) return;
    if (button.classList.contains("open")) {
      const id = button.closest("[data-method]").dataset.method;
      memory.open.has(id) ? memory.open.delete(id) : memory.open.add(id);
    } else if (button.dataset.view) {
      memory.data = { ...memory.data, view: button.dataset.view };
      memory.state("view", button.dataset.view);
    } else if (button.dataset.numbers !== undefined) memory.numbers = !memory.numbers;
    else if (button.dataset.more !== undefined) {
      const key = button.dataset.more;
      memory.more.has(key) ? memory.more.delete(key) : memory.more.add(key);
    }
    draw();
  });
  root.addEventListener("keydown", (event) => {
    const node = event.target.closest?.(".unit, .open");
    if (!node) return;
    if (node.classList.contains("unit") && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      if (!event.repeat) toggle(node.dataset.unit);
    } else if (ARROWS[event.key]) {
      event.preventDefault();
      move(node, event.key)?.focus({ preventScroll: true });
    }
  });
}

window.addEventListener("crosslight-units", (event) => {
  if (memory.root) outline(event.detail); // words that a sentence mentions: outlined in every heat map
});

export default function (component) {
  const { data, parentElement, setTriggerValue, setStateValue } = component;
  let root = parentElement.querySelector(".crosslight-sheet");
  if (!root) {
    root = element("div", "crosslight-sheet");
    parentElement.append(root);
    memory.last = "";
    listen(root);
  }
  const late = root === memory.root && data.time < memory.time; // while the module loads, the order is not kept
  Object.assign(memory, { root, send: setTriggerValue, state: setStateValue });
  if (late) return;
  const input = JSON.stringify([data.segments, data.image?.src]);
  if (input !== memory.input) Object.assign(memory, { input, touched: null, hover: null });
  Object.assign(memory, { time: data.time, data });
  const narrow = root.clientWidth > 0 && root.clientWidth < 560;
  if (narrow !== data.narrow) setStateValue("narrow", narrow);
  root.style.setProperty("--opacity", data.opacity);
  const fresh = JSON.stringify({ ...data, time: 0, opacity: 0 });
  if (fresh === memory.last) return;
  memory.last = fresh;
  draw();
}
