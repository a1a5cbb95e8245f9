"""SmolLM2 asked for the class and the reason in a prompt, without training (CAuSE, §5.3 (a) and Table 5).

On the pairs of a stored reading, so that its sentences stand beside those of the narrators there. A prompt has k shots:
pairs of an earlier reading with a person's reason that holds for all of its readers, each for another class. What the
model writes is read as the narrators' sentences are: the first class that it names, and what stands after "because".

    agreement F1   of the stated class with the class that the frozen model predicts, over the sentences that state one
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from explainers.datasets.example import Example
from explainers.errors import DataUnavailable
from explainers.evaluation.measurement import predicted_class
from explainers.installation import ASSETS
from explainers.models import smollm2
from explainers.models.frozen_model import FrozenModel
from explainers.narrative import text_metrics
from explainers.narrative.content_words import reason_of
from explainers.narrative.sentences import sentence, stated_class
from explainers.report.tables import Table, TableColumn
from explainers.studies.readings.measure import FOLDER, PEOPLE, ReadItem, holds, read_items, read_key, read_marks

DOCUMENT = ASSETS / "docs" / "prompting.md"
SHOTS = (0, 2)  # as in the paper
SHOTS_FROM = "nli"
LONGEST = 40  # tokens that are written
SHOWN = 20  # sentences in the document
PREMISE, HYPOTHESIS = "PREMISE: ", " HYPOTHESIS: "
PROMPTED = "SmolLM2, prompted, k = {}"
TASK = (
    "A classifier reads a premise and a hypothesis and answers {labels}. Say its answer and the reason in one "
    'sentence: "{form}"\n\nPremise: {premise}\nHypothesis: {hypothesis}'
)
Write = Callable[[Sequence[dict[str, str]]], str]  # from the messages of a chat to the reply


@dataclass(frozen=True)
class Written:
    """A sentence by `writer` about a pair; `predicted` and `stated` are numbers of classes, `stated` NONE for none."""

    writer: str
    pair: tuple[str, str]
    predicted: int
    stated: int
    text: str
    references: tuple[str, ...]


def pair_of(item: ReadItem) -> tuple[str, str]:
    """Premise and hypothesis."""
    first, found, second = item.shown.removeprefix(PREMISE).partition(HYPOTHESIS)
    if not found:
        raise DataUnavailable(f"Sentence {item.id} is not about a pair of texts. Name a reading of pairs.")
    return first, second


def shots(count: int) -> list[tuple[tuple[str, str], str]]:
    """Return so many pairs of another reading, each of another class, with a person's whole sentence."""
    key, items = read_key(FOLDER / f"{SHOTS_FROM}.key.jsonl"), read_items(FOLDER / f"{SHOTS_FROM}.items.csv")
    marks = [read_marks(path, key) for path in sorted(FOLDER.glob(f"{SHOTS_FROM}.marks.*.csv"))]
    found: dict[str, tuple[tuple[str, str], str]] = {}
    for id, entry in key.items():
        item = items[id]
        if entry.writer == PEOPLE and entry.right and all(holds(own[id]) for own in marks):
            found.setdefault(item.stated, (pair_of(item), sentence(item.stated, item.reason)))
    return list(found.values())[:count]


def messages(
    pair: tuple[str, str], labels: Sequence[str], given: Sequence[tuple[tuple[str, str], str]]
) -> list[dict[str, str]]:
    """Return the chat that asks about a pair, behind the shots."""

    def asked(premise: str, hypothesis: str) -> dict[str, str]:
        named = f"{', '.join(labels[:-1])} or {labels[-1]}"
        form = sentence("ANSWER", "REASON")
        text = TASK.format(labels=named, form=form, premise=premise, hypothesis=hypothesis)
        return {"role": "user", "content": text}

    turns = [turn for shot, reply in given for turn in (asked(*shot), {"role": "assistant", "content": reply})]
    return [*turns, asked(*pair)]


def smollm2_writer() -> Write:
    """Return what SmolLM2 replies, by greedy decoding. Raises `ModelUnavailable` where it is not on this machine."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = smollm2.required_folder()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    network: Any = AutoModelForCausalLM.from_pretrained(folder).eval()
    return lambda chat: reply(network, tokenizer, chat)


def reply(network: Any, tokenizer: Any, chat: Sequence[dict[str, str]]) -> str:
    """Return the first line that the language model writes."""
    ids = tokenizer.apply_chat_template(list(chat), add_generation_prompt=True, return_tensors="pt", return_dict=True)
    with torch.inference_mode():
        whole = network.generate(**ids, max_new_tokens=LONGEST, do_sample=False, pad_token_id=tokenizer.eos_token_id)
    text = tokenizer.decode(whole[0, ids["input_ids"].shape[1] :], skip_special_tokens=True)
    return str(text).strip().partition("\n")[0].strip()


def measure(model: FrozenModel, reading: str, write: Write, progress: Callable[[str], None]) -> list[Written]:
    """Return the sentences of the reading, and those that `write` gives for its pairs."""
    key, items = read_key(FOLDER / f"{reading}.key.jsonl"), read_items(FOLDER / f"{reading}.items.csv")
    found, pairs = list[Written](), dict[tuple[str, str], tuple[int, tuple[str, ...]]]()
    for id, entry in key.items():
        item, pair = items[id], pair_of(items[id])
        if pair not in pairs:
            pairs[pair] = predicted_class(model, model.encode(Example(*pair))), ()
        if entry.writer != PEOPLE:  # whose own reason is none of its references
            pairs[pair] = pairs[pair][0], entry.references
        stated, text = model.labels.index(item.stated), sentence(item.stated, item.reason)
        found.append(Written(entry.writer, pair, pairs[pair][0], stated, text, entry.references))
    for count in SHOTS:
        given = shots(count)
        for number, (pair, (predicted, references)) in enumerate(pairs.items(), 1):
            text = write(messages(pair, model.labels, given))
            stated_by = stated_class(text, model.labels)
            stated = text_metrics.NONE if stated_by is None else stated_by
            found.append(Written(PROMPTED.format(count), pair, predicted, stated, text, references))
            if number % 20 == 0:
                progress(f"k = {count}: {number} of {len(pairs)} pairs")
    return found


def results(written: Sequence[Written], labels: Sequence[str], scorer: text_metrics.TokenScorer) -> Table[str]:
    """A row per writer."""
    by_writer = {name: [one for one in written if one.writer == name] for name in {one.writer: 0 for one in written}}

    def f1(name: str) -> float | None:
        own = by_writer[name]
        counts = text_metrics.confusion([one.predicted for one in own], [one.stated for one in own], len(labels))
        return None if name == PEOPLE else float(text_metrics.macro_f1(counts.sum(0)))

    def stating(name: str) -> float:
        return 100 * float(np.mean([one.stated != text_metrics.NONE for one in by_writer[name]]))

    def reasons(name: str) -> tuple[list[str], list[tuple[str, ...]]]:
        own = [one for one in by_writer[name] if one.references]
        return [reason_of(one.text) for one in own], [one.references for one in own]

    def with_reason(name: str) -> float:
        return 100 * float(np.mean([bool(reason_of(one.text)) for one in by_writer[name]]))

    def bleu(order: int) -> TableColumn[str]:
        return TableColumn(f"BLEU-{order}", lambda name: text_metrics.bleu(*reasons(name))[f"bleu_{order}"], ".3f")

    def bert(name: str) -> float:
        return float(np.nanmean(text_metrics.bert_scores(scorer, *reasons(name))[:, 2]))

    return Table(
        (
            TableColumn("written by", lambda name: f"`{name}`" if name[0].islower() else name),
            TableColumn("n", lambda name: len(by_writer[name])),
            TableColumn("states a class", stating, ".0f"),
            TableColumn("agreement F1", f1, ".3f"),
            TableColumn("gives a reason", with_reason, ".0f"),
            *(bleu(order) for order in range(1, 5)),
            TableColumn("BERTScore", bert, ".3f"),
        )
    )


def document(written: Sequence[Written], labels: Sequence[str], scorer: text_metrics.TokenScorer, command: str) -> str:
    """The document, in Markdown."""
    writers = sorted({one.writer for one in written}, key=lambda name: (name == PEOPLE, name.startswith("Smol"), name))
    prompted = [one for one in written if one.writer == PROMPTED.format(SHOTS[-1])][:SHOWN]
    listed: Table[Written] = Table(
        (
            TableColumn("premise", lambda one: one.pair[0]),
            TableColumn("hypothesis", lambda one: one.pair[1]),
            TableColumn("the model's class", lambda one: labels[one.predicted]),
            TableColumn(PROMPTED.format(SHOTS[-1]), lambda one: one.text),
        )
    )
    return DOCUMENT_TEXT.format(
        command=command,
        task=TASK.format(
            labels=f"{', '.join(labels[:-1])} or {labels[-1]}",
            form=sentence("ANSWER", "REASON"),
            premise="…",
            hypothesis="…",
        ),
        results=results(written, labels, scorer).markdown(writers),
        sentences=listed.markdown(prompted),
    )


DOCUMENT_TEXT = """# A language model that is only asked

CAuSE compares its narrators with language models that read the input and are asked for class and reason (§5.3 (a),
Table 5, *k* shots). Here that is SmolLM2, on which the narrators φ (SmolLM2) and CAuSE (SmolLM2) are trained, so
that it shows what the training and the model's states add. Greedy decoding; the shots are pairs of another
[reading](readings.md), with a person's reason: an entailment, then a contradiction. A reply may repeat the class of the
last shot without regard to the pair (recency bias; Zhao et al., ICML 2021).

```sh
.venv/bin/{command}
```

Agreement F1 is that of the stated class with the frozen model's own, over the sentences that state one. BLEU and
BERTScore are of the reason alone against people's three reasons; a person's own stands against the other two.

{results}

Each pair is asked as:

```text
{task}
```

The first sentences, none left out:

{sentences}
"""
