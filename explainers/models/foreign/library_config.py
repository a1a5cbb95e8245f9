"""The library's configuration object, from the content that was checked and from nothing else in the folder."""

from typing import Any

# code; other files instead of those that were checked; and what only a loss reads, yet the library checks
IGNORED = ("auto_map", "configuration_files", "problem_type")
CLASSES = ("id2label", "label2id", "num_labels")


def library_config(content: dict[str, Any], *, outputs: int | None = None) -> Any:
    """`content` is that of a config.json; with `outputs` the head has so many. Raises what the library raises."""
    from transformers import CONFIG_MAPPING

    known = {name: value for name, value in content.items() if name not in IGNORED}
    if outputs is not None:
        known = {name: value for name, value in known.items() if name not in CLASSES} | {"num_labels": outputs}
    kind = known.get("model_type")
    if not isinstance(kind, str) or kind not in CONFIG_MAPPING:
        raise ValueError(f"its architecture (model_type {kind!r}) is not known to the library transformers")
    return CONFIG_MAPPING[kind].from_dict(known)
