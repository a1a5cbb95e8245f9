"""Inputs by chance: the same in every run, unless FUZZ=long asks for many more and for new ones.

A property that fails prints its smallest example; keep it with `@example` when it is mended.
"""

import os
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

FEW, MANY = 200, 5000  # examples of a property

set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "crosslight-hypothesis")
COMMON = settings(
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)
settings.register_profile("short", COMMON, derandomize=True, max_examples=FEW)
settings.register_profile("long", COMMON, max_examples=MANY)
settings.load_profile(os.environ.get("FUZZ", "short"))
