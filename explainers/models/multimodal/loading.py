"""From files to a model of pictures and texts: ViLT with its own classifier, or an encoder with a head of ours."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer, processors
from torch import Tensor, nn

from explainers.errors import ModelUnavailable
from explainers.models.base import sha256
from explainers.models.multimodal.cards import WEIGHTS, asks_of, damaged, head_card, parts
from explainers.models.multimodal.clip import Clip
from explainers.models.multimodal.flava import Flava
from explainers.models.multimodal.model import MultimodalModel
from explainers.models.multimodal.network import Network, Shape
from explainers.models.multimodal.preparing import Preparation
from explainers.models.multimodal.qwen2_vl import Qwen2Vl
from explainers.models.multimodal.vilt import Vilt
from explainers.models.multimodal.visual_bert import VisualBert
from explainers.models.source import Source, explained, tokenizer

WANTED = "an encoder of pictures and texts"
LARGEST = 2**20  # factors times outputs: a card must not ask for all memory


@dataclass(frozen=True)
class Architecture:
    """`name` stands on cards, `model_type` in the configuration of the library's encoder."""

    name: str
    model_type: str
    network: type[Network]


ARCHITECTURES = (
    Architecture("vilt", "vilt", Vilt),
    Architecture("clip-mfb", "clip", Clip),
    Architecture("visualbert", "visual_bert", VisualBert),
    Architecture("flava", "flava", Flava),
    Architecture("qwen2-vl", "qwen2_vl", Qwen2Vl),
)


@dataclass(frozen=True)
class Encoder:
    """A frozen encoder with all that is needed to ask it; a head is still missing."""

    architecture: Architecture
    module: nn.Module
    vision: nn.Module | None
    preparation: Preparation
    tokenizer: Tokenizer
    filler: int
    padding: int
    version: str

    def model(
        self,
        network: Network,
        *,
        name: str,
        labels: tuple[str, ...],
        version: str,
        device: torch.device,
        asks: tuple[str, ...] = (),
        multi_label: bool = False,
    ) -> MultimodalModel:
        return MultimodalModel(
            name=name,
            labels=labels,
            module=network,
            tokenizer=self.tokenizer,
            filler=self.filler,
            padding=self.padding,
            version=version,
            asks=asks,
            multi_label=multi_label,
            device=device,
            preparation=self.preparation,
        )


def load_answering(source: Source, config: Any, device: torch.device) -> MultimodalModel:
    """ViLT as it answers questions, with the classifier that it was published with."""
    if config.model_type != "vilt" or (config.architectures or [""])[0] != "ViltForQuestionAnswering":
        raise ModelUnavailable(
            f"{source.name!r} reads pictures and texts but has no classifier that can be explained here. "
            "Fit a head to it and give the head's folder, or choose a ViLT that answers questions."
        )
    from transformers import ViltForQuestionAnswering

    with explained(source.name, "a ViLT that answers questions"):
        whole, missing = source.module(ViltForQuestionAnswering)
        _check_complete(source, missing, ())
        found = _encoder(ARCHITECTURES[0], whole.vilt, None, source, source, source.version(config))
    return found.model(
        Vilt.answering(whole),
        name=source.name,
        labels=tuple(str(config.id2label[index]) for index in range(config.num_labels)),
        version=found.version,
        device=device,
        asks=("question",),
        multi_label=config.problem_type == "multi_label_classification",
    )


def load_head(name: str, folder: Path, device: torch.device) -> MultimodalModel:
    """The head in `folder` on the encoder that its card names. Raises `ModelUnavailable` with what is wrong."""
    card, stands_on = head_card(folder), parts(folder)
    found = load_encoder(stands_on["encoder"], stands_on.get("vision", ""), stands_on.get("tokenizer", ""))
    if found.architecture.name != card["architecture"]:
        raise damaged(folder, f"its encoder is of the architecture {found.architecture.name}, not as on its card")
    if card.get("encoder_version", found.version) != found.version:
        raise damaged(folder, "it was trained on another version of its encoder")
    if sha256(folder / WEIGHTS) != card["sha256"]:
        raise damaged(folder, f"the checksum of {WEIGHTS} is not the one on its card")
    try:
        network = network_of(found, len(card["labels"]), shape_of(card))
        restore(network, load_file(folder / WEIGHTS))
    except (SafetensorError, RuntimeError, TypeError, KeyError, ValueError) as error:
        raise damaged(folder, "its weights do not fit its card") from error
    return found.model(
        network,
        name=name,
        labels=tuple(card["labels"]),
        version=card["sha256"][:12],
        device=device,
        asks=asks_of(card),
    )


def load_encoder(name: str, vision: str = "", splitter: str = "") -> Encoder:
    """By hub ids or folders; `vision` and `splitter` where the encoder's own files hold no picture encoder or words."""
    from transformers import AutoModel

    source = Source(name)
    source.check_format()
    with explained(name, WANTED):
        config = source.config()
        by_type = {each.model_type: each for each in ARCHITECTURES}
        if config.model_type not in by_type:
            raise ModelUnavailable(
                f"{name!r} is of the type {config.model_type}. Choose one of: {', '.join(by_type)}."
            )  # fmt: skip
        architecture = by_type[config.model_type]
        module, missing = source.module(AutoModel)
        _check_complete(source, missing, architecture.network.unread)
        eye = _vision(Source(vision)) if vision else None
        version = source.version(config) + (f"+{Source(vision).version(eye.config)}" if eye else "")
        if architecture.network is VisualBert and eye is None:
            raise ModelUnavailable(f"{name!r} reads features of pictures: name the vision encoder that makes them.")
        return _encoder(architecture, module, eye, Source(splitter or name), Source(vision or name), version)


def network_of(encoder: Encoder, classes: int, shape: Shape) -> Network:
    """The encoder with a new head, by chance."""
    return encoder.architecture.network(encoder.module, classes, shape, encoder.vision)


def trained(network: Network) -> dict[str, Tensor]:
    """What a head's file holds: all but the library's encoders."""
    own = ("fusion.", "head.", "projection.")
    return {name: tensor for name, tensor in network.state_dict().items() if name.startswith(own)}


def restore(network: Network, weights: dict[str, Tensor]) -> None:
    if set(weights) != set(trained(network)):
        raise KeyError("tensors of another head")
    network.load_state_dict(weights, strict=False)


def shape_of(card: dict[str, Any]) -> Shape:
    found = Shape(**card.get("shape", {}))
    if not all(isinstance(each, int) and each > 0 for each in (found.factors, found.outputs)):
        raise TypeError
    if found.factors * found.outputs > LARGEST or asdict(found)["reads"] not in ("last", "mean"):
        raise ValueError
    return found


def _vision(source: Source) -> nn.Module:
    """An encoder of pictures alone, or that half of one that reads texts too."""
    from transformers import AutoModel

    source.check_format()
    with explained(source.name, "an encoder of pictures"):
        module, missing = source.module(AutoModel)
        found: nn.Module = getattr(module, "vision_model", module)
        _check_complete(source, missing, ("pooler.",))
    if getattr(found, "main_input_name", "") != "pixel_values":
        raise ModelUnavailable(f"{source.name!r} is no encoder of pictures.")
    return found


def _encoder(
    architecture: Architecture,
    module: nn.Module,
    vision: nn.Module | None,
    words: Source,
    pictures: Source,
    version: str,
) -> Encoder:
    from transformers import AutoImageProcessor

    splitter = words.splitter()
    config: Any = module.config
    most = getattr(config, "text_config", config).max_position_embeddings
    core = tokenizer(splitter, words.name, most)
    if architecture.network.ends:
        end = splitter.eos_token
        closing = processors.TemplateProcessing(single=f"$A {end}", special_tokens=[(end, splitter.eos_token_id)])
        before = core.post_processor
        core.post_processor = closing if before is None else processors.Sequence([before, closing])
    filler = _filler(splitter, core, words.name)
    return Encoder(
        architecture,
        module,
        vision,
        architecture.network.prepared(AutoImageProcessor.from_pretrained(pictures.identifier, **pictures.where)),
        core,
        filler,
        splitter.pad_token_id if splitter.pad_token_id is not None else filler,
        version,
    )


def _filler(splitter: Any, core: Tokenizer, name: str) -> int:
    """The mask token, or the unknown one; where there is neither, as in CLIP and Qwen2-VL, a full stop."""
    framing = {splitter.bos_token_id, splitter.eos_token_id, splitter.pad_token_id}
    stop = core.encode(".", add_special_tokens=False).ids
    choices = (splitter.mask_token_id, splitter.unk_token_id, stop[0] if stop else None)
    for choice in choices:
        if isinstance(choice, int) and choice not in framing:
            return choice
    raise ModelUnavailable(f"{name!r} has no mask token, unknown token or full stop for a removed word's place.")


def _check_complete(source: Source, missing: frozenset[str], unread: tuple[str, ...]) -> None:
    lacking = sorted(name for name in missing if not any(part in name for part in unread))
    if lacking:
        raise ModelUnavailable(f"{source.name!r} is not complete: it has no weights for {', '.join(lacking[:3])}.")
