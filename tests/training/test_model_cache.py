import gc
from dataclasses import replace
from weakref import ref

from torch import nn

from explainers.models.frozen_model import FrozenModel
from explainers.training.artifacts import ModelCache


def test_a_value_is_computed_once_for_each_version_and_key(bert: FrozenModel) -> None:
    cache, calls = ModelCache(4), list[str]()

    def compute(name: str) -> str:
        calls.append(name)
        return name

    for model, key in ((bert, "a"), (bert, "a"), (bert, "b"), (replace(bert, version="2"), "a")):
        assert cache.get(model, key, lambda key=key: compute(key)) == key  # type: ignore[misc]
    assert calls == ["a", "b", "a"]


def test_the_least_recently_used_value_goes_first(bert: FrozenModel) -> None:
    cache, calls = ModelCache(2), list[int]()
    for key in (1, 2, 1, 3, 1, 2):
        cache.get(bert, key, lambda key=key: calls.append(key))  # type: ignore[misc]
    assert calls == [1, 2, 3, 2]  # 3 takes the place of 2, which was used before 1


def test_values_do_not_keep_a_model_alive(bert: FrozenModel) -> None:
    cache, model = ModelCache(2), replace(bert, module=nn.Linear(1, 1))
    cache.get(model, "key", lambda: "value")
    module = ref(model.module)
    del model
    gc.collect()
    assert module() is None
