"""Any classifier of the hub or of a local folder: a text model, a multimodal one, or a head on an encoder."""

from pathlib import Path
from typing import Any

import torch

from explainers.errors import ModelUnavailable
from explainers.models.frozen_model import FrozenModel
from explainers.models.model_files import MAX_TOKENS, ModelFiles, fast_tokenizer, load_errors
from explainers.models.multimodal.head_cards import fetched_head, is_head

EXPECTED = "a text classifier"


def load_pretrained(name: str, device: torch.device) -> FrozenModel:
    """`name` is `owner/model`, `owner/model@revision` or a folder."""
    from explainers.models.multimodal.loading import ARCHITECTURES, load_head, load_vqa_model

    if is_head(Path(name)):
        return load_head(name, Path(name), device)
    source = ModelFiles(name)
    source.check_format()
    with load_errors(name, EXPECTED):
        try:
            config = source.config()
        except Exception:  # no config: it may be a head; otherwise the error is raised again
            folder = None if source.folder else fetched_head(source.identifier, source.revision)
            if folder is None:
                raise
            return load_head(name, folder, device)
    if config.model_type in {each.model_type for each in ARCHITECTURES}:
        return load_vqa_model(source, config, device)
    return _text_classifier(source, device)


def _text_classifier(source: ModelFiles, device: torch.device) -> FrozenModel:
    from transformers import AutoModelForSequenceClassification

    name = source.name
    with load_errors(name, EXPECTED):
        splitter = source.splitter()
        module, missing = source.module(AutoModelForSequenceClassification)
    config = module.config
    if missing:
        raise ModelUnavailable(
            f"{name!r} is not a trained classifier: it has no weights for {', '.join(sorted(missing)[:3])}."
        )
    if config.num_labels < 2:
        raise ModelUnavailable(
            f"{name!r} has one output: it scores its input instead of choosing a class. "
            "Choose a classifier with at least two classes."
        )
    base = getattr(module, "base_model", None)
    if config.is_encoder_decoder or not isinstance(getattr(base, "embeddings", None), torch.nn.Module):
        raise ModelUnavailable(
            f"{name!r} is not an encoder such as BERT, RoBERTa or DeBERTa; only these can be explained here."
        )
    core = fast_tokenizer(splitter, name, _positions(config))
    mask_token = splitter.mask_token_id if splitter.mask_token_id is not None else splitter.unk_token_id
    if mask_token is None:
        raise ModelUnavailable(f"{name!r} has neither a mask token nor an unknown token to replace erased words.")
    return FrozenModel(
        name=name,
        labels=tuple(str(config.id2label[index]) for index in range(config.num_labels)),
        module=module,
        tokenizer=core,
        mask_token=mask_token,
        pad_token=splitter.pad_token_id if splitter.pad_token_id is not None else mask_token,
        version=source.version(config),
        segmented="token_type_ids" in splitter.model_input_names,
        multi_label=config.problem_type == "multi_label_classification",
        device=device,
    )


def _positions(config: Any) -> int:
    """How many tokens fit, less the two that RoBERTa's numbering loses and one that AML adds.

    Models without a limit have no such setting, or -1.
    """
    positions = getattr(config, "max_position_embeddings", None)
    return positions - 3 if isinstance(positions, int) and positions > 3 else MAX_TOKENS
