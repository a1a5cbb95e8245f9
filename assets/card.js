// What the cards of methods and of narrators share; put before either's own script.

const element = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
};

// The card's name, what comes after it, and the button that opens its caution.
function headElement(card, rest, open) {
  const head = element("div", "head");
  const ask = element("button", "ask", "?");
  ask.type = "button";
  ask.title = "When not to believe it";
  ask.setAttribute("aria-label", `${card.name}: when not to believe it`);
  ask.setAttribute("aria-expanded", open ? "true" : "false");
  head.append(element("span", "name", card.name), ...rest, ask);
  return head;
}

// Opens or closes the caution of the card whose button was clicked; `opened` are the cards' ids, `name` where they stand.
function toggleCaution(event, opened, name) {
  const ask = event.target.closest?.(".ask");
  if (!ask) return;
  const box = ask.closest(".card");
  const id = box.dataset[name];
  const open = !opened.has(id);
  open ? opened.add(id) : opened.delete(id);
  box.querySelector(".caution").hidden = !open;
  ask.setAttribute("aria-expanded", String(open));
}
