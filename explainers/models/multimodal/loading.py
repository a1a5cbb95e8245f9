"""Loading models of images and texts: ViLT with its own classifier, or an encoder with a fitted head."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from explainers.errors import ModelUnavailable
from explainers.models.foreign import file_checks, opened_tokenizer
from explainers.models.foreign.classes import class_names
from explainers.models.model_files import ModelFiles
from explainers.models.multimodal.architectures import Clip, Flava, Vilt, VisualBert
from explainers.models.multimodal.head_cards import WEIGHTS, damaged_head, encoder_parts, head_card, head_input_names
from explainers.models.multimodal.model import MultimodalModel
from explainers.models.multimodal.network import FusionNetwork, FusionShape
from explainers.models.multimodal.preprocessing import Preparation
from explainers.models.multimodal.qwen2_vl import Qwen2Vl
from explainers.models.text.base_weights import sha256

EXPECTED = "an encoder of images and texts"
LARGEST = 2**20  # factors times outputs: a card must not ask for all memory


@dataclass(frozen=True)
class Architecture:
    """`name` is used on cards, `model_type` in the configuration of the library's encoder."""

    name: str
    model_type: str
    network: type[FusionNetwork]


ARCHITECTURES = (
    Architecture("vilt", "vilt", Vilt),
    Architecture("clip-mfb", "clip", Clip),
    Architecture("visualbert", "visual_bert", VisualBert),
    Architecture("flava", "flava", Flava),
    Architecture("qwen2-vl", "qwen2_vl", Qwen2Vl),
)


@dataclass(frozen=True)
class Encoder:
    """A frozen encoder with all that it needs except a head."""

    architecture: Architecture
    module: nn.Module
    vision: nn.Module | None
    preparation: Preparation
    tokenizer: opened_tokenizer.IsolatedTokenizer
    mask_token: int
    pad_token: int
    version: str

    def model(
        self,
        network: FusionNetwork,
        *,
        name: str,
        labels: tuple[str, ...],
        version: str,
        device: torch.device,
        input_names: tuple[str, ...] = (),
        multi_label: bool = False,
    ) -> MultimodalModel:
        return MultimodalModel(
            name=name,
            labels=labels,
            module=network,
            tokenizer=self.tokenizer,
            mask_token=self.mask_token,
            pad_token=self.pad_token,
            version=version,
            input_names=input_names,
            multi_label=multi_label,
            device=device,
            preparation=self.preparation,
        )


def load_vqa_model(source: ModelFiles, config: Any, device: torch.device) -> MultimodalModel:
    """ViLT as it answers questions, with the classifier that it was published with."""
    if config.model_type != "vilt" or (config.architectures or [""])[0] != "ViltForQuestionAnswering":
        raise ModelUnavailable(
            f"{source.name!r} reads images and texts but has no classifier that can be explained here. "
            "Fit a head to it and give the head's folder, or choose a ViLT that answers questions."
        )
    from transformers import AutoModelForVisualQuestionAnswering

    with file_checks.load_errors(source.name, "a ViLT that answers questions"):
        labels = class_names(source.name, source.raw_config, config.num_labels)
        with opened_tokenizer.opening(source.name, source.path) as tokenizer:
            whole, missing = source.module(AutoModelForVisualQuestionAnswering, config)
            _check_complete(source, missing, ())
            encoder = _encoder(ARCHITECTURES[0], whole.vilt, None, tokenizer.result(), source, source.version())
    return encoder.model(
        Vilt.from_vqa_model(whole),
        name=source.name,
        labels=labels,
        version=encoder.version,
        device=device,
        input_names=("question",),
        multi_label=source.multi_label,
    )


def load_head(name: str, folder: Path, device: torch.device) -> MultimodalModel:
    """The head in `folder` on the encoder that its card names. Raises `ModelUnavailable` with what is wrong."""
    card, needed = head_card(folder), encoder_parts(folder)
    encoder = load_encoder(needed["encoder"], needed.get("vision", ""), needed.get("tokenizer", ""))
    if encoder.architecture.name != card["architecture"]:
        raise damaged_head(
            folder, f"its encoder is of the architecture {encoder.architecture.name}, not as on its card"
        )
    if card.get("encoder_version", encoder.version) != encoder.version:
        raise damaged_head(folder, "it was trained on another version of its encoder")
    if sha256(folder / WEIGHTS) != card["sha256"]:
        raise damaged_head(folder, f"the checksum of {WEIGHTS} is not the one on its card")
    try:
        network = network_of(encoder, len(card["labels"]), shape_of(card))
        load_head_weights(network, load_file(folder / WEIGHTS))
        file_checks.check_finite(folder.name, network)
    except (SafetensorError, RuntimeError, TypeError, KeyError, ValueError) as error:
        raise damaged_head(folder, "its weights do not fit its card") from error
    return encoder.model(
        network,
        name=name,
        labels=tuple(card["labels"]),
        version=card["sha256"][:12],
        device=device,
        input_names=head_input_names(card),
    )


def load_encoder(name: str, vision: str = "", tokenizer: str = "") -> Encoder:
    """Load by hub ids or folders; `vision` and `tokenizer` if the encoder's own files lack one."""
    from transformers import AutoModel

    source, words, images = ModelFiles(name), ModelFiles(tokenizer or name, not tokenizer), ModelFiles(vision or name)
    with file_checks.load_errors(name, EXPECTED):
        config = source.config()
        by_type = {architecture.model_type: architecture for architecture in ARCHITECTURES}
        if config.model_type not in by_type:
            raise ModelUnavailable(f"{name!r} is of type {config.model_type}. Choose one of: {', '.join(by_type)}.")
        architecture = by_type[config.model_type]
        if architecture.network.needs_vision and not vision:
            raise ModelUnavailable(f"{name!r} reads features of images. Name the vision encoder that computes them.")
        with opened_tokenizer.opening(words.name, words.path, ends=architecture.network.ends) as opened:
            module, missing = source.module(AutoModel, config)
            _check_complete(source, missing, architecture.network.unused)
            vision_module = _vision(images) if vision else None
            others = (part.version() for part, given in ((images, vision), (words, tokenizer)) if given)
            version = "+".join((source.version(), *others))
            return _encoder(architecture, module, vision_module, opened.result(), images, version)


def network_of(encoder: Encoder, classes: int, shape: FusionShape) -> FusionNetwork:
    """The encoder with a new random head."""
    return encoder.architecture.network(encoder.module, classes, shape, encoder.vision)


def head_weights(network: FusionNetwork) -> dict[str, Tensor]:
    """The weights in a head's file: all but those of the library's encoders."""
    prefixes = ("fusion.", "head.", "projection.")
    return {name: tensor for name, tensor in network.state_dict().items() if name.startswith(prefixes)}


def load_head_weights(network: FusionNetwork, weights: dict[str, Tensor]) -> None:
    if set(weights) != set(head_weights(network)):
        raise KeyError("tensors of another head")
    network.load_state_dict(weights, strict=False)


def shape_of(card: dict[str, Any]) -> FusionShape:
    shape = FusionShape(**card.get("shape", {}))
    if not all(isinstance(size, int) and size > 0 for size in (shape.factors, shape.outputs)):
        raise TypeError
    if shape.factors * shape.outputs > LARGEST or asdict(shape)["reads"] not in ("last", "mean"):
        raise ValueError
    return shape


def _vision(source: ModelFiles) -> nn.Module:
    """An image encoder, or the image part of one that reads texts too."""
    from transformers import AutoModel

    with file_checks.load_errors(source.name, "an encoder of images"):
        module, missing = source.module(AutoModel, source.config())
        encoder: nn.Module = getattr(module, "vision_model", module)
        _check_complete(source, missing, ("pooler.",))
    if getattr(encoder, "main_input_name", "") != "pixel_values":
        raise ModelUnavailable(f"{source.name!r} is not an encoder of images.")
    return encoder


def _encoder(
    architecture: Architecture,
    module: nn.Module,
    vision: nn.Module | None,
    opened: opened_tokenizer.OpenedTokenizer,
    images: ModelFiles,
    version: str,
) -> Encoder:
    from transformers import AutoImageProcessor

    config: Any = module.config
    most = getattr(config, "text_config", config).max_position_embeddings
    mask_token = _mask_token(opened)
    return Encoder(
        architecture,
        module,
        vision,
        architecture.network.prepared(AutoImageProcessor.from_pretrained(images.path, **images.options)),
        opened.isolated(config, most),
        mask_token,
        opened.pad if opened.pad is not None else mask_token,
        version,
    )


def _mask_token(opened: opened_tokenizer.OpenedTokenizer) -> int:
    """The mask token, else the unknown token, else a full stop, as in CLIP and Qwen2-VL."""
    framing = {opened.bos, opened.eos, opened.pad}
    for choice in (opened.mask, opened.unk, opened.stop):
        if choice is not None and choice not in framing:
            return choice
    raise ModelUnavailable(f"{opened.name!r} has no mask token, unknown token or full stop to replace a removed word.")


def _check_complete(source: ModelFiles, missing: frozenset[str], unused: tuple[str, ...]) -> None:
    lacking = sorted(name for name in missing if not any(part in name for part in unused))
    if lacking:
        raise ModelUnavailable(f"{source.name!r} is not complete: it has no weights for {', '.join(lacking[:3])}.")
