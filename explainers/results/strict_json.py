"""JSON that every reader takes: a number that is not finite, which JSON does not have, becomes null."""

import json
import math
from typing import Any


def strict_json(content: Any) -> str:
    """`content` as indented JSON, with the text as it was typed."""
    return json.dumps(_finite(content), ensure_ascii=False, allow_nan=False, indent=2)


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
