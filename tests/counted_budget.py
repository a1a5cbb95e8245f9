"""A budget whose clock are the passes, so that a test does not depend on how quick the machine is."""

from explainers.comparison.budget import FEWEST, Budget


class CountedBudget(Budget):
    """A pass takes a hundredth of a second."""

    per_pass = 0.01

    @property
    def spent(self) -> float:
        return self.per_pass * self.meter.calls

    def takes(self, passes: float, *, fewest: int = FEWEST) -> float:
        return self.per_pass * passes if self.meter.calls >= fewest else 0.0
