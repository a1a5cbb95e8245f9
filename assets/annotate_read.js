// A given reason, read and judged with four questions. `data.reason` is described in app/annotate/payload.py.

const JUDGEMENTS = [
  ["yes", "yes"],
  ["no", "no"],
  ["?", "cannot tell"],
];

function readTask(data, draft, changed) {
  const { sentence, stated, questions: asked } = data.reason;
  const read = structuredClone(draft.read ?? {});
  const node = element("div");
  const quoted = element("blockquote", "", sentence);
  quoted.dir = "auto";
  const card = element("div", "card");
  const name = element("strong", "", stated);
  name.dir = "auto";
  const about = element("p", "stated", "Class: ");
  about.append(name);
  card.append(about, element("div", "letter", "Reason"), quoted);
  const four = element("div", "four");
  for (const { id, question } of asked) {
    const row = element("div", "classes");
    const choices = JUDGEMENTS.map(([value, text]) =>
      choice(`read ${id}`, value, text, read[id] === value, () => {
        read[id] = value;
        changed();
      }),
    );
    row.append(...choices);
    four.append(questions(question, row));
  }
  card.append(four);
  const list = element("dl");
  for (const { question, yes, example } of asked) list.append(element("dt", "", question), element("dd", "", `${yes}. ${example}`));
  const open = "The input and the sentence do not decide it. Results count the share of yes.";
  list.append(element("dt", "", "Cannot tell"), element("dd", "", open));
  const guide = element("details", "more");
  guide.append(element("summary", "", "How to read"), list);
  node.append(unitEditor({ data, label: "The input", editable: false, cells: {} }).node, card, guide);
  return {
    node,
    draft: () => ({ read }),
    answer: () => (asked.every(({ id }) => read[id]) ? { read } : null),
    missing: "Answer all four questions.",
  };
}
