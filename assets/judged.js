// What people judged, as they saw it: the input once per card, coloured by a map. `data` is described in
// app/annotate/decision_form.py. Nothing here can be changed.

export default function (component) {
  const { data, parentElement } = component;
  let root = parentElement.querySelector(".crosslight-annotate");
  if (!root) {
    root = element("div", "crosslight-annotate");
    parentElement.append(root);
  }
  if (data.time < Number(root.dataset.time ?? 0)) return; // handed over late
  root.dataset.time = data.time;
  const cards = data.cards.map(({ title, cells }) => {
    const card = element("div", "card");
    const input = unitEditor({ data, label: title, editable: false, fixed: true, cells });
    card.append(element("div", "letter", title), input.node);
    return card;
  });
  root.replaceChildren(...cards);
}
