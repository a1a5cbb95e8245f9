import os
import subprocess
import sys

import pytest

WITHOUT = {name: value for name, value in os.environ.items() if name != "GOMP_SPINCOUNT"}


@pytest.mark.parametrize("module", ["explainers.__main__", "streamlit_app"])
@pytest.mark.parametrize(("given", "expected"), [({}, "3000"), ({"GOMP_SPINCOUNT": "7"}, "7")])
def test_threads_spin_briefly_unless_somebody_says_otherwise(module: str, given: dict[str, str], expected: str) -> None:
    """The number is there before torch is."""
    script = f"import os, sys, {module}; print(os.environ['GOMP_SPINCOUNT'], 'torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], env={**WITHOUT, **given}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [expected, "False"]
