"""Any sequence classifier of the hub, or of a local folder: safetensors only, no remote code, fast tokenizer only."""

import hashlib
from pathlib import Path

import torch

from explainers.errors import ModelUnavailable
from explainers.models.base import sha256
from explainers.models.classifier import FrozenModel

LONGEST = 512  # tokens read at most, also where a model would take more: an explanation costs hundreds of passes


def load_pretrained(name: str, device: torch.device) -> FrozenModel:
    """`name` is `owner/model`, `owner/model@revision` or a folder."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    identifier, _, revision = name.partition("@") if not Path(name).is_dir() else (name, "", "")
    if Path(identifier).is_dir() and not any(Path(identifier).glob("*.safetensors")):
        raise ModelUnavailable(
            f"{identifier} holds no .safetensors file; other weight formats can run code and are refused."
        )
    where = {"revision": revision or None, "trust_remote_code": False}
    try:
        splitter = AutoTokenizer.from_pretrained(identifier, use_fast=True, **where)
        module, report = AutoModelForSequenceClassification.from_pretrained(
            identifier,
            use_safetensors=True,
            dtype=torch.float32,  # half precision would round small differences of probability away
            attn_implementation="eager",
            output_loading_info=True,
            **where,
        )
    except Exception as error:  # the libraries raise a dozen types here; all mean: this name does not load
        raise ModelUnavailable(
            f"The model {name!r} could not be loaded: {_first_sentence(error)} "
            "Give the id of a text classifier on the Hugging Face hub or a folder with its files."
        ) from error
    if report["missing_keys"]:
        raise ModelUnavailable(
            f"{name!r} is not a trained classifier: "
            f"it has no weights for {', '.join(sorted(report['missing_keys'])[:3])}."
        )
    base = getattr(module, "base_model", None)
    if module.config.is_encoder_decoder or not isinstance(getattr(base, "embeddings", None), torch.nn.Module):
        raise ModelUnavailable(
            f"{name!r} is not an encoder such as BERT, RoBERTa or DeBERTa; only these can be explained here."
        )
    if not splitter.is_fast:
        raise ModelUnavailable(f"{name!r} has no fast tokenizer, so its tokens cannot be placed in the text.")
    core = splitter.backend_tokenizer
    core.no_padding()
    most = min(splitter.model_max_length, _positions(module.config), LONGEST)
    core.enable_truncation(most, strategy="longest_first")
    filler = splitter.mask_token_id if splitter.mask_token_id is not None else splitter.unk_token_id
    if filler is None:
        raise ModelUnavailable(f"{name!r} has neither a mask nor an unknown token to put in a removed word's place.")
    config = module.config
    return FrozenModel(
        name=name,
        labels=tuple(str(config.id2label[index]) for index in range(config.num_labels)),
        module=module,
        tokenizer=core,
        filler=filler,
        padding=splitter.pad_token_id if splitter.pad_token_id is not None else filler,
        version=getattr(config, "_commit_hash", None) or _digest(Path(identifier)),
        segmented="token_type_ids" in splitter.model_input_names,
        multi_label=config.problem_type == "multi_label_classification",
        device=device,
    )


def _positions(config: object) -> int:
    """How many tokens fit, less the two that RoBERTa's numbering loses and one that AML adds; models without a limit
    say nothing or -1."""
    found = getattr(config, "max_position_embeddings", None)
    return found - 3 if isinstance(found, int) and found > 3 else LONGEST


def _digest(folder: Path) -> str:
    """Of the folder's weights, so that results of another model in the same place are not taken for this one's."""
    return hashlib.sha256("".join(map(sha256, sorted(folder.glob("*.safetensors")))).encode()).hexdigest()[:12]


def _first_sentence(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")[:200] + "."
