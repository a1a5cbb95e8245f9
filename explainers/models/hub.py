"""Any classifier of the hub, or of a local folder: of texts, of a picture with a text, or a head on an encoder."""

from pathlib import Path
from typing import Any

import torch

from explainers.errors import ModelUnavailable
from explainers.models.classifier import FrozenModel
from explainers.models.multimodal.cards import fetched_head, is_head
from explainers.models.source import LONGEST, Source, explained, tokenizer

WANTED = "a text classifier"


def load_pretrained(name: str, device: torch.device) -> FrozenModel:
    """`name` is `owner/model`, `owner/model@revision` or a folder."""
    from explainers.models.multimodal.loading import ARCHITECTURES, load_answering, load_head

    if is_head(Path(name)):
        return load_head(name, Path(name), device)
    source = Source(name)
    source.check_format()
    with explained(name, WANTED):
        try:
            config = source.config()
        except Exception:  # no config: it may be a head; if it is none, the same error goes on
            folder = None if source.folder else fetched_head(source.identifier, source.revision)
            if folder is None:
                raise
            return load_head(name, folder, device)
    if config.model_type in {each.model_type for each in ARCHITECTURES}:
        return load_answering(source, config, device)
    return _text_classifier(source, device)


def _text_classifier(source: Source, device: torch.device) -> FrozenModel:
    from transformers import AutoModelForSequenceClassification

    name = source.name
    with explained(name, WANTED):
        splitter = source.splitter()
        module, missing = source.module(AutoModelForSequenceClassification)
    config = module.config
    if missing:
        raise ModelUnavailable(
            f"{name!r} is not a trained classifier: it has no weights for {', '.join(sorted(missing)[:3])}."
        )
    base = getattr(module, "base_model", None)
    if config.is_encoder_decoder or not isinstance(getattr(base, "embeddings", None), torch.nn.Module):
        raise ModelUnavailable(
            f"{name!r} is not an encoder such as BERT, RoBERTa or DeBERTa; only these can be explained here."
        )
    core = tokenizer(splitter, name, _positions(config))
    filler = splitter.mask_token_id if splitter.mask_token_id is not None else splitter.unk_token_id
    if filler is None:
        raise ModelUnavailable(f"{name!r} has neither a mask nor an unknown token to put in a removed word's place.")
    return FrozenModel(
        name=name,
        labels=tuple(str(config.id2label[index]) for index in range(config.num_labels)),
        module=module,
        tokenizer=core,
        filler=filler,
        padding=splitter.pad_token_id if splitter.pad_token_id is not None else filler,
        version=source.version(config),
        segmented="token_type_ids" in splitter.model_input_names,
        multi_label=config.problem_type == "multi_label_classification",
        device=device,
    )


def _positions(config: Any) -> int:
    """How many tokens fit, less the two that RoBERTa's numbering loses and one that AML adds; models without a limit
    say nothing or -1."""
    found = getattr(config, "max_position_embeddings", None)
    return found - 3 if isinstance(found, int) and found > 3 else LONGEST
