"""The five architectures as small folders, drawn by chance, with a tokenizer each and the library's own processors."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tokenizers import Tokenizer, pre_tokenizers, processors
from tokenizers.models import WordLevel
from torch import nn
from transformers import (
    AutoImageProcessor,
    AutoTokenizer,
    CLIPConfig,
    CLIPModel,
    FlavaConfig,
    FlavaModel,
    PreTrainedTokenizerFast,
    Qwen2VLConfig,
    Qwen2VLModel,
    ResNetConfig,
    ResNetModel,
    SwinConfig,
    SwinModel,
    ViltConfig,
    ViltForQuestionAnswering,
    VisualBertConfig,
    VisualBertModel,
    ViTConfig,
    ViTModel,
)

from explainers.datasets.example import Example, InputImage
from explainers.models.calls import Meter
from explainers.models.catalog import load
from explainers.models.multimodal.head_training import HeadRecipe, fit_head
from explainers.models.multimodal.model import MultimodalModel
from explainers.models.multimodal.network import FusionShape

WORDS = ("is", "the", "cat", "red", "a", "box", "on", "top", "of", "dog", ".", "?")
LABELS = ("no", "yes", "maybe")
SIDE = 32  # pixels of the small models' images
SMALL: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "initializer_range": 0.3,
}
SQUARE = {"height": SIDE, "width": SIDE}


def splitter(special: dict[str, str], template: str) -> PreTrainedTokenizerFast:
    """Words are tokens. `special` are names of the library with their tokens, which are numbered from 0."""
    tokens = [*special.values(), "<start>", "<end>", "<picture>", "<film>", *WORDS]
    vocabulary = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    core = Tokenizer(WordLevel(vocabulary, unk_token=special.get("unk_token", ".")))
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = [(token, number) for token, number in vocabulary.items() if token in special.values()]
    if template:
        core.post_processor = processors.TemplateProcessing(single=template, special_tokens=specials)
    return PreTrainedTokenizerFast(
        tokenizer_object=core, model_input_names=["input_ids", "token_type_ids", "attention_mask"], **special
    )


BERT = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
BERT_LIKE = splitter(BERT, "[CLS] $A [SEP]")
SIZE = len(BERT_LIKE)


def saved(folder: Path, module: Any, words: PreTrainedTokenizerFast | None, processor: str, **numbers: Any) -> Path:
    module.save_pretrained(folder)
    if words is not None:
        words.save_pretrained(folder)
    plain = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    (folder / "preprocessor_config.json").write_text(json.dumps({"image_processor_type": processor} | plain | numbers))
    return folder


def vilt(folder: Path) -> Path:
    config = ViltConfig(
        vocab_size=SIZE, max_position_embeddings=24, image_size=SIDE, patch_size=8, num_labels=3,
        id2label=dict(enumerate(LABELS)), label2id={name: number for number, name in enumerate(LABELS)}, **SMALL,
    )  # fmt: skip
    built = ViltForQuestionAnswering(config)
    size = {"shortest_edge": SIDE}
    return saved(folder, shaken(built), BERT_LIKE, "ViltImageProcessor", size=size, size_divisor=8)


def clip(folder: Path) -> Path:
    words = splitter({"bos_token": "<s>", "eos_token": "</s>", "unk_token": "</s>", "pad_token": "</s>"}, "<s> $A </s>")
    text = SMALL | {"vocab_size": len(words), "max_position_embeddings": 24, "bos_token_id": 0, "eos_token_id": 1}
    built = CLIPModel(
        CLIPConfig(
            text_config=text, vision_config=SMALL | {"image_size": SIDE, "patch_size": 8}, projection_dim=12,
            initializer_factor=4.0,
        )
    )  # fmt: skip
    return saved(folder, shaken(built), words, "CLIPImageProcessor", size={"shortest_edge": SIDE}, crop_size=SQUARE)


def visual_bert(folder: Path) -> Path:
    built = VisualBertModel(VisualBertConfig(vocab_size=SIZE, visual_embedding_dim=24, **SMALL))
    return saved(folder, shaken(built), BERT_LIKE, "none")


def vit(folder: Path) -> Path:
    built = ViTModel(ViTConfig(image_size=SIDE, patch_size=8, **SMALL))
    return saved(folder, shaken(built), None, "ViTImageProcessor", size=SQUARE)


def resnet(folder: Path) -> Path:
    built = ResNetModel(ResNetConfig(embedding_size=8, hidden_sizes=[8, 24], depths=[1, 1], layer_type="basic"))
    return saved(folder, built, None, "ConvNextImageProcessor", size={"shortest_edge": SIDE}, crop_pct=0.875)


def swin(folder: Path) -> Path:
    built = SwinModel(SwinConfig(image_size=SIDE, embed_dim=8, depths=[1, 1], num_heads=[1, 1], window_size=4))
    return saved(folder, built, None, "ViTImageProcessor", size=SQUARE)


def flava(folder: Path) -> Path:
    text = SMALL | {"vocab_size": SIZE, "max_position_embeddings": 24}
    image = SMALL | {"image_size": SIDE, "patch_size": 8}
    built = FlavaModel(
        FlavaConfig(
            text_config=text, image_config=image, multimodal_config=SMALL, image_codebook_config={}, projection_dim=8
        )
    )
    return saved(folder, shaken(built), BERT_LIKE, "FlavaImageProcessor", size=SQUARE, crop_size=SQUARE)


def qwen(folder: Path) -> Path:
    words = splitter({"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}, "")
    number = words.convert_tokens_to_ids
    text = {
        "vocab_size": len(words), "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 1, "initializer_range": 0.3,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]},
    }  # fmt: skip
    vision = {"depth": 1, "embed_dim": 16, "hidden_size": 16, "num_heads": 2, "patch_size": 4, "initializer_range": 0.3}
    marks = {"vision_start": "<start>", "vision_end": "<end>", "image": "<picture>", "video": "<film>"}
    built = Qwen2VLModel(
        Qwen2VLConfig(
            text_config=text, vision_config=vision, **{f"{name}_token_id": number(mark) for name, mark in marks.items()}
        )
    )
    size = {"shortest_edge": 8 * 8, "longest_edge": SIDE * SIDE}
    return saved(folder, shaken(built), words, "Qwen2VLImageProcessor", size=size, patch_size=4, merge_size=2)


def shaken(module: nn.Module) -> nn.Module:
    """Also what the library begins with at 0: positions, image tokens, biases."""
    with torch.no_grad():
        for weight in module.parameters():
            weight += 0.05 * torch.randn_like(weight)
    return module


def photograph(seed: int = 0, height: int = SIDE, width: int = SIDE) -> InputImage:
    """Squares of chance colours with some noise."""
    rng = np.random.default_rng(seed)
    squares = rng.integers(0, 256, (4, 4, 3)).repeat(-(-height // 4), axis=0).repeat(-(-width // 4), axis=1)
    noise = rng.integers(-20, 21, (height, width, 3))
    return InputImage.of((squares[:height, :width] + noise).clip(0, 255).astype(np.uint8))


@dataclass(frozen=True)
class Maker:
    """How a small model is built: its encoder, and how a head is put onto it; ViLT has its own."""

    encoder: Callable[[Path], Path]
    vision: Callable[[Path], Path] | None = None
    headless: bool = True


MAKERS = {
    "vilt": Maker(vilt, headless=False),
    "clip-mfb": Maker(clip),
    "visualbert": Maker(visual_bert, vit),
    "flava": Maker(flava),
    "qwen2-vl": Maker(qwen),
}
RECIPE = HeadRecipe(shape=FusionShape(factors=3, outputs=10), epochs=2, learning_rate=1e-2)


def examples(count: int = 24) -> list[Example]:
    texts = ("is the cat red ?", "a box on top of the dog .", "the cat")
    return [Example(texts[n % 3], label=n % 3, image=photograph(n % 5)) for n in range(count)]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder for each architecture that `load` takes, and beside each what it stands on."""
    result = {}
    for name, maker in MAKERS.items():
        root = tmp_path_factory.mktemp(name)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(1)
            encoder = maker.encoder(root / "encoder")
            vision = maker.vision(root / "vision") if maker.vision else ""
        result[name] = encoder
        if maker.headless:
            fit_head(str(encoder), examples(), LABELS, replace(RECIPE, vision=str(vision)), root / "head")
            result[name] = root / "head"
    return result


@pytest.fixture(scope="session", params=MAKERS)
def loaded(request: pytest.FixtureRequest, folders: dict[str, Path]) -> MultimodalModel:
    """One small model of each architecture."""
    result = load(str(folders[request.param]), device="cpu")
    assert isinstance(result, MultimodalModel)
    return result


@pytest.fixture
def model(loaded: MultimodalModel) -> MultimodalModel:
    return replace(loaded, lock=RLock(), meter=Meter())


def pooled_by_library(name: str, folder: Path, ours: Any, text: str, pixels: np.ndarray) -> torch.Tensor:
    """What the library's own classes and processors make of the input, up to what our head file adds."""
    auto = {"trust_remote_code": False}
    where = folder if name == "vilt" else folder.parent / "encoder"
    image_inputs = AutoImageProcessor.from_pretrained(
        folder.parent / "vision" if name == "visualbert" else where, **auto
    )(images=Image.fromarray(pixels), return_tensors="pt")
    words = AutoTokenizer.from_pretrained(where, **auto)(text, return_tensors="pt")
    if name == "vilt":
        return ViltForQuestionAnswering.from_pretrained(where).vilt(**words, **image_inputs).pooler_output
    if name == "clip-mfb":
        clip = CLIPModel.from_pretrained(where)
        read = {key: words[key] for key in ("input_ids", "attention_mask")}
        text_features = clip.get_text_features(**read).pooler_output
        return torch.cat([text_features, clip.get_image_features(**image_inputs).pooler_output], dim=1)
    if name == "visualbert":
        regions = ViTModel.from_pretrained(folder.parent / "vision")(**image_inputs).last_hidden_state[:, 1:]
        return VisualBertModel.from_pretrained(where)(**words, visual_embeds=ours.projection(regions)).pooler_output
    if name == "flava":
        return FlavaModel.from_pretrained(where)(**words, **image_inputs).multimodal_embeddings[:, 0]
    qwen = Qwen2VLModel.from_pretrained(where)
    count = int(image_inputs["image_grid_thw"].prod()) // 4
    numbers = qwen.config
    around = [numbers.vision_start_token_id, *[numbers.image_token_id] * count, numbers.vision_end_token_id]
    end = AutoTokenizer.from_pretrained(where, **auto).eos_token_id
    ids = torch.tensor([[*around, *words["input_ids"][0].tolist(), end]])
    kinds = (ids == numbers.image_token_id).int()
    return qwen(input_ids=ids, mm_token_type_ids=kinds, **image_inputs).last_hidden_state[:, -1]


@pytest.fixture
def library(model: MultimodalModel, folders: dict[str, Path]) -> Callable[[str, np.ndarray], np.ndarray]:
    """p(class) as the library computes it, (C,)."""
    name = next(name for name, folder in folders.items() if str(folder) == model.name)

    def answered(text: str, pixels: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            result = pooled_by_library(name, folders[name], model.network, text, pixels)
            return model.network.head(model.network.fusion(result)).softmax(dim=-1)[0].double().numpy()

    return answered


@pytest.fixture
def image() -> Callable[..., InputImage]:
    return photograph


@pytest.fixture
def small() -> SimpleNamespace:
    """How the small models and their examples are made."""
    return SimpleNamespace(resnet=resnet, swin=swin, examples=examples, RECIPE=RECIPE)
