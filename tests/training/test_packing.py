import torch

from explainers.training.packing import SCALE, packed, unpacked


def test_a_weight_is_off_by_at_most_half_a_step_of_its_row() -> None:
    torch.manual_seed(0)
    weights = {"large": torch.randn(80, 64) * torch.logspace(-3, 2, 80)[:, None], "bias": torch.randn(64)}
    file = packed(weights)
    assert file["large"].dtype == torch.int8
    assert file["bias"].dtype == torch.float16
    again = unpacked(file)
    assert set(again) == set(weights)
    error = (again["large"] - weights["large"]).abs().amax(1)
    assert (error <= weights["large"].abs().amax(1) / 253).all()
    assert sum(each.nbytes for each in file.values()) < 0.3 * sum(each.nbytes for each in weights.values())


def test_rows_of_zeros_and_files_that_were_not_packed_stay_as_they_are() -> None:
    weights = {"matrix": torch.zeros(64, 64)}
    assert torch.equal(unpacked(packed(weights))["matrix"], weights["matrix"])
    plain = {"matrix": torch.randn(64, 64).half()}
    assert unpacked(plain)["matrix"] is plain["matrix"]
    assert not any(name.endswith(SCALE) for name in unpacked(packed(weights)))
