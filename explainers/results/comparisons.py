"""Comparisons of several inputs of one model."""

from typing import TYPE_CHECKING

from explainers.results.comparison import Comparison, Table

if TYPE_CHECKING:
    import pandas


class Comparisons(list[Comparison]):
    """A list in the order of the inputs, whose tables stand below each other."""

    def to_frame(self, table: Table = "scores") -> "pandas.DataFrame":
        """Return `Comparison.to_frame` of all, with the number of the input, from 0, in the first column `input`."""
        import pandas as pd

        frames = [comparison.to_frame(table) for comparison in self]
        for number, frame in enumerate(frames):
            frame.insert(0, "input", number)
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame({"input": []})

    def __repr__(self) -> str:
        if not self:
            return "<Comparisons of no input>"
        supported = sum(bool(one.answer and one.answer.status == "supported") for one in self)
        model = self[0].decision.card.name
        return f"<Comparisons of {model}: {len(self)} inputs, {supported} with a supported answer>"
