import torch

from app.components import heat_maps


def test_every_level_has_its_map() -> None:
    levels = {
        "omega_q": torch.arange(12.0).view(2, 3, 2),
        "omega_k": torch.ones(2, 3, 2),
        "lambda_hat": torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]),
        "eta_hat": torch.tensor([0.25, 0.75]),
    }
    figure = heat_maps(levels)
    drawn = [[list(row) for row in trace.z] for trace in figure.data]
    assert drawn[0] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]]  # a row per head of each layer
    assert drawn[2:] == [[[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], [[0.25], [0.75]]]
    assert [annotation.text for annotation in figure.layout.annotations] == [
        "ω of queries",
        "ω of keys",
        "heads, λ̂",
        "layers, η̂",
    ]


def test_smat_has_heads_only() -> None:
    assert len(heat_maps({"lambda_hat": torch.ones(2, 3)}).data) == 1
