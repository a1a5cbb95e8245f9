"""Names in evaluation files: the controls, and the additional metric. No torch is loaded."""

EVALUATED_ORDERS = 10  # random orders per input in the stored evaluations

RANDOM, POSITION, AVGSEN = "random", "position", "avgsen"
UNIFORM, NO_EXPLANATION = "uniform", "no-explanation"  # controls of SIM
CONTROLS = {RANDOM: f"Random, mean of {EVALUATED_ORDERS} orders", POSITION: "Position only (first words first)"}
