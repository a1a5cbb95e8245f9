import pytest
import torch

from explainers.training.packing import (
    SCALE,
    in_bytes,
    numbers_of,
    packed,
    unpacked,
)


def test_a_weight_is_off_by_at_most_half_a_step_of_its_row() -> None:
    torch.manual_seed(0)
    weights = {"large": torch.randn(80, 64) * torch.logspace(-3, 2, 80)[:, None], "bias": torch.randn(64)}
    file = packed(weights)
    assert file["large"].dtype == torch.uint8
    assert file["bias"].dtype == torch.float16
    again = unpacked(file)
    assert set(again) == set(weights)
    error = (again["large"] - weights["large"]).abs().amax(1)
    assert (error <= weights["large"].abs().amax(1) / 61.9).all()
    assert sum(array.nbytes for array in file.values()) < 0.21 * sum(weight.nbytes for weight in weights.values())


def test_every_number_comes_back_from_its_bytes() -> None:
    numbers = torch.arange(-31, 33).clamp(max=31).view(4, 16).int()
    assert in_bytes(numbers).shape == (4, 12)
    assert torch.equal(numbers_of(in_bytes(numbers)), numbers.float())


def test_files_with_8_bits_are_read() -> None:
    file = {"a": torch.tensor([[-127, 5]], dtype=torch.int8), "a" + SCALE: torch.tensor([[0.5]])}
    assert unpacked(file)["a"].tolist() == [[-63.5, 2.5]]


@pytest.mark.parametrize("columns", [1, 63, 66])
def test_a_row_that_does_not_fill_its_bytes_stays_in_16_bits(columns: int) -> None:
    assert packed({"a": torch.randn(5000, columns)})["a"].dtype == torch.float16


def test_rows_of_zeros_and_files_that_were_not_packed_stay_as_they_are() -> None:
    weights = {"matrix": torch.zeros(64, 64)}
    assert torch.equal(unpacked(packed(weights))["matrix"], weights["matrix"])
    plain = {"matrix": torch.randn(64, 64).half()}
    assert unpacked(plain)["matrix"] is plain["matrix"]
    assert not any(name.endswith(SCALE) for name in unpacked(packed(weights)))
