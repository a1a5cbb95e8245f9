// A text, a pair or an image with a text whose words and patches can be marked: by click, by dragging, or by keyboard.
// `cells` colours them instead. All text is written with textContent.

function unitEditor({ data, label, editable = true, marked = [], suggested = [], cells = null, fixed = false, onChange = () => {} }) {
  const node = element("div", "input");
  node.setAttribute("role", "group");
  node.setAttribute("aria-label", label);
  const editor = { node, editable, fixed, marked: new Set(marked), suggested: new Set(suggested), all: [], gaps: [], onChange };
  if (data.image) node.append(imageOf(data.image, editor, cells));
  node.append(textsOf(data, editor, cells));
  editor.repaint = () => repaintUnits(editor);
  editor.repaint();
  if (cells || fixed) return editor;
  listenToUnits(editor);
  setStop(editor, editor.all[0]);
  return editor;
}

function unitNode(tag, className, name, index, editor, cells) {
  const node = element(tag, className, tag === "span" ? name : undefined);
  node.dataset.unit = index;
  node.dataset.name = name;
  if (cells) {
    const cell = cells[index];
    if (cell) Object.assign(node.style, { backgroundColor: cell.colour, borderBottomWidth: cell.line });
  } else {
    if (!editor.fixed) {
      node.setAttribute("role", "button");
      node.tabIndex = -1;
    }
    editor.all.push(node);
  }
  return node;
}

function imageOf({ src, width, height, patches }, editor, cells) {
  const box = element("div", "image");
  box.style.aspectRatio = `${width} / ${height}`;
  box.style.setProperty("--ratio", width / height);
  const image = element("img");
  image.src = src; // made by the server from the pixels: a data address of a PNG or JPEG file
  image.alt = "The image of this item";
  image.draggable = false;
  box.append(image);
  for (const [index, [left, top, across, down, name]] of Object.entries(patches)) {
    const patch = unitNode("div", "unit patch", name, Number(index), editor, cells);
    Object.assign(patch.style, { left: `${left}%`, top: `${top}%`, width: `${across}%`, height: `${down}%` });
    box.append(patch);
  }
  return box;
}

function textsOf(data, editor, cells) {
  const texts = element("div", "texts");
  for (const [number, pieces] of data.segments.entries()) {
    if (data.labels[number]) texts.append(element("div", "of", data.labels[number]));
    const text = element("div", "text");
    text.dir = "auto";
    let before = -1;
    for (const [place, [characters, index]] of pieces.entries()) {
      if (index >= 0) text.append(unitNode("span", "unit word", characters, index, editor, cells));
      else {
        const gap = element("span", "gap", characters);
        editor.gaps.push([gap, before, pieces[place + 1]?.[1] ?? -1]);
        text.append(gap);
      }
      before = index;
    }
    texts.append(text);
  }
  return texts;
}

function repaintUnits(editor) {
  for (const unit of editor.all) {
    const index = Number(unit.dataset.unit);
    const on = editor.marked.has(index);
    const proposed = editor.suggested.has(index);
    unit.classList.toggle("marked", on);
    unit.classList.toggle("suggested", proposed);
    if (editor.fixed) continue;
    unit.setAttribute("aria-pressed", on ? "true" : "false");
    unit.setAttribute("aria-label", `${unit.dataset.name}${on ? ", marked" : ""}${proposed ? ", suggested" : ""}`);
  }
  for (const [gap, before, after] of editor.gaps) {
    gap.classList.toggle("marked", editor.marked.has(before) && editor.marked.has(after));
  }
}

// One stop of the Tab key: the unit that was reached last, or the first one.
function setStop(editor, stop) {
  for (const unit of editor.all) unit.tabIndex = unit === stop ? 0 : -1;
}

// All units from one to another: of the text those between, of the image those in the rectangle.
function unitsBetween(editor, one, other) {
  if (one.classList.contains("patch") && other.classList.contains("patch")) {
    const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
    const [left, right] = [Math.min(a.left, b.left), Math.max(a.right, b.right)];
    const [top, bottom] = [Math.min(a.top, b.top), Math.max(a.bottom, b.bottom)];
    return editor.all.filter((unit) => {
      const box = unit.getBoundingClientRect();
      const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
      return unit.classList.contains("patch") && x > left && x < right && y > top && y < bottom;
    });
  }
  const [from, to] = [editor.all.indexOf(one), editor.all.indexOf(other)].sort((a, b) => a - b);
  const words = editor.all.slice(from, to + 1);
  return one.classList.contains("patch") || other.classList.contains("patch") ? [one] : words;
}

function setUnits(editor, before, units, on) {
  editor.marked = new Set(before);
  for (const unit of units) {
    if (on) editor.marked.add(Number(unit.dataset.unit));
    else editor.marked.delete(Number(unit.dataset.unit));
  }
  editor.repaint();
  editor.onChange();
}

// Left and right follow the text, up and down go to the nearest unit of the line above or below.
function neighbour(editor, unit, key) {
  const at = editor.all.indexOf(unit);
  const backwards = getComputedStyle(unit.parentElement).direction === "rtl";
  if (key === "Home") return editor.all[0];
  if (key === "End") return editor.all[editor.all.length - 1];
  if (key === "ArrowRight") return editor.all[at + (backwards ? -1 : 1)];
  if (key === "ArrowLeft") return editor.all[at + (backwards ? 1 : -1)];
  const middle = (node) => {
    const box = node.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2, box.height];
  };
  const [x, y, height] = middle(unit);
  const sign = key === "ArrowDown" ? 1 : -1;
  let nearest;
  let least = Infinity;
  for (const other of editor.all) {
    const [across, down] = middle(other);
    const ahead = sign * (down - y);
    if (ahead > height / 2 && 4 * ahead + Math.abs(across - x) < least) {
      [nearest, least] = [other, 4 * ahead + Math.abs(across - x)];
    }
  }
  return nearest;
}

const MOVES = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];

function listenToKeys(editor) {
  let anchor = null; // where Shift was pressed first
  editor.node.addEventListener("keydown", (event) => {
    const unit = event.target.closest?.(".unit");
    if (!unit || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (event.repeat || !editor.editable) return;
      anchor = null;
      setUnits(editor, editor.marked, [unit], !editor.marked.has(Number(unit.dataset.unit)));
    } else if (MOVES.includes(event.key)) {
      event.preventDefault();
      const target = neighbour(editor, unit, event.key);
      if (!target) return;
      if (event.shiftKey && editor.editable) {
        if (!anchor) anchor = { unit, before: new Set(editor.marked) };
        setUnits(editor, anchor.before, unitsBetween(editor, anchor.unit, target), true);
      } else anchor = null;
      setStop(editor, target);
      target.focus();
    }
  });
  editor.node.addEventListener("focusout", (event) => {
    if (!editor.node.contains(event.relatedTarget)) anchor = null;
  });
}

// A press that does not leave its unit toggles it; one that does marks (or unmarks) all units on its way. A finger that
// moves up or down scrolls instead: the browser then cancels the press.
function listenToUnits(editor) {
  listenToKeys(editor);
  let press = null;
  const unitAt = (event) =>
    editor.node.getRootNode().elementFromPoint(event.clientX, event.clientY)?.closest?.(".unit");
  const undo = () => {
    if (press) setUnits(editor, press.before, [], true);
    press = null;
  };
  editor.node.addEventListener("pointerdown", (event) => {
    const unit = event.target.closest?.(".unit");
    if (!unit || event.button !== 0 || !editor.editable) return;
    if (event.pointerType === "mouse") event.preventDefault(); // selects no text
    event.target.releasePointerCapture?.(event.pointerId); // fingers are captured by the unit they touch first
    const before = new Set(editor.marked);
    press = { unit, before, on: !before.has(Number(unit.dataset.unit)), last: unit };
    setStop(editor, unit);
    unit.focus({ preventScroll: true });
  });
  editor.node.addEventListener("pointermove", (event) => {
    const unit = press && unitAt(event);
    if (!unit || unit === press.last || !editor.node.contains(unit)) return;
    press.last = unit;
    setUnits(editor, press.before, unitsBetween(editor, press.unit, unit), press.on);
  });
  const finish = () => {
    if (press) setUnits(editor, press.before, unitsBetween(editor, press.unit, press.last), press.on);
    press = null;
  };
  editor.node.addEventListener("pointerup", finish);
  editor.node.addEventListener("pointercancel", undo);
  editor.node.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse") finish();
  });
}
