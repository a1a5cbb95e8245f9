// What each task asks. A task is a function of the data and the answer so far; it returns its node, `answer()` (null as
// long as something is missing) and `missing`, which says what. `changed` is called with every change.

const choice = (name, value, text, checked, chosen) => {
  const label = element("label", "choice");
  const radio = element("input");
  Object.assign(radio, { type: "radio", name, value, checked });
  radio.addEventListener("change", chosen);
  label.append(radio, element("span", "", text));
  return label;
};

const questions = (legend, ...nodes) => {
  const set = element("fieldset");
  set.append(element("legend", "", legend), ...nodes);
  return set;
};

const scored = (map, number, data) => {
  const card = element("div", "card");
  card.append(element("div", "letter", `Map ${map.letter}`));
  card.append(unitEditor({ data, label: `Map ${map.letter}`, editable: false, cells: map.cells }).node);
  return card;
};

const counted = (editor) => {
  const count = editor.marked.size;
  return count ? `${count} marked` : "Nothing marked yet";
};

function markTask(data, draft, changed) {
  const status = element("p", "count");
  status.setAttribute("role", "status");
  const none = element("label", "choice none");
  const box = element("input");
  Object.assign(box, { type: "checkbox", checked: Boolean(draft.none) });
  none.append(box, element("span", "", "Nothing here is evidence"));
  const show = () => {
    status.textContent = box.checked ? "Confirmed without a mark" : counted(editor);
  };
  const editor = unitEditor({
    data,
    label: "The input. Mark the evidence",
    marked: draft.marked,
    onChange: () => {
      if (editor.marked.size) box.checked = false;
      show();
      changed();
    },
  });
  box.addEventListener("change", () => {
    if (box.checked) {
      editor.marked.clear();
      editor.repaint();
    }
    show();
    changed();
  });
  show();
  const node = element("div");
  node.append(editor.node, status, none);
  const draftNow = () => ({ marked: [...editor.marked].sort((a, b) => a - b), none: box.checked });
  return {
    node,
    draft: draftNow,
    answer: () => (editor.marked.size || box.checked ? draftNow() : null),
    missing: "Mark at least one word or patch, or say that nothing here is evidence.",
  };
}

function simulateTask(data, draft, changed) {
  const node = element("div");
  let label = draft.label ?? null;
  const choices = data.classes.map((name, number) =>
    choice("simulate", number, name, number === label, () => {
      label = number;
      changed();
    }),
  );
  node.append(...data.maps.map((map, number) => scored(map, number, data)), questions("What did the model answer?", ...choices));
  const answer = () => (label === null ? null : { label });
  return { node, draft: () => answer() ?? {}, answer, missing: "Choose an answer." };
}

function rankTask(data, draft, changed) {
  const node = element("div");
  let order = [...(draft.order ?? [])];
  const buttons = new Map();
  const repaint = () => {
    for (const [letter, button] of buttons) {
      const place = order.indexOf(letter) + 1;
      button.textContent = place ? `Place ${place}` : "Choose";
      button.setAttribute("aria-label", place ? `Map ${letter}, place ${place}; press to take it back` : `Map ${letter}, choose as the next best`);
      button.setAttribute("aria-pressed", place ? "true" : "false");
    }
  };
  for (const [number, map] of data.maps.entries()) {
    const card = scored(map, number, data);
    const button = element("button", "place");
    button.type = "button";
    button.addEventListener("click", () => {
      order = order.includes(map.letter) ? order.filter((each) => each !== map.letter) : [...order, map.letter];
      repaint();
      changed();
    });
    buttons.set(map.letter, button);
    card.firstChild.append(button);
    node.append(card);
  }
  repaint();
  return {
    node,
    draft: () => ({ order }),
    answer: () => (order.length === data.maps.length ? { order } : null),
    missing: "Choose every map, the best one first.",
  };
}

const SCALES = [
  ["relatedness", "Is it about this input and the model's answer?", "not at all", "entirely"],
  ["fluency", "Is it good language?", "unreadable", "flawless"],
];

function rateTask(data, draft, changed) {
  const node = element("div");
  const scores = structuredClone(draft.scores ?? {});
  node.append(unitEditor({ data, label: "The input", editable: false, cells: {} }).node);
  for (const { letter, text } of data.sentences) {
    const card = element("div", "card");
    const said = element("blockquote", "", text);
    said.dir = "auto";
    card.append(element("div", "letter", `Sentence ${letter}`), said);
    for (const [scale, question, low, high] of SCALES) {
      const choices = [1, 2, 3, 4, 5].map((value) =>
        choice(`${letter} ${scale}`, value, String(value), scores[letter]?.[scale] === value, () => {
          scores[letter] = { ...scores[letter], [scale]: value };
          changed();
        }),
      );
      const row = element("div", "scale");
      row.append(element("span", "end", low), ...choices, element("span", "end", high));
      card.append(questions(question, row));
    }
    node.append(card);
  }
  const complete = () => data.sentences.every(({ letter }) => SCALES.every(([scale]) => scores[letter]?.[scale]));
  return {
    node,
    draft: () => ({ scores }),
    answer: () => (complete() ? { scores } : null),
    missing: "Give every sentence both scores.",
  };
}

const VERDICTS = [
  ["accept", "Accept: these are the right words"],
  ["correct", "Correct: I have changed the marks"],
  ["reject", "Reject: this is no evidence"],
];

function inspectTask(data, draft, changed) {
  const node = element("div");
  let verdict = draft.verdict ?? null;
  const choices = new Map(
    VERDICTS.map(([value, text]) => [
      value,
      choice("inspect", value, text, verdict === value, () => {
        verdict = value;
        if (value !== "correct") editor.marked = new Set(data.suggested);
        editor.repaint();
        changed();
      }),
    ]),
  );
  const same = () => editor.marked.size === data.suggested.length && data.suggested.every((each) => editor.marked.has(each));
  const editor = unitEditor({
    data,
    label: "The input with a suggestion. Change it where it is wrong",
    marked: draft.marked ?? data.suggested,
    suggested: data.suggested,
    onChange: () => {
      verdict = same() ? null : "correct";
      for (const [value, label] of choices) label.querySelector("input").checked = value === verdict;
      changed();
    },
  });
  node.append(editor.node, questions("Your verdict", ...choices.values()));
  const draftNow = () => ({ verdict, marked: [...editor.marked].sort((a, b) => a - b) });
  const answer = () => (verdict && (verdict !== "correct" || !same()) ? draftNow() : null);
  return { node, draft: draftNow, answer, missing: "Choose a verdict. To correct the suggestion, change its marks." };
}

function correctTask(data, draft, changed) {
  const node = element("div");
  const label = element("label", "own", "The sentence as it should be");
  const box = element("textarea");
  box.value = draft.sentence ?? data.sentences[0].text;
  box.rows = 3;
  box.maxLength = 2000;
  box.dir = "auto";
  box.addEventListener("input", changed);
  label.append(box);
  const generated = element("blockquote", "", data.sentences[0].text);
  generated.dir = "auto";
  node.append(
    unitEditor({ data, label: "The input", editable: false, cells: {} }).node,
    element("div", "letter", "Generated sentence"),
    generated,
    label,
  );
  const answer = () => (box.value.trim() ? { sentence: box.value.trim() } : null);
  return { node, draft: () => ({ sentence: box.value }), answer, missing: "Write a sentence." };
}

// The marks of several people, and a copy that becomes the decision.
function adjudicateTask(data, draft, changed) {
  const node = element("div");
  let origin = draft.origin ?? "";
  const decision = unitEditor({
    data,
    label: "Your decision",
    marked: draft.marked ?? data.people[0].marked,
    onChange: () => {
      origin = "changed";
      changed();
    },
  });
  for (const { name, marked } of data.people) {
    const card = element("div", "card");
    const take = element("button", "place", "Take these");
    take.type = "button";
    take.setAttribute("aria-label", `Take the marks of ${name}`);
    take.addEventListener("click", () => {
      decision.marked = new Set(marked);
      decision.repaint();
      origin = name;
      changed();
    });
    const head = element("div", "letter", name);
    head.append(take);
    card.append(head, unitEditor({ data, label: `Marks of ${name}`, editable: false, marked, fixed: true }).node);
    node.append(card);
  }
  const own = element("div", "card");
  own.append(element("div", "letter", "Your decision"), decision.node);
  node.append(own);
  const answer = () => ({ marked: [...decision.marked].sort((a, b) => a - b), origin: origin || data.people[0].name });
  return { node, draft: answer, answer, missing: "" };
}

const TASKS = {
  adjudicate: adjudicateTask,
  mark: markTask,
  simulate: simulateTask,
  rank: rankTask,
  rate: rateTask,
  inspect: inspectTask,
  correct: correctTask,
};
