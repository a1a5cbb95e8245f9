"""What an evaluation calls its controls and its extra figure; readable without torch."""

ORDERS = 10  # random orders of which the control figure is made
RANDOM, POSITION, AVGSEN = "random", "position", "avgsen"
CONTROLS = {RANDOM: f"Random, mean of {ORDERS} orders", POSITION: "Position only (first words first)"}
