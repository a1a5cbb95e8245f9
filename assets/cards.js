// Draws one card per method from `data` and reports clicks. All text is written with textContent, never as HTML;
// colours arrive ready-made. `data` is described in app/cards.py.

const describe = (cell) => (cell ? `${cell.score}, rank ${cell.rank} of ${cell.of}` : "no score yet");

function unitSpan(piece, card, first, data) {
  const [text, index] = piece;
  if (index < 0) return document.createTextNode(text);
  const removed = data.removed.includes(index);
  const cell = card.cells[index];
  const span = element("span", "unit", text);
  span.dataset.unit = index;
  span.setAttribute("role", "button");
  span.setAttribute("aria-pressed", removed ? "true" : "false");
  if (first) span.tabIndex = 0;
  if (removed) {
    span.classList.add("removed");
    span.setAttribute("aria-label", `${text}, removed; press to bring it back`);
  } else {
    span.setAttribute("aria-label", `${text}, ${describe(cell)}; press to remove it`);
    if (cell) {
      span.style.backgroundColor = cell.colour;
      span.style.borderBottomWidth = cell.line;
      if (cell.top) span.classList.add("top");
    }
  }
  return span;
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
  box.append(legend, element("div", "said", card.note));
  box.append(element("div", card.status === "failed" ? "foot problem" : "foot", card.foot));
  return box;
}

function speak(root, data, index) {
  // The exact score of one unit in every card at once; null clears.
  for (const box of root.children) {
    const card = data.cards.find((each) => each.id === box.dataset.method);
    const said = box.querySelector(".said");
    for (const span of box.querySelectorAll(".unit")) span.classList.toggle("near", Number(span.dataset.unit) === index);
    if (index === null) said.textContent = card.note;
    else {
      const word = data.segments.flat().find((piece) => piece[1] === index)?.[0] ?? "";
      said.textContent = `${word}  ${data.removed.includes(index) ? "removed" : describe(card.cells[index])}`;
    }
  }
}

const remembered = new WeakMap();

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  let root = parentElement.querySelector(".crosslight-cards");
  if (!root) {
    root = element("div", "crosslight-cards");
    parentElement.append(root);
    const memory = { open: new Set(), last: "", hover: null, drawn: 0 };
    remembered.set(root, memory);
    window.addEventListener("crosslight-units", (event) => {
      // words that a sentence mentions: outlined in every heat map
      for (const span of root.querySelectorAll(".unit")) {
        span.classList.toggle("near", event.detail.includes(Number(span.dataset.unit)));
      }
    });
    root.addEventListener("focusin", (event) => {  // there is no onfocusin
      const span = event.target.closest?.(".unit");
      if (span) speak(root, memory.data, Number(span.dataset.unit));
    });
  }
  const memory = remembered.get(root);
  if (data.drawn < memory.drawn) return; // handed over late: while the module loads, the order is not kept
  memory.drawn = data.drawn;
  memory.data = data;
  memory.send = setTriggerValue;
  const narrow = root.clientWidth > 0 && root.clientWidth < 560;
  if (narrow !== data.narrow) component.setStateValue("narrow", narrow);
  const fresh = JSON.stringify({ ...data, drawn: 0 });
  if (fresh === memory.last) return;
  memory.last = fresh;
  const scrolled = [...root.querySelectorAll(".text")].map((text) => text.scrollTop);
  const focused = root.getRootNode().activeElement?.dataset?.unit;
  root.replaceChildren(...data.cards.map((card, i) => cardElement(card, i, data, memory.open.has(card.id))));
  root.querySelectorAll(".text").forEach((text, i) => (text.scrollTop = scrolled[i] ?? 0));
  if (focused !== undefined) root.querySelector(`.unit[data-unit="${focused}"][tabindex]`)?.focus();
  if (memory.hover !== null) speak(root, data, memory.hover);

  const unitOf = (event) => event.target.closest?.(".unit");
  root.onpointerover = (event) => {
    const span = unitOf(event);
    memory.hover = span ? Number(span.dataset.unit) : null;
    speak(root, memory.data, memory.hover);
  };
  root.onpointerleave = () => {
    memory.hover = null;
    speak(root, memory.data, null);
  };
  root.onclick = (event) => {
    const span = unitOf(event);
    if (span) return memory.send("toggled", Number(span.dataset.unit));
    askedAbout(event, memory.open, "method");
  };
  root.onkeydown = (event) => {
    const span = unitOf(event);
    if (span && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      memory.send("toggled", Number(span.dataset.unit));
    }
  };
}
