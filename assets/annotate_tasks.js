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

const MOST_RADIOS = 8; // more classes are a list

// A choice among the classes of the data, of which `label` is chosen: a number, or null.
function classChoice(legend, data, label, changed) {
  const own = { label, node: null, set: null };
  const chosen = (value) => {
    own.label = value;
    changed();
  };
  if (data.classes.length > MOST_RADIOS) {
    const list = element("select");
    list.setAttribute("aria-label", legend);
    list.append(new Option("Choose …", ""), ...data.classes.map((name, value) => new Option(name, value)));
    own.set = (value) => {
      own.label = value;
      list.value = value ?? "";
    };
    list.addEventListener("change", () => chosen(list.value === "" ? null : Number(list.value)));
    own.node = questions(legend, list);
  } else {
    const choices = data.classes.map((name, value) => choice(legend, value, name, false, () => chosen(value)));
    const row = element("div", "classes");
    row.append(...choices);
    own.set = (value) => {
      own.label = value;
      for (const [number, box] of choices.entries()) box.querySelector("input").checked = number === value;
    };
    own.node = questions(legend, row);
  }
  own.node.hidden = !data.classes.length;
  own.set(label);
  return own;
}

function markTask(data, draft, changed) {
  const own = classChoice("Your own answer", data, draft.label ?? null, changed);
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
  node.append(own.node, editor.node, status, none);
  const draftNow = () => ({ marked: [...editor.marked].sort((a, b) => a - b), none: box.checked, label: own.label });
  const undecided = () => data.classes.length > 0 && own.label === null;
  return {
    node,
    draft: draftNow,
    answer: () => (!undecided() && (editor.marked.size || box.checked) ? draftNow() : null),
    get missing() {
      if (undecided()) return "Choose your own answer first.";
      return "Mark at least one word or patch, or say that nothing here is evidence.";
    },
  };
}

// Tasks about one method at a time: a part per letter. `part` returns a node, `now()` and `answer()` of that letter.
function oneByOne(letters, draft, missing, part) {
  const node = element("div");
  const parts = new Map();
  for (const letter of letters) {
    const own = part(letter, draft.given?.[letter] ?? {});
    parts.set(letter, own);
    node.append(own.node);
  }
  const collected = (read) => Object.fromEntries([...parts].map(([letter, own]) => [letter, read(own)]));
  return {
    node,
    draft: () => ({ given: collected((own) => own.now()) }),
    answer: () => {
      const given = collected((own) => own.answer());
      return Object.values(given).includes(null) ? null : { given };
    },
    missing,
  };
}

const named = (question, letter, letters) => (letters.length > 1 ? `${question} (${letter})` : question);

function simulateTask(data, draft, changed) {
  const letters = data.maps.map(({ letter }) => letter);
  const missing = letters.length > 1 ? "Choose an answer for every map." : "Choose an answer.";
  return oneByOne(letters, draft, missing, (letter, given) => {
    const number = letters.indexOf(letter);
    let label = given.label ?? null;
    const choices = data.classes.map((name, value) =>
      choice(`simulate ${letter}`, value, name, value === label, () => {
        label = value;
        changed();
      }),
    );
    const node = element("div");
    node.append(scored(data.maps[number], number, data), questions(named("What did the model answer?", letter, letters), ...choices));
    const answer = () => (label === null ? null : { label });
    return { node, now: () => answer() ?? {}, answer };
  });
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
      order = order.includes(map.letter) ? order.filter((letter) => letter !== map.letter) : [...order, map.letter];
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
    const sentence = element("blockquote", "", text);
    sentence.dir = "auto";
    card.append(element("div", "letter", `Sentence ${letter}`), sentence);
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

const ALL_VERDICTS = "Choose a verdict for every suggestion. To correct one, change its marks.";

function inspectTask(data, draft, changed) {
  const letters = data.suggestions.map(({ letter }) => letter);
  return oneByOne(letters, draft, ALL_VERDICTS, (letter, given) => {
    const { suggested, people = [] } = data.suggestions[letters.indexOf(letter)];
    const nothing = suggested.length ? "" : `no word${data.image ? " or patch" : ""}`;
    const told = (value, text) => (nothing && value === "accept" ? `Accept: ${nothing} is evidence` : text);
    const node = element("div", letters.length > 1 ? "card" : "");
    let verdict = given.verdict ?? null;
    const choices = new Map(
      VERDICTS.map(([value, text]) => [
        value,
        choice(`inspect ${letter}`, value, told(value, text), verdict === value, () => {
          verdict = value;
          if (value !== "correct") editor.marked = new Set(suggested);
          editor.repaint();
          changed();
        }),
      ]),
    );
    const take = (theirs) => {
      verdict = theirs.verdict;
      editor.marked = new Set(theirs.marked ?? suggested);
      editor.repaint();
      for (const [value, label] of choices) label.querySelector("input").checked = value === verdict;
      changed();
    };
    const same = () => editor.marked.size === suggested.length && suggested.every((unit) => editor.marked.has(unit));
    const editor = unitEditor({
      data,
      label: named("The input with a suggestion. Change it where it is wrong", letter, letters),
      marked: given.marked ?? suggested,
      suggested,
      onChange: () => {
        verdict = same() ? null : "correct";
        for (const [value, label] of choices) label.querySelector("input").checked = value === verdict;
        changed();
      },
    });
    if (letters.length > 1 || people.length) node.append(element("div", "letter", `Suggestion ${letter}`));
    node.append(...people.map((person) => verdictOf(person, data, () => take(person))));
    if (people.length) node.append(element("div", "letter", "Your decision"));
    if (nothing) node.append(element("div", "letter", `Here the method suggests ${nothing}.`));
    node.append(editor.node, questions(named("Your verdict", letter, letters), ...choices.values()));
    const now = () => ({ verdict, marked: [...editor.marked].sort((a, b) => a - b) });
    const corrected = () => people.length > 0 || !same(); // an owner may take a correction that changes nothing
    const answer = () => (verdict && (verdict !== "correct" || corrected()) ? now() : null);
    return { node, now, answer };
  });
}

// One person's verdict, for an owner who decides: with the marks of a correction, and a button that takes it.
function verdictOf(person, data, take) {
  const node = element("div", "card");
  const head = takeable(`${person.name}: ${person.verdict}`, `Take the verdict of ${person.name}`, take);
  node.append(head);
  if (person.marked) {
    const { name, marked } = person;
    node.append(unitEditor({ data, label: `Marks of ${name}`, editable: false, marked, fixed: true }).node);
  }
  return node;
}

function takeable(text, label, take) {
  const button = element("button", "place", "Take this");
  button.type = "button";
  button.setAttribute("aria-label", label);
  button.addEventListener("click", take);
  const head = element("div", "letter", text);
  head.append(button);
  return head;
}

// As checking a suggestion, with everybody's verdicts; where all agree on one, it is filled in.
function adjudicateSuggestions(data, draft, changed) {
  const agreed = {};
  for (const { letter, people } of data.suggestions) {
    const [first, ...rest] = people.map(({ verdict, marked = null }) => ({ verdict, marked }));
    if (rest.every((verdict) => JSON.stringify(verdict) === JSON.stringify(first))) agreed[letter] = first;
  }
  return inspectTask(data, { given: { ...agreed, ...draft.given } }, changed);
}

function correctTask(data, draft, changed) {
  const letters = data.sentences.map(({ letter }) => letter);
  const missing = letters.length > 1 ? "Every sentence needs words." : "Write a sentence.";
  const task = oneByOne(letters, draft, missing, (letter, given) => {
    const { text } = data.sentences[letters.indexOf(letter)];
    const node = element("div", letters.length > 1 ? "card" : "");
    const label = element("label", "own", named("The sentence as it should be", letter, letters));
    const box = element("textarea");
    Object.assign(box, { value: given.sentence ?? text, rows: 3, maxLength: 2000, dir: "auto" });
    box.addEventListener("input", changed);
    label.append(box);
    const generated = element("blockquote", "", text);
    generated.dir = "auto";
    node.append(element("div", "letter", named("Generated sentence", letter, letters)), generated, label);
    const now = () => ({ sentence: box.value });
    const answer = () => (box.value.trim() ? { sentence: box.value.trim() } : null);
    return { node, now, answer };
  });
  task.node.prepend(unitEditor({ data, label: "The input", editable: false, cells: {} }).node);
  return task;
}

// The marks of several people, and a copy that becomes the decision.
function adjudicateTask(data, draft, changed) {
  const node = element("div");
  let origin = draft.origin ?? "";
  let chosen = Boolean(draft.origin); // marks, taken or made
  const own = classChoice("The answer that the marks are evidence for", data, draft.label ?? null, () => {
    origin = "changed";
    changed();
  });
  const answerOf = (label) => (data.classes.length ? `: ${data.classes[label] ?? "no answer recorded"}` : "");
  const decision = unitEditor({
    data,
    label: "Your decision",
    marked: draft.marked ?? [],
    onChange: () => {
      origin = "changed";
      chosen = true;
      changed();
    },
  });
  for (const { name, marked, label } of data.people) {
    const card = element("div", "card");
    const head = takeable(`${name}${answerOf(label)}`, `Take the marks of ${name}`, () => {
      decision.marked = new Set(marked);
      decision.repaint();
      own.set(label);
      origin = name;
      chosen = true;
      changed();
    });
    card.append(head, unitEditor({ data, label: `Marks of ${name}`, editable: false, marked, fixed: true }).node);
    node.append(card);
  }
  const card = element("div", "card");
  card.append(element("div", "letter", "Your decision"), own.node, decision.node);
  node.append(card);
  const now = () => ({
    marked: [...decision.marked].sort((a, b) => a - b),
    origin,
    label: own.label,
  });
  const answer = () => (!chosen || (data.classes.length && own.label === null) ? null : now());
  const missing = `Take somebody's marks or mark the words${data.classes.length ? ", and choose the answer" : ""}.`;
  return { node, draft: now, answer, missing };
}

const TASKS = {
  adjudicate: adjudicateTask,
  "adjudicate suggestions": adjudicateSuggestions,
  mark: markTask,
  simulate: simulateTask,
  read: readTask,
  rank: rankTask,
  rate: rateTask,
  inspect: inspectTask,
  correct: correctTask,
};
