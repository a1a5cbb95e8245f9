// Draws one card per narrator from `data`. All text is written with textContent, never as HTML. `data` is described in
// app/compare/narratives.py. Hovering or focusing a mentioned word shows it in the sentences and in the input of every card.

function linked(tag, className, text, units) {
  const node = element(tag, className, text);
  node.dataset.units = units.join(" ");
  return node;
}

function sentenceElement(card) {
  const box = element("p", "sentence");
  box.dir = "auto";
  if (card.status !== "done") box.textContent = card.status === "waiting" ? "…" : "";
  for (const [text, units] of card.sentence) box.append(units.length ? linked("span", "word", text, units) : text);
  return box;
}

function chips(card) {
  const box = element("div", "chips");
  if (card.status !== "done") return box;
  box.append(element("span", "of", `mentions (derived):${card.mentions.length ? "" : " no word of the input"}`));
  for (const { text, units } of card.mentions) {
    const chip = linked("button", "chip", text, units);
    chip.type = "button";
    chip.setAttribute("aria-label", `${text}: show where it occurs`);
    box.append(chip);
  }
  return box;
}

function inputElement(card, data) {
  const box = element("div", "input");
  const mentioned = new Set(card.mentions.flatMap((each) => each.units));
  for (const [number, parts] of data.segments.entries()) {
    if (data.labels[number]) box.append(element("div", "of", data.labels[number]));
    const text = element("div", "text");
    text.dir = "auto";
    for (const [piece, index] of parts) text.append(mentioned.has(index) ? linked("span", "unit", piece, [index]) : piece);
    box.append(text);
  }
  return box;
}

function cautionElement(card, open) {
  const box = element("div", "caution");
  box.hidden = !open;
  box.append(element("p", "", card.idea), element("p", "", card.caution));
  const list = element("ul");
  for (const each of card.deviations) list.append(element("li", "", each));
  if (card.deviations.length) box.append(element("p", "", "Deviations from the paper:"), list);
  return box;
}

function cardElement(card, data, open) {
  const box = element("section", "card");
  box.dataset.narrator = card.id;
  box.dataset.status = card.status;
  const head = headElement(card, [element("span", "badge", "generated"), element("span", "gap")], open);
  const verdict = element("div", "verdict", card.verdict ? `${card.mark} ${card.verdict}` : "");
  box.append(head, cautionElement(card, open), sentenceElement(card), verdict);
  box.append(element("div", "reading", card.reading), chips(card), inputElement(card, data));
  box.append(element("div", card.status === "failed" ? "foot problem" : "foot", card.foot));
  return box;
}

function reasonsElement({ reasons, whose }) {
  const box = element("div", "people");
  box.append(element("div", "of", whose));
  for (const each of reasons) {
    const quote = element("blockquote", "", each);
    quote.dir = "auto";
    box.append(quote);
  }
  return box;
}

const remembered = new WeakMap();

export default function (component) {
  const { data, parentElement } = component;
  let root = parentElement.querySelector(".crosslight-words");
  if (!root) {
    root = element("div", "crosslight-words");
    parentElement.append(root);
    remembered.set(root, { open: new Set(), last: "", time: 0 });
    const near = (event) => {
      const units = event?.target.closest?.("[data-units]")?.dataset.units.split(" ") ?? [];
      window.dispatchEvent(new CustomEvent("crosslight-units", { detail: units.map(Number) })); // the heat maps listen
      for (const each of root.querySelectorAll("[data-units]")) {
        each.classList.toggle("near", each.dataset.units.split(" ").some((unit) => units.includes(unit)));
      }
    };
    root.addEventListener("pointerover", near);
    root.addEventListener("focusin", near);
    root.addEventListener("pointerleave", () => near());
    root.addEventListener("focusout", () => near());
  }
  const memory = remembered.get(root);
  if (data.time < memory.time) return; // handed over late: while the module loads, the order is not kept
  memory.time = data.time;
  const fresh = JSON.stringify({ ...data, time: 0 });
  if (fresh === memory.last) return;
  memory.last = fresh;
  const grid = element("div", "grid");
  grid.append(...data.cards.map((card) => cardElement(card, data, memory.open.has(card.id))));
  root.replaceChildren(element("p", "note", data.note), grid);
  if (data.reasons.length) root.append(reasonsElement(data));
  root.onclick = (event) => {
    toggleCaution(event, memory.open, "narrator");
  };
}
