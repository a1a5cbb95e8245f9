"""`python -m explainers study …`: what is measured once over whole sets; the results are documents and cards."""

from collections.abc import Callable

import typer

from explainers.studies.cards.command import cards_command
from explainers.studies.commands.data_sets import (
    consistency_command,
    plausibility_command,
    published_metrics_command,
    simulatability_command,
)
from explainers.studies.commands.methods import (
    ablate_command,
    equal_calls_command,
    identifiability_command,
    peers_command,
    planted_measure_command,
    planted_table_command,
    sampling_command,
    tune_command,
)
from explainers.studies.commands.models import (
    answers_command,
    architectures_command,
    attention_command,
    masking_command,
    papers_measure_command,
    papers_table_command,
)
from explainers.studies.commands.narratives import (
    narratives_command,
    readings_draw_command,
    readings_table_command,
    reliability_command,
)
from explainers.studies.completion.command import completion_command, completion_train_command
from explainers.studies.long_texts import long_texts_command
from explainers.studies.set_cost import set_cost_command
from explainers.studies.speed.command import sizes_command, speed_command
from explainers.studies.stored_results import stored_results_command

STUDIES: dict[str, Callable[..., None]] = {
    "ablate": ablate_command,
    "answers": answers_command,
    "architectures": architectures_command,
    "attention": attention_command,
    "cards": cards_command,
    "consistency": consistency_command,
    "equal-calls": equal_calls_command,
    "identifiability": identifiability_command,
    "long-texts": long_texts_command,
    "masking": masking_command,
    "completion": completion_command,
    "completion-train": completion_train_command,
    "narratives": narratives_command,
    "papers-measure": papers_measure_command,
    "papers-table": papers_table_command,
    "peers": peers_command,
    "planted-measure": planted_measure_command,
    "planted-table": planted_table_command,
    "plausibility": plausibility_command,
    "published-metrics": published_metrics_command,
    "readings-draw": readings_draw_command,
    "readings-table": readings_table_command,
    "reliability": reliability_command,
    "sampling": sampling_command,
    "set-cost": set_cost_command,
    "simulatability": simulatability_command,
    "sizes": sizes_command,
    "speed": speed_command,
    "stored-results": stored_results_command,
    "tune": tune_command,
}

study = typer.Typer(no_args_is_help=True, help="Measurements of whole sets; the results are documents and cards.")
for name, command in STUDIES.items():
    study.command(name)(command)
