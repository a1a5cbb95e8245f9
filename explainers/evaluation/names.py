"""Names and numbers of evaluations: the controls, the additional metric, the fewest inputs. No torch is loaded."""

EVALUATED_ORDERS = 10  # random orders per input in the stored evaluations
ROTATIONS = 4  # of a random order, under other operators than that of the settings, in a brief evaluation of a set

RANDOM, POSITION, AVGSEN = "random", "position", "avgsen"
UNIFORM, NO_EXPLANATION = "uniform", "no-explanation"  # controls of SIM
CONTROLS = {RANDOM: f"Random, mean of {EVALUATED_ORDERS} orders", POSITION: "Position only (first words first)"}
CURVE_SHARES = tuple(step / 20 for step in range(21))  # of the units, at which the curves of a set are compared
SANITY_RECORDS = "sanity.jsonl"  # the file of the records of sanity checks
FEWEST = 10  # inputs over which methods are compared
