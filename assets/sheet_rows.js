// The rows of the score sheet: name, heat map, small curves, metrics beside the random orders, and what opens.

const EXPERIMENTS = ["removed", "kept"];

const WIDTH = 64;
const HEIGHT = 40;

function path(shares, values) {
  return linePath(shares.map((share) => share * WIDTH), values.map((p) => (1 - p) * HEIGHT));
}

// Two small plots: p(class) while the top units are removed, and with only them.
function curveElement(row, data) {
  const box = element("div", "curve");
  for (const experiment of EXPERIMENTS) {
    const svg = drawn("svg", { viewBox: `-1 -2 ${WIDTH + 2} ${HEIGHT + 4}`, role: "img", class: experiment });
    const title = drawn("title", {});
    title.textContent = `${row.name}: probability with the top words ${experiment}, grey the random orders`;
    svg.append(title, drawn("path", { class: "axis", d: `M0 0V${HEIGHT}H${WIDTH}` }));
    if (data.random) {
      const { shares } = data.random;
      const { low, high, mean } = data.random[experiment];
      const back = path([...shares].reverse(), [...low].reverse()).replace("M", "L");
      svg.append(drawn("path", { class: "band", d: `${path(shares, high)}${back}Z` }));
      svg.append(drawn("path", { class: "mean", d: path(shares, mean) }));
    }
    if (row.curve) svg.append(drawn("path", { class: "trace", stroke: row.colour, d: path(row.curve.shares, row.curve[experiment]) }));
    box.append(svg);
  }
  return box;
}

function metricElement(row, metric, place) {
  const value = row.metrics[metric.id];
  const box = element("div", `metric place-${place}`);
  if (!value) return box;
  const name = element("span", "metric-name", `${metric.name} `);
  const number = element("span", "number", value.text);
  box.title = `${metric.name} ${value.exact}. ${metric.meaning} Grey band: 95 % of the random orders.`;
  box.append(name, number);
  if (value.value !== null) box.append(barElement(value, metric));
  return box;
}

// The value as a mark on a line, over the band of the random orders.
function barElement(value, { low, high, band }) {
  const at = (number) => 100 * (high > low ? (number - low) / (high - low) : 0.5);
  const bar = element("span", "bar");
  if (band.length) {
    const random = element("i", "random");
    Object.assign(random.style, { left: `${at(band[0])}%`, width: `${Math.max(2, at(band[1]) - at(band[0]))}%` });
    bar.append(random);
  }
  const mark = element("i", "mark");
  mark.style.left = `${at(value.value)}%`;
  bar.append(mark);
  return bar;
}

function detailElement(row, data) {
  const { idea, caution, source, deviations, facts, legend } = row.detail;
  const box = element("div", "detail");
  box.id = `detail-${row.id}`;
  box.append(element("p", "", idea), labelled("When not to believe it", caution));
  if (facts.length) box.append(labelled("This result", `${row.kind}; ${facts.join("; ")}`));
  const exact = data.metrics.filter((metric) => row.metrics[metric.id]);
  if (exact.length) {
    box.append(labelled("Metrics", exact.map((metric) => `${metric.name} ${row.metrics[metric.id].exact}`).join(", ")));
  }
  const keys = element("p", "legend");
  for (const { colour, text } of legend) {
    const swatch = element("span", "swatch");
    swatch.style.backgroundColor = colour;
    keys.append(swatch, element("span", "", text));
  }
  if (legend.length) box.append(keys);
  box.append(scoresElement(row, data), labelled("Source", source));
  if (deviations.length) {
    const list = element("ul");
    for (const deviation of deviations) list.append(element("li", "", deviation));
    box.append(element("p", "label", "Deviations from the paper"), list);
  }
  return box;
}

function labelled(label, text) {
  const line = element("p");
  line.append(element("span", "label", `${label}: `), text);
  return line;
}

// Every unit with its exact score, the strongest first.
function scoresElement(row, data) {
  const box = element("p", "scores");
  const ranked = Object.entries(row.cells).sort(([, one], [, other]) => one.rank - other.rank);
  for (const [index, cell] of ranked) {
    const entry = element("span", "entry");
    entry.append(element("bdi", "", unitName(data, Number(index))), ` ${cell.score}`);
    box.append(entry);
  }
  return box;
}

function unitName(data, index) {
  return data.segments.flat().find((piece) => piece[1] === index)?.[0] ?? data.image?.patches[index]?.[4] ?? "";
}

function nameElement(row, open) {
  const box = element("div", "name");
  const button = element("button", "open", row.name);
  button.type = "button";
  button.setAttribute("aria-expanded", String(open));
  button.setAttribute("aria-controls", `detail-${row.id}`);
  button.title = `${row.detail.idea} Press for details.`;
  const dot = element("i", "dot");
  dot.style.backgroundColor = row.colour;
  box.append(dot, button);
  box.append(element("div", row.aside ? "score aside" : "score", resting(row)));
  return box;
}

const resting = (row) => row.note || row.aside || (row.status === "failed" ? "failed" : row.range);

function rowElement(row, data) {
  const open = memory.open.has(row.id);
  const full = row.featured || open;
  const box = element("section", full ? "row full" : "row line");
  box.dataset.method = row.id;
  box.dataset.status = row.status;
  box.dataset.group = row.group;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", `${row.name}: arrow keys go through its words`);
  box.classList.toggle("old", row.old || (row.status !== "done" && row.status !== "failed"));
  box.classList.toggle("excluded", Boolean(row.aside));
  box.append(nameElement(row, open), mapElement(row, data), curveElement(row, data));
  for (const [place, metric] of data.metrics.entries()) box.append(metricElement(row, metric, place));
  const agreement = element("div", "agreement", row.agreement);
  agreement.title = "Mean Spearman's ρ with the ranks of the other methods";
  const seconds = element("div", "seconds", row.seconds);
  const progress = element("div", "progress");
  if (row.status === "running") progress.style.width = `${Math.round(100 * row.progress)}%`;
  box.append(agreement, seconds, progress);
  if (open) box.append(detailElement(row, data));
  return box;
}

function sheetHead(data) {
  const head = element("div", "row head");
  const views = element("div", "views");
  views.setAttribute("role", "group");
  views.setAttribute("aria-label", "View");
  for (const view of ["rows", "matrix"]) {
    const button = element("button", "view", view === "rows" ? "Rows" : "Matrix");
    button.type = "button";
    button.dataset.view = view;
    button.setAttribute("aria-pressed", String(data.view === view));
    button.disabled = view === "matrix" && !data.matrix;
    if (button.disabled) button.title = `The matrix shows inputs of up to 40 ${data.image ? "words and patches" : "words"}.`;
    views.append(button);
  }
  head.append(views);
  if (data.view === "matrix" && data.matrix) return head;
  const curve = element("div", "curve", "removed · kept");
  curve.title = "Curves: the probability while the top units are removed, and with only them";
  head.append(element("div", "map"), curve);
  for (const [place, metric] of data.metrics.entries()) {
    const box = element("div", `metric place-${place}`, `${metric.name} ${metric.arrow}`);
    box.title = metric.meaning;
    head.append(box);
  }
  const agreement = element("div", "agreement", "agree");
  agreement.title = "Agreement: mean Spearman's ρ with the ranks of the other methods";
  const seconds = element("div", "seconds", "s");
  seconds.title = "Seconds of computing";
  head.append(agreement, seconds);
  return head;
}

// Rows that stand together: those of one group of the answer, and those that have no group.
function groupsOf(rows) {
  const groups = [];
  for (const row of rows) {
    const last = groups.at(-1);
    if (last && last.group === row.group && last.title === row.title) last.rows.push(row);
    else groups.push({ group: row.group, title: row.title, meaning: row.meaning, rows: [row] });
  }
  return groups;
}

function groupHead({ title, meaning }) {
  const head = element("div", "group", title);
  head.setAttribute("role", "heading");
  head.setAttribute("aria-level", "3");
  head.title = meaning;
  return head;
}

// A line with the names of the rows that are folded.
function moreElement(key, rows) {
  const open = memory.more.has(key);
  const button = element("button", "more", open ? "Show fewer methods" : rows.map((row) => row.name).join(", "));
  button.type = "button";
  button.dataset.more = key;
  button.setAttribute("aria-expanded", String(open));
  button.title = open ? "" : `${rows.length === 1 ? "One more method" : `${rows.length} more methods`}, a line each`;
  return button;
}

function drawRows(root, data) {
  const nodes = [once("head", [data.view, data.matrix, data.metrics], () => sheetHead(data))];
  const common = [data.labels, data.segments, data.removed, data.metrics, data.random, data.image, data.evidence];
  const shared = JSON.stringify(common);
  const make = (row) => once(`row ${row.id}`, [row, memory.open.has(row.id), shared], () => rowElement(row, data));
  for (const [place, group] of groupsOf(data.rows).entries()) {
    const key = `${group.group} ${group.title}`;
    if (group.title) nodes.push(once(`group ${place}`, [group.title, group.meaning], () => groupHead(group)));
    nodes.push(...group.rows.filter((row) => row.featured).map(make));
    const others = group.rows.filter((row) => !row.featured);
    if (!others.length) continue;
    const names = others.map((row) => row.name);
    nodes.push(once(`more ${place}`, [key, names, memory.more.has(key)], () => moreElement(key, others)));
    const rest = element("div", "others");
    rest.hidden = !memory.more.has(key);
    rest.append(...others.map(make));
    nodes.push(rest);
  }
  root.replaceChildren(...nodes);
}
