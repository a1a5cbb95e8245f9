"""`python -m explainers study …`: what is measured once over whole sets; the results are documents and cards."""

from collections.abc import Callable

import typer

from explainers.studies.cards.command import cards_command
from explainers.studies.commands import data_sets, evaluation, methods, models, narratives
from explainers.studies.completion.command import completion_command, completion_train_command
from explainers.studies.long_texts import long_texts_command
from explainers.studies.set_cost import set_cost_command
from explainers.studies.speed.command import sizes_command, speed_command
from explainers.studies.stored_results import stored_results_command

STUDIES: dict[str, Callable[..., None]] = {
    "ablate": methods.ablate_command,
    "answers": models.answers_command,
    "architectures": models.architectures_command,
    "attention": models.attention_command,
    "cards": cards_command,
    "consistency": data_sets.consistency_command,
    "equal-calls": methods.equal_calls_command,
    "evaluation": evaluation.evaluation_command,
    "explain-set": data_sets.explain_set_command,
    "identifiability": methods.identifiability_command,
    "long-texts": long_texts_command,
    "masking": models.masking_command,
    "completion": completion_command,
    "completion-train": completion_train_command,
    "narratives": narratives.narratives_command,
    "papers-measure": models.papers_measure_command,
    "papers-table": models.papers_table_command,
    "peers": methods.peers_command,
    "planted-measure": methods.planted_measure_command,
    "planted-table": methods.planted_table_command,
    "plausibility": data_sets.plausibility_command,
    "prompted-reasons": narratives.prompted_reasons_command,
    "published-metrics": data_sets.published_metrics_command,
    "readings-draw": narratives.readings_draw_command,
    "readings-table": narratives.readings_table_command,
    "reliability": narratives.reliability_command,
    "sampling": methods.sampling_command,
    "set-cost": set_cost_command,
    "simulatability": data_sets.simulatability_command,
    "sizes": sizes_command,
    "speed": speed_command,
    "stored-results": stored_results_command,
    "tune": methods.tune_command,
    "usefulness-measure": methods.usefulness_measure_command,
    "usefulness-table": methods.usefulness_table_command,
}

study = typer.Typer(no_args_is_help=True, help="Measurements of whole sets; the results are documents and cards.")
for name, command in STUDIES.items():
    study.command(name)(command)
