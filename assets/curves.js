// Draws p(class) along the removal and the keeping of the top units, two plots side by side. `data` is described in
// app/compare/sheet_rows.py. Featured methods are in colour with their names at the end; the others are grey until they are
// pointed at or pressed in the list below the plots.

const PANELS = ["removed", "kept"];
const [TOP, BOTTOM, LEFT, LABELS] = [28, 44, 46, 150]; // pixels around a plot
const LINE = 15; // pixels between two names

const memory = { root: null, data: null, time: 0, last: "", pinned: new Set(), near: null, share: null, width: 0 };

function scales(width, height) {
  const x = (share) => LEFT + share * (width - LEFT - LABELS);
  const y = (p) => TOP + (1 - p) * (height - TOP - BOTTOM);
  return { x, y };
}

function path({ x, y }, shares, values) {
  return linePath(shares.map(x), values.map(y));
}

function frame(svg, scale, panel, width, height) {
  const { x, y } = scale;
  svg.append(drawn("text", { x: LEFT, y: 16, class: "title" }, memory.data.titles[panel]));
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    svg.append(drawn("path", { class: "grid", d: `M${x(0)} ${y(tick)}H${x(1)}` }));
    svg.append(drawn("text", { x: LEFT - 6, y: y(tick) + 4, class: "tick end" }, `${100 * tick} %`));
    svg.append(drawn("text", { x: x(tick), y: y(0) + 16, class: "tick middle" }, `${100 * tick} %`));
  }
  svg.append(drawn("text", { x: x(0.5), y: height - 8, class: "tick middle" }, memory.data.axes[panel]));
}

function band(svg, scale, { shares }, { low, high, mean }) {
  const back = path(scale, [...shares].reverse(), [...low].reverse()).replace("M", "L");
  svg.append(drawn("path", { class: "band", d: `${path(scale, shares, high)}${back}Z` }));
  svg.append(drawn("path", { class: "mean", d: path(scale, shares, mean) }));
}

// As drawn: on the straight line between the two nearest points.
const at = (shares, values, share) => {
  const right = Math.max(1, shares.findIndex((place) => place >= share));
  const part = (share - shares[right - 1]) / (shares[right] - shares[right - 1]);
  return values[right - 1] + part * (values[right] - values[right - 1]);
};

// Names at the right end, as high as their lines lie on average, and far enough apart to be read.
function names(svg, { x, y }, entries, height) {
  const placed = entries.map((label) => ({ ...label, y: y(label.level) })).sort((one, other) => one.y - other.y);
  const [first, last] = [TOP + 6, height - BOTTOM];
  placed.forEach((label, i) => (label.y = Math.max(label.y, i ? placed[i - 1].y + LINE : first)));
  placed.reverse().forEach((label, i) => (label.y = Math.min(label.y, i ? placed[i - 1].y - LINE : last)));
  for (const label of placed) {
    const text = drawn("text", { x: x(1) + 10, y: label.y + 4, class: "label" }, label.text);
    text.style.setProperty("--line", label.colour);
    svg.append(text);
  }
}

const inColour = (line) => line.featured || memory.pinned.has(line.id) || memory.near === line.id;

function panelElement(panel, width, height) {
  const { data, share } = memory;
  const key = PANELS[panel];
  const scale = scales(width, height);
  const svg = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": data.titles[panel] });
  frame(svg, scale, panel, width, height);
  if (data.random) band(svg, scale, data.random, data.random[key]);
  if (data.percent) svg.append(drawn("path", { class: "cut", d: `M${scale.x(data.percent / 100)} ${scale.y(1)}V${scale.y(0)}` }));
  const labels = [];
  const value = (shares, values) => (share === null ? "" : ` ${at(shares, values, share).toFixed(2)}`);
  for (const line of [...data.lines].sort((one, other) => inColour(one) - inColour(other))) {
    const coloured = inColour(line);
    const stroke = drawn("path", { class: coloured ? `trace ${line.dash}` : "trace grey", d: path(scale, line.shares, line[key]) });
    if (coloured) stroke.style.stroke = line.colour;
    if (memory.near === line.id) stroke.classList.add("near");
    const target = drawn("path", { class: "target", d: path(scale, line.shares, line[key]) });
    target.dataset.line = line.id;
    svg.append(stroke, target);
    if (panel === 0 && data.reverse && coloured) {
      const back = drawn("path", { class: "trace reverse", d: path(scale, line.reverse.shares, line.reverse.values) });
      back.style.stroke = line.colour;
      svg.append(back);
    }
    const level = line[key].reduce((sum, height) => sum + height, 0) / line[key].length;
    if (coloured) labels.push({ text: `${line.name}${value(line.shares, line[key])}`, colour: line.colour, level });
  }
  if (data.random) {
    const { mean } = data.random[key];
    const level = mean.reduce((sum, height) => sum + height, 0) / mean.length;
    labels.push({ text: `Random${value(data.random.shares, mean)}`, colour: "currentColor", level });
  }
  names(svg, scale, labels, height);
  if (share !== null) {
    svg.append(drawn("path", { class: "cursor", d: `M${scale.x(share)} ${scale.y(1)}V${scale.y(0)}` }));
    svg.append(drawn("text", { x: scale.x(share), y: scale.y(1) - 4, class: "tick middle" }, `${Math.round(100 * share)} %`));
  }
  return svg;
}

function draw() {
  const { root, data } = memory;
  const width = Math.max(280, root.clientWidth);
  memory.width = width;
  const beside = width >= 760;
  const plot = beside ? Math.floor((width - 16) / 2) : width;
  const plots = element("div", "plots");
  plots.append(...PANELS.map((_, panel) => panelElement(panel, plot, 340)));
  const list = element("div", "list");
  for (const line of data.lines) {
    const chip = element("button", line.featured ? "chip featured" : "chip", line.name);
    chip.type = "button";
    chip.dataset.line = line.id;
    chip.setAttribute("aria-pressed", String(line.featured || memory.pinned.has(line.id)));
    chip.disabled = line.featured;
    chip.style.setProperty("--line", line.colour);
    list.append(chip);
  }
  root.replaceChildren(plots, list);
}

function near(id) {
  if (memory.near === id) return;
  memory.near = id;
  redraw();
}

// Only the plots, so that a button keeps the focus.
function redraw() {
  const { root } = memory;
  const plot = root.querySelector("svg")?.clientWidth;
  if (!plot) return;
  root.querySelector(".plots").replaceChildren(...PANELS.map((_, panel) => panelElement(panel, plot, 340)));
}

function listen(root) {
  root.addEventListener("pointermove", (event) => {
    const svg = event.target.closest?.("svg");
    const box = svg?.getBoundingClientRect();
    const share = box ? (event.clientX - box.left - LEFT) / (box.width - LEFT - LABELS) : null;
    memory.share = share !== null && share >= 0 && share <= 1 ? share : null;
    memory.near = event.target.closest?.("[data-line]")?.dataset.line ?? null;
    redraw();
  });
  root.addEventListener("pointerleave", () => {
    Object.assign(memory, { share: null, near: null });
    redraw();
  });
  root.addEventListener("focusin", (event) => near(event.target.dataset?.line ?? null));
  root.addEventListener("focusout", () => near(null));
  root.addEventListener("click", (event) => {
    const chip = event.target.closest?.("button.chip");
    if (!chip) return;
    const id = chip.dataset.line;
    memory.pinned.has(id) ? memory.pinned.delete(id) : memory.pinned.add(id);
    chip.setAttribute("aria-pressed", String(memory.pinned.has(id)));
    redraw();
  });
  new ResizeObserver(() => {
    if (memory.data && Math.abs(root.clientWidth - memory.width) > 2) draw();
  }).observe(root);
}

window.addEventListener("crosslight-method", (event) => {
  if (memory.root) near(event.detail); // the row that is pointed at in the score sheet
});

export default function (component) {
  const { data, parentElement } = component;
  let root = parentElement.querySelector(".crosslight-curves");
  if (!root) {
    root = element("div", "crosslight-curves");
    parentElement.append(root);
    Object.assign(memory, { root, last: "" });
    listen(root);
  }
  if (root === memory.root && data.time < memory.time) return; // handed over late: while the module loads, the order is not kept
  Object.assign(memory, { root, data, time: data.time });
  const fresh = JSON.stringify({ ...data, time: 0 });
  if (fresh === memory.last) return;
  memory.last = fresh;
  draw();
}
