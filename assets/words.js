// Draws one line per sentence from `data`: who wrote it, the sentence, and what was checked about it. All text is written
// with textContent, never as HTML. `data` is described in app/compare/narratives.py. Hovering or focusing a mentioned word
// shows it in the sentences and in the input of every row of the score sheet.

function linked(tag, className, text, units) {
  const node = element(tag, className, text);
  node.dataset.units = units.join(" ");
  return node;
}

function sentenceElement(entry) {
  const box = element("p", "sentence");
  box.dir = "auto";
  if (entry.problem) box.append(element("span", "problem", entry.problem));
  else if (entry.status === "waiting") box.textContent = "…";
  for (const [text, units] of entry.sentence) box.append(units.length ? linked("span", "word", text, units) : text);
  return box;
}

// The dot repeats the answer, which stands beside it in words; the question is visible where there is no head.
function checksElement(entry, questions) {
  const box = element("div", "checks");
  for (const [number, check] of entry.checks.entries()) {
    const item = element("span", "check");
    item.dataset.state = check.state;
    item.title = check.detail;
    const dot = element("span", "dot");
    dot.setAttribute("aria-hidden", "true");
    item.append(dot, element("span", "question", `${questions[number]}: `), element("span", "answer", check.answer));
    box.append(item);
  }
  return box;
}

function listElement(className, items) {
  const list = element("ul", className);
  for (const item of items) list.append(element("li", "", item));
  return list;
}

function mentionsElement(entry) {
  const box = element("p", "mentions", `Mentions (derived):${entry.mentions.length ? "" : " no word of the input"}`);
  for (const { text, units } of entry.mentions) {
    const chip = linked("button", "chip", text, units);
    chip.type = "button";
    chip.setAttribute("aria-label", `${text}: show where it occurs`);
    box.append(" ", chip);
  }
  return box;
}

// What is shown where a line is opened.
function aboutElement(entry, questions, open) {
  const box = element("div", "about");
  box.hidden = !open;
  if (entry.status === "done") {
    const details = entry.checks.map((check, number) => `${questions[number]}: ${check.answer}. ${check.detail}`);
    box.append(listElement("details", details), mentionsElement(entry));
  }
  for (const narrator of entry.about) {
    const head = element("p", "narrator");
    head.append(element("b", "", narrator.name), ` ${narrator.idea} ${narrator.caution}`);
    box.append(head, element("p", "", [narrator.reading, narrator.seconds].filter(Boolean).join(" ")));
    if (narrator.deviations.length) box.append(element("p", "", "Deviations from the paper:"), listElement("", narrator.deviations));
  }
  return box;
}

function entryElement(entry, questions, open) {
  const box = element("section", `entry${entry.old ? " old" : ""}`);
  box.dataset.narrator = entry.id;
  box.dataset.status = entry.status;
  const name = element("button", "who", entry.name);
  name.type = "button";
  name.title = "What this narrator is, and the checks in full";
  name.setAttribute("aria-expanded", String(open));
  box.append(name, sentenceElement(entry), checksElement(entry, questions), aboutElement(entry, questions, open));
  return box;
}

function headElements(questions) {
  const box = element("div", "entry head");
  box.setAttribute("aria-hidden", "true"); // every answer has its question with it
  const checks = element("div", "checks");
  for (const question of questions) checks.append(element("span", "check", question));
  box.append(element("span", "who"), element("span", "sentence"), checks);
  return box;
}

function reasonsElement({ reasons, whose }) {
  const box = element("div", "people");
  box.append(element("div", "whose", whose));
  for (const reason of reasons) {
    const quote = element("blockquote", "", reason);
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
      window.dispatchEvent(new CustomEvent("crosslight-units", { detail: units.map(Number) })); // the score sheet listens
      for (const node of root.querySelectorAll("[data-units]")) {
        node.classList.toggle("near", node.dataset.units.split(" ").some((unit) => units.includes(unit)));
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
  const focused = root.getRootNode().activeElement?.closest?.(".entry")?.dataset.narrator;
  const list = element("div", "entries");
  list.style.setProperty("--lines", data.lines); // kept when equal sentences merge
  list.append(headElements(data.questions));
  list.append(...data.entries.map((entry) => entryElement(entry, data.questions, memory.open.has(entry.id))));
  root.replaceChildren(element("p", "verdict", data.verdict), element("p", "note", data.note), list);
  if (data.reasons.length) root.append(reasonsElement(data));
  if (focused) root.querySelector(`[data-narrator="${CSS.escape(focused)}"] .who`)?.focus();
  root.onclick = (event) => {
    const name = event.target.closest?.("button.who");
    if (!name) return;
    const box = name.closest(".entry");
    const open = !memory.open.has(box.dataset.narrator);
    open ? memory.open.add(box.dataset.narrator) : memory.open.delete(box.dataset.narrator);
    box.querySelector(".about").hidden = !open;
    name.setAttribute("aria-expanded", String(open));
  };
}
