// One item of an annotation, one task at a time. `data` is described in app/annotate/payload.py. What is confirmed goes
// to the server as one trigger; the page moves on when the server has stored it. Until then a draft stays in the tab,
// also when the person goes back to an earlier item.

const annotations = new WeakMap();
const PATIENCE = 15000; // milliseconds after which the buttons work again
const DRAFTS = "crosslight annotation drafts";
const KEPT = 20; // drafts, of the items that were touched last

function storedDrafts() {
  try {
    return JSON.parse(sessionStorage.getItem(DRAFTS) ?? "null") ?? [];
  } catch {
    return [];
  }
}

function storeDrafts(drafts) {
  try {
    sessionStorage.setItem(DRAFTS, JSON.stringify(drafts.slice(0, KEPT)));
  } catch {
    // without storage a reload loses what is not confirmed
  }
}

function storedDraft(key) {
  return storedDrafts().find((draft) => draft.key === key) ?? null;
}

function storeDraft(draft) {
  storeDrafts([draft, ...storedDrafts().filter(({ key }) => key !== draft.key)]);
}

function dropDraft(key) {
  storeDrafts(storedDrafts().filter((draft) => draft.key !== key));
}

function actionButton(text, className, pressed) {
  const button = element("button", className, text);
  button.type = "button";
  button.addEventListener("click", pressed);
  return button;
}

function seconds(memory) {
  const running = memory.since === null ? 0 : performance.now() - memory.since;
  return (memory.elapsed + running) / 1000;
}

// Only while the tab is visible.
function keepTime(memory) {
  const now = performance.now();
  if (memory.since !== null) memory.elapsed += now - memory.since;
  memory.since = document.hidden ? null : now;
}

function keepDraft(memory) {
  const { data, task, parts } = memory;
  storeDraft({
    key: data.key,
    answer: task.draft(),
    flagged: parts.flag.checked,
    comment: parts.comment.value,
    seconds: seconds(memory),
  });
}

function progressOf({ done, skipped, total }) {
  const box = element("div", "progress");
  const bar = element("progress");
  Object.assign(bar, { value: done, max: Math.max(total, 1) });
  bar.setAttribute("aria-label", "Items that you have confirmed");
  const rest = skipped ? `, ${skipped} skipped` : "";
  box.append(bar, element("span", "", `${done} of ${total}${rest}`));
  return box;
}

function headOf(data) {
  const head = element("div", "head");
  const title = element("h2", "", data.title);
  head.append(title);
  if (data.step) head.append(element("span", "step", data.step));
  const again = data.first_counts ? "the results count your first answer, from before you saw more" : "confirm again to replace it";
  if (data.revisiting) head.append(element("span", "step", `already confirmed; ${again}`));
  const nodes = [progressOf(data.progress), head, element("p", "instruction", data.instruction)];
  if (data.prediction) nodes.push(element("p", "prediction", data.prediction));
  return nodes;
}

function notesOf(memory, draft) {
  const { data } = memory;
  const flagLabel = element("label", "choice");
  const flag = element("input");
  Object.assign(flag, { type: "checkbox", checked: draft.flagged ?? data.flagged });
  flagLabel.append(flag, element("span", "", "Flag this item"));
  const commentLabel = element("label", "own", "Comment (optional)");
  const comment = element("textarea");
  Object.assign(comment, { value: draft.comment ?? data.comment, rows: 2, maxLength: 2000 });
  commentLabel.append(comment);
  const more = element("details", "more");
  more.open = Boolean(comment.value || flag.checked);
  more.append(element("summary", "", "Flag or comment"), flagLabel, commentLabel);
  Object.assign(memory.parts, { flag, comment });
  for (const box of [flag, comment]) box.addEventListener("input", () => keepDraft(memory));
  return more;
}

function act(root, memory, action) {
  const { task, data, parts } = memory;
  if (memory.waiting) return;
  const answer = action === "confirm" ? task.answer() : null;
  if (action === "confirm" && !answer) {
    parts.problem.textContent = task.missing;
    parts.status.textContent = "";
    return;
  }
  parts.problem.textContent = "";
  if (action === "keep") dropDraft(data.key);
  else keepDraft(memory);
  memory.waiting = crypto.randomUUID?.() ?? `${Date.now()} ${Math.random()}`;
  memory.refocus = root.contains(root.getRootNode().activeElement);
  setBusy(memory, true);
  parts.status.textContent = action === "confirm" ? "Storing …" : "";
  memory.send("done", {
    id: memory.waiting,
    key: data.key,
    action,
    answer,
    seconds: seconds(memory),
    flagged: parts.flag.checked,
    comment: parts.comment.value,
  });
  const sent = memory.waiting;
  setTimeout(() => {
    if (memory.waiting !== sent) return;
    memory.waiting = "";
    setBusy(memory, false);
    parts.status.textContent = "";
    parts.problem.textContent = "The server has not answered. Your work is kept in this tab. Confirm again.";
  }, PATIENCE);
}

function setBusy(memory, busy) {
  for (const button of memory.parts.buttons) button.disabled = busy;
}

function buttonsOf(root, memory) {
  const { data, parts } = memory;
  const confirm = actionButton(data.revisiting ? "Confirm again" : "Confirm", "confirm", () => act(root, memory, "confirm"));
  confirm.title = "Ctrl + Enter";
  parts.buttons = [confirm];
  if (data.revisiting) parts.buttons.push(actionButton("Keep as it was", "", () => act(root, memory, "keep")));
  else if (data.can_skip) parts.buttons.push(actionButton("Skip", "", () => act(root, memory, "skip")));
  if (data.can_undo) {
    const back = actionButton("Back", "", () => act(root, memory, "undo"));
    back.title = "Returns to your last answer. It stays until you confirm another.";
    parts.buttons.push(back);
  }
  const row = element("div", "buttons");
  row.append(...parts.buttons, parts.status);
  return row;
}

function buildItem(root, memory) {
  const { data } = memory;
  const draft = storedDraft(data.key) ?? {};
  Object.assign(memory, { key: data.key, elapsed: (draft.seconds ?? 0) * 1000, since: document.hidden ? null : performance.now() });
  memory.parts = { problem: element("p", "problem"), status: element("span", "status") };
  memory.parts.problem.setAttribute("role", "alert");
  memory.parts.status.setAttribute("role", "status");
  const changed = () => {
    memory.parts.problem.textContent = "";
    keepDraft(memory);
  };
  const main = element("div", "task");
  const notes = notesOf(memory, draft);
  memory.task = TASKS[data.task](data, draft.answer ?? data.answered ?? {}, changed);
  main.append(memory.task.node);
  notes.hidden = data.task.startsWith("adjudicate"); // a decision has neither flag nor comment
  root.replaceChildren(...headOf(data), main, notes, memory.parts.problem, buttonsOf(root, memory));
  if (memory.refocus) {
    root.querySelector('.unit[tabindex="0"], input, select, button.place, textarea')?.focus({ preventScroll: true });
    root.scrollIntoView({ block: "nearest" });
  }
}

function reply(memory) {
  const { data, parts } = memory;
  if (data.reply !== memory.waiting) return;
  memory.waiting = "";
  setBusy(memory, false);
  parts.problem.textContent = data.problem;
  parts.status.textContent = data.problem ? "" : data.stored;
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  let root = parentElement.querySelector(".crosslight-annotate");
  if (!root) {
    root = element("div", "crosslight-annotate");
    parentElement.append(root);
    const memory = { key: "", time: 0, waiting: "", refocus: false };
    annotations.set(root, memory);
    root.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        if (!event.repeat) act(root, memory, "confirm");
      }
    });
    document.addEventListener("visibilitychange", () => keepTime(memory));
  }
  const memory = annotations.get(root);
  if (data.time < memory.time) return; // handed over late
  Object.assign(memory, { time: data.time, data, send: setTriggerValue });
  if (data.key !== memory.key) buildItem(root, memory);
  reply(memory);
}
