"""The document about planted shortcuts, assets/docs/planted.md, from the stored rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from explainers.comparison.confidence import band_of
from explainers.methods.registry import METHODS
from explainers.metrics.bootstrap import Floats, Interval, difference_interval, mean_interval
from explainers.report.tables import Table, TableColumn, bounds, command_block, interval_cell, key_column
from explainers.results.answer import CONSENSUS, ORDER_OF_TESTS
from explainers.studies.planted import confidence_fit, noise, truth
from explainers.studies.planted.confidence_document import BAND_NAMES, confidence_text, text_by_test
from explainers.studies.planted.confidence_fit import BANDS
from explainers.studies.planted.measure import SHARES, Row
from explainers.studies.planted.shortcuts import KINDS

COMMAND = "python -m explainers study planted-table"
MEASURED_BY = """python -m explainers study planted-measure --data DIR
python -m explainers study planted-measure --data DIR --models sst2 --seeds 2 --fitted 1 --scenes 0
python -m explainers study planted-measure --data DIR --seeds 3 --fitted 1 --inputs 100 --scenes 0
python -m explainers study planted-measure --data DIR --seeds 4 --fitted 1 --inputs 80 --scenes 0"""
RIVALS = ("kernel_shap", "lime", "occlusion")
WEIGHTINGS = ("consensus without gradient × input and attention", "consensus, families alike")

SUSPECTED = "-S, mask"
SUSPICION = (
    "Earlier, on other data, minus AOPC-S under `mask` followed the truth best, chosen afterwards among 41 candidates."
)

HEAD = """Words were planted into real texts, and copies of the embedded models were trained until these words alone
decide the class (Bastings et al., 2022): into short texts (seeds 0 to 2), longer ones (seed 3), and votes into both
(seed 4). An input counts only where that was verified by swapping words: with its counterpart in the place of a planted
word the model predicts the other class, and with any other word replaced it does not. Nothing is erased for that. Texts
are held out from the training of the models; the methods run as Compare runs them (operator `mask`, sampling until
settled). Brackets are 95 % bootstrap intervals over inputs, paired where two rules are compared; they say nothing about
other trainings, of which there are {trainings}."""

KINDS_TEXT = """| kind | planted | truth |
|---|---|---|
| single | one word; its counterpart stands for the other class | the word |
| conjunction | two words; the class needs both | both |
| order | two words; their order is the class | both |
| redundant | one of two words of a class, or both of them; either suffices | those that stand there |
| context | a word whose class a neighbour reverses | the word and its neighbour |
| pair | the same word in premise and hypothesis, or two different ones | both |
| vote of five | five words, each of one class; the class is that of three of them | these three |
| vote of nine | nine words, each of one class; the class is that of five of them | these five |"""

METRIC_HEAD = """Every candidate is computed from the same rows. "Truth" is the mean Spearman's ρ within an input
between the candidate and the AUC of the explanations; "precision" the same with their precision. "Diagnosticity" is
how often the candidate prefers the true order to a random one. "Degraded" is how often neighbouring levels of damage
({shares} % of the ranks of the true order exchanged) come in the right order. Ties count half. To normalise C alone,
or S alone, by the limits of an input changes no order within it, so only T is normalised, with limits by greedy
search."""

NOISE_HEAD = """The answers of this model are random numbers, one per mask, so nothing explains it. Methods that
choose the order by answers read some of the numbers that the metric reads, and pass the test (T above that of all
{controls} random orders, nominally 5 %) more often than that: the share of {games} such models, with 95 % intervals.
A control chosen of m orders is the one with the highest T among m; "paid" is as many as the masks of the method would
pay for."""


def name_of(rule: str) -> str:
    """As it is displayed."""
    return METHODS.get(rule).name if rule in METHODS.ids else rule


def rules_table(rows: Sequence[Row]) -> str:
    """Precision and AUC of every rule, the best precision first."""
    by_measure = {measure: truth.values(rows, measure) for measure in truth.MEASURES}
    order = sorted(by_measure["precision"], key=lambda rule: -by_measure["precision"][rule].mean())
    table: Table[str] = Table((RULE, *(_means(measure, of_rule) for measure, of_rule in by_measure.items())))
    return table.markdown(order)


def _means(header: str, of_rule: Mapping[str, Floats]) -> TableColumn[str]:
    return TableColumn(header, lambda rule: mean_interval(of_rule[rule]), bounds())


def kinds_table(rows: Sequence[Row], measure: str) -> str:
    """The means of every rule by model, by length and by kind; "redundant" apart for one word and for both."""
    groups: dict[str, list[Row]] = {"all": list(rows)}
    for model in dict.fromkeys(row["model"] for row in rows):
        groups[model] = [row for row in rows if row["model"] == model]
    for number, name in enumerate(BAND_NAMES):
        groups[f"{name} units"] = [row for row in rows if band_of(row["units"], BANDS) == number]
    for kind in KINDS:
        some = [row for row in rows if row["kind"] == kind]
        if kind == "redundant":
            for name, number in (("one", 1), ("both", 2)):
                groups[f"redundant, {name}"] = [row for row in some if len(row["planted"]) == number]
        else:
            groups[kind] = some
    groups = {name: some for name, some in groups.items() if some}
    by_group = {f"{name} ({len(some)})": truth.values(some, measure) for name, some in groups.items()}
    rules = next(iter(by_group.values()))

    def mean(header: str, of_rule: Mapping[str, Floats]) -> TableColumn[str]:
        return TableColumn(header, lambda rule: of_rule[rule].mean(), ".3f")

    table: Table[str] = Table((RULE, *(mean(name, of_rule) for name, of_rule in by_group.items())))
    return table.markdown(rules)


def differences_table(rows: Sequence[Row]) -> str:
    """The consensus minus its rivals, and minus its own variants."""
    return _gaps({measure: truth.values(rows, measure) for measure in truth.MEASURES})


def _gaps(by_measure: Mapping[str, Mapping[str, Floats]]) -> str:
    def gap(measure: str) -> TableColumn[str]:
        of_rule = dict(by_measure[measure])
        return TableColumn(measure, lambda rival: truth.difference(of_rule, CONSENSUS, rival), bounds(sign="+"))

    table: Table[str] = Table((TableColumn("consensus minus", name_of), *map(gap, by_measure)))
    return table.markdown((*RIVALS, *WEIGHTINGS))


def beats_sentence(rows: Sequence[Row]) -> str:
    """Return whether the consensus is better than the one method that a person could always take."""
    by_rule = truth.values(rows, "precision")
    parts = []
    for rival in RIVALS:
        gap = truth.difference(by_rule, CONSENSUS, rival)
        word = "better than" if gap.low > 0 else "worse than" if gap.high < 0 else "not distinguishable from"
        parts.append(f"{word} {name_of(rival)} ({interval_cell(gap, '+')})")
    return f"By precision the consensus of all methods is {', '.join(parts[:-1])} and {parts[-1]}."


def trust_table(columns: Mapping[str, Mapping[str, Interval]], most: int = 0) -> str:
    """A row per candidate, the one that follows the truth best first."""
    first = next(iter(columns.values()))
    order = sorted(first, key=lambda name: -first[name].mean)[: most or None]

    def measured(header: str) -> TableColumn[str]:
        return TableColumn(header, columns[header].get, bounds(), optional=True)

    table: Table[str] = Table((TableColumn("candidate", str), *map(measured, columns)))
    return table.markdown(order)


def noise_table(passes: Sequence[noise.Passed]) -> str:
    """The share that passes by units and method, and by the number of orders of which a control is chosen."""
    found = {(pass_.units, pass_.method, pass_.chosen_of): pass_ for pass_ in passes}

    def chosen_of(number: int) -> TableColumn[tuple[int, str]]:
        def share(row: tuple[int, str]) -> str | None:
            passed = found.get((*row, number))
            paid = f"{passed.paid:.0f}: " if passed and number == noise.PAID else ""
            return paid + interval_cell(passed.share) if passed else None

        return TableColumn("paid" if number == noise.PAID else f"chosen of {number}", share)

    table: Table[tuple[int, str]] = Table(
        (
            TableColumn("units", lambda row: row[0]),
            TableColumn("explanation", lambda row: name_of(row[1])),
            *map(chosen_of, dict.fromkeys(pass_.chosen_of for pass_ in passes)),
        )
    )
    return table.markdown(dict.fromkeys((pass_.units, pass_.method) for pass_ in passes))


def models_table(cards: Sequence[Mapping[str, Any]]) -> str:
    """The planted models: accuracy on held-out planted texts, and which methods were fitted to them."""
    return CARDS.markdown(cards)


RULE: TableColumn[str] = TableColumn("rule", name_of)

CARDS: Table[Mapping[str, Any]] = Table(
    (
        key_column("name", "model"),
        key_column("seconds", "training", lambda seconds: f"{seconds:.0f} s"),
        key_column("accuracy", "accuracy on held-out planted inputs", lambda of: f"{np.mean(list(of.values())):.3f}"),
        key_column("fitted", "fitted methods", lambda of: ", ".join(_fitted(*item) for item in of.items()) or "none"),
    )
)


@dataclass(frozen=True)
class Results:
    """All that the document says."""

    rows: Sequence[Row]
    scenes: Sequence[Row]
    cards: Sequence[Mapping[str, Any]]
    confidence: Mapping[str, Any]
    checked: confidence_fit.Checked
    trust: Mapping[str, Mapping[str, Interval]]
    trust_on_scenes: Mapping[str, Mapping[str, Interval]]
    passes: Sequence[noise.Passed]
    games: int


def _fitted(method: str, card: Mapping[str, Any]) -> str:
    return f"{name_of(method)} ({card['texts']} texts, {card['precision']}, {card['seconds']:.0f} s)"


def planted_document(results: Results) -> str:
    """The whole document, from the evidence about explanations to that about metrics."""
    rows = results.rows
    parts = [
        "# Planted shortcuts: explanations where the truth is known",
        command_block(f"{MEASURED_BY}\n{COMMAND}"),
        HEAD.format(trainings=len(results.cards)),
        KINDS_TEXT,
        models_table(results.cards),
        *_explanations(rows),
        *_scenes(results),
        "## Confidence",
        confidence_text(results.confidence, results.checked),
        text_by_test(rows),
        "## Which metric deserves trust",
        METRIC_HEAD.format(shares=", ".join(map(str, SHARES))),
        suspected(results.trust),
        trust_table(results.trust),
        "## A model without reasons",
        NOISE_HEAD.format(controls=truth.CONTROLS, games=results.games),
        noise_table(results.passes),
    ]
    return "\n\n".join(parts) + "\n"


def _explanations(rows: Sequence[Row]) -> list[str]:
    whole = [row for row in rows if confidence_fit.is_complete(row)]
    parts = ["## How well the planted words are found"]
    for title, some in (
        (f"All methods: {len(whole)} inputs of the models to which the learned methods were fitted.", whole),
        (
            f"Methods that need no fitting: {len(rows)} inputs of all models; the consensus is theirs alone.",
            [confidence_fit.unfitted(row) for row in rows],
        ),
    ):
        if some:
            parts += [title, beats_sentence(some), rules_table(some), differences_table(some)]
            parts += [
                f"{measure}, means by model, length and kind:\n\n{kinds_table(some, measure)}"
                for measure in truth.MEASURES
            ]
    parts += [supported_text(whole)] if whole else []
    both = [row for row in rows if row["kind"] == "redundant" and len(row["planted"]) == 2]
    return [*parts, either_sentence(both)] if both else parts


def supported_text(rows: Sequence[Row]) -> str:
    """What the test against random orders names, and how right that is."""
    named = [truth.supported(row) for row in rows]
    precise = [
        {name: truth.precision(explanation, row["planted"]) for name, explanation in truth.explanations(row).items()}
        for row in rows
    ]
    passed = [(values, some) for values, some in zip(precise, named, strict=True) if some]
    right = np.array([values[CONSENSUS] for values, _ in passed])
    methods = [[values[method] for method in some if method != CONSENSUS] for values, some in passed]
    of_methods = np.array([np.mean(some) if some else whole for some, whole in zip(methods, right, strict=True)])
    failed = [values[CONSENSUS] for values, some in zip(precise, named, strict=True) if not some]
    available = np.mean([len(row["scores"]) for row in rows])
    lines = [
        f"Tested against {truth.CONTROLS} random orders (p ≤ 5 %; the consensus, then the methods, "
        f"{ORDER_OF_TESTS}; up to the first that fails) the consensus passes on {len(passed)} of {len(rows)} inputs, "
        f"and on average {np.mean([len(some) for some in methods]):.1f} of {available:.1f} methods follow it. This "
        "order was chosen on these inputs; [others](answers.md) were not looked at for it.",
        f"Where it passes, its precision is {interval_cell(mean_interval(right))}, the mean over the methods that are "
        f"named {interval_cell(mean_interval(of_methods))}, the difference "
        f"{interval_cell(difference_interval(right, of_methods), '+')}.",
    ]
    if failed:
        lines.append(f"Where it does not ({len(failed)} inputs), its precision is {np.mean(failed):.3f}.")
    return " ".join(lines)


def either_sentence(rows: Sequence[Row]) -> str:
    """Where either of two words suffices, how often the first unit is one of them."""
    by_rule = {
        rule: np.mean(
            [
                truth.precision_of_first(truth.explanations(row)[rule], row["planted"])
                for row in map(confidence_fit.unfitted, rows)
            ]
        )
        for rule in truth.explanations(confidence_fit.unfitted(rows[0]))
    }
    parts = ", ".join(f"{name_of(rule)} {share:.3f}" for rule, share in by_rule.items())
    return f"Where both of two redundant words stand ({len(rows)} inputs), the first unit is one of them: {parts}."


def _scenes(results: Results) -> list[str]:
    rows = results.scenes
    if not rows:
        return []
    auc = truth.values(rows, "AUC")
    order = sorted(auc, key=lambda rule: -auc[rule].mean())
    table: Table[str] = Table((RULE, _means("AUC", auc)))
    head = (
        f"{len(rows)} scenes that the model judges rightly; the truth is the evidence of the statement, words and "
        "patches together. It is what should decide, not proof of what does."
    )
    best = {
        column: dict(sorted(v.items(), key=lambda e: -e[1].mean)[:12]) for column, v in results.trust_on_scenes.items()
    }
    return [
        "## Scenes",
        head,
        table.markdown(order),
        _gaps({"AUC": auc}),
        "Spearman's ρ within a scene between a metric and the AUC:",
        trust_table(best),
    ]


def suspected(trust: Mapping[str, Mapping[str, Interval]]) -> str:
    """What earlier data suggested, and what these say: "−AOPC-S under mask follows the truth best"."""
    followed = trust["truth"]
    order = sorted(followed, key=lambda name: -followed[name].mean)
    place, best = order.index(SUSPECTED) + 1, order[0]
    told = f"Here it is number {place} of {len(order)} ({interval_cell(followed[SUSPECTED], '+')})"
    if place == 1:
        return f"{SUSPICION} {told}: confirmed."
    return f"{SUSPICION} {told}; the best is {best} ({interval_cell(followed[best], '+')}): not confirmed as the best."


__all__ = ["COMMAND", "Results", "planted_document"]
