"""Names of the controls and of the additional metric in evaluation files. Importing this module does not load torch."""

from explainers.results.settings import RANDOM_ORDERS

RANDOM, POSITION, AVGSEN = "random", "position", "avgsen"
UNIFORM, NO_EXPLANATION = "uniform", "no-explanation"  # controls of SIM
CONTROLS = {RANDOM: f"Random, mean of {RANDOM_ORDERS} orders", POSITION: "Position only (first words first)"}
