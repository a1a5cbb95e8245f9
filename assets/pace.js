// Arrow keys and a presenter's clicker move between steps, a timer counts, and the browser gets an anonymous name, the same
// in all its tabs, for a day. `data` is described in app/reading/pace.py.

const paces = new WeakMap();
const FORWARD = ["ArrowRight", "PageDown"];
const BACK = ["ArrowLeft", "PageUp"];
const NAME = "crosslight-reading";
const AGAIN = 2000; // milliseconds after which a press that was not heard is sent again
const LOST = 10000; // milliseconds after which it is given up
const DAY = 24 * 3600 * 1000; // milliseconds, after which a group has ended

const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

function tick(root, memory) {
  const now = Date.now() / 1000;
  root.querySelector(".step").textContent = clock(Math.max(0, now - memory.since));
  root.querySelector(".all").textContent = clock(Math.max(0, now - memory.begun));
  const unheard = memory.pressed > memory.heard && Date.now() - memory.pressed < LOST;
  if (unheard && Date.now() - memory.sent > AGAIN) send(memory);
}

function send(memory) {
  memory.sent = Date.now();
  memory.send("pressed", { story: memory.story, step: memory.step, moment: memory.pressed });
}

// Keys that a box, a menu or a row of the score sheet uses itself are theirs.
function isTaken(event) {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return true;
  const paging = event.key.startsWith("Page");
  return event.composedPath().some(
    (node) =>
      node.matches?.("input, textarea, select, [contenteditable='true'], [role='listbox'], [role='menu']") ||
      (!paging && node.matches?.("[role='radiogroup'], [role='tablist'], .unit, .crosslight-sheet, .crosslight-guess")),
  );
}

function listen(root, memory) {
  const press = (event) => {
    if (!root.isConnected) return document.removeEventListener("keydown", press);
    const by = FORWARD.includes(event.key) ? 1 : BACK.includes(event.key) ? -1 : 0;
    if (!by || !memory.steps || event.repeat || isTaken(event)) return;
    event.preventDefault();
    // From where the presses before this one lead, also while the page is still on its way there.
    const step = memory.step + by;
    if (step < 1 || step > memory.steps) return;
    memory.step = step;
    memory.pressed = Math.max(Date.now(), memory.pressed + 1);
    send(memory);
  };
  document.addEventListener("keydown", press);
  const timer = setInterval(() => (root.isConnected ? tick(root, memory) : clearInterval(timer)), 500);
}

// The name that the server proposes, unless this browser has one from the last day.
function settleName(memory, proposed) {
  let name = proposed;
  try {
    const kept = JSON.parse(localStorage.getItem(NAME) ?? "null");
    if (kept && Date.now() - kept.since < DAY) name = kept.name;
    else localStorage.setItem(NAME, JSON.stringify({ name, since: Date.now() }));
  } catch {
    // without storage the name lasts as long as the session
  }
  if (name !== memory.named) {
    memory.named = name;
    memory.send("named", name);
  }
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  let root = parentElement.querySelector(".crosslight-pace");
  if (!root) {
    root = element("div", "crosslight-pace");
    root.setAttribute("role", "timer");
    root.append(element("span", "label", "This step "), element("b", "step"), element("span", "label", "In all "));
    root.append(element("b", "all"));
    parentElement.append(root);
    paces.set(root, { story: "", step: 0, pressed: 0, heard: 0, sent: 0, since: Date.now() / 1000 });
    listen(root, paces.get(root));
  }
  const memory = paces.get(root);
  const place = `${data.story}/${data.step}`;
  if (place !== memory.place) memory.since = Date.now() / 1000;
  // Moved by other means meanwhile, as by a button: a press that was not heard is given up.
  if (place !== memory.place && data.heard === memory.heard) memory.pressed = data.heard;
  const lost = Date.now() - memory.pressed > LOST;
  if (data.story !== memory.story || data.heard >= memory.pressed || lost) memory.step = data.step;
  const { story, steps, heard, begun } = data;
  Object.assign(memory, { place, story, steps, heard, begun, send: setTriggerValue });
  root.hidden = !data.timer;
  settleName(memory, data.participant);
  tick(root, memory);
}
