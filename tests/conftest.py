"""Models small enough to be explained with pencil and paper, and a small BERT whose weights mean nothing.

How close two numbers must be follows from fp32: in other batches, with other threads or on another processor a layer's
sums come in another order, which moves probabilities by up to 1e-5, hidden states by 5e-5 and logarithms of
probabilities by 1e-4. Bits are equal only in one process, for the same batches.
"""

import gc
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from streamlit.components.v2 import manifest_scanner
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.attribution import solvex
from explainers.commands import training as fit_module
from explainers.datasets.images.sets import ImageFiles
from explainers.installation import STORE_VARIABLE
from explainers.learned.recipe import trained_parameters
from explainers.learned.recipes import RECIPES
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS
from explainers.metrics.faithfulness import METRICS
from explainers.models import batching
from explainers.models.bundle_cards import BUNDLES
from explainers.models.calls import Meter
from explainers.models.catalog import load_bundle
from explainers.models.foreign import opened_tokenizer
from explainers.models.frozen_model import FrozenModel
from explainers.models.internals import classifier_head
from explainers.models.text.base_weights import sha256
from explainers.models.text.bundle import PooledClassifier
from explainers.narrative import fit as narrative_command
from explainers.narrative import generation
from explainers.narrative import language as languages
from explainers.narrative.interchange import linear_layers
from explainers.narrative.language import LONGEST, language_of, vocabulary
from explainers.narrative.narrator import Narrator
from explainers.narrative.recipe import NarratorRecipe
from explainers.results import registry
from explainers.training.spec import FitSpec

registry.entry_points = lambda **_: ()  # type: ignore[assignment]  # whatever else is installed, tests are about this
METHODS.reload()
METRICS.reload()

opened_tokenizer.KEPT = 100  # a process opens each tokenizer of the tests once, which takes some two seconds

# Streamlit reads the metadata of every installed package for every `AppTest`, which takes most of a second.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)

torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"  # for the processes that tests start
os.environ["CROSSLIGHT_BUDGET"] = "0"  # what a comparison computes must not depend on how busy the machine is


def pytest_collection_finish() -> None:
    """What has been imported and collected stays to the end: the garbage collector need not look through it again."""
    gc.collect()
    gc.freeze()


SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PIECES = ("good", "bad", "film", "the", "was", "a", "not", "dull", "plot", "very", "un", "##watch", "##able", "!", ",")


def word_piece(pieces: tuple[str, ...]) -> Tokenizer:
    """BERT's tokenizer with a vocabulary of its special tokens and `pieces`."""
    vocabulary = {piece: number for number, piece in enumerate((*SPECIAL, *pieces))}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


class Weights(nn.Module):
    """A token's embedding is its weight: (B, L) → (B, L, 1)."""

    def __init__(self, weights: Tensor) -> None:
        super().__init__()
        self.table = nn.Embedding.from_pretrained(weights[:, None])

    def forward(self, input_ids: Tensor | None = None, inputs_embeds: Tensor | None = None) -> Tensor:
        embeddings: Tensor = self.table(input_ids) if inputs_embeds is None else inputs_embeds
        return embeddings


class Base(nn.Module):
    """`attentions` are what it says that it attends to; nothing is computed with them."""

    def __init__(self, weights: Tensor) -> None:
        super().__init__()
        self.embeddings = Weights(weights)
        self.attentions: tuple[Tensor, ...] = ()

    def get_input_embeddings(self) -> nn.Module:
        return self.embeddings.table

    def forward(self, input_ids: Tensor, **_rest: object) -> SimpleNamespace:
        embeddings = self.embeddings(input_ids)
        return SimpleNamespace(hidden_states=(embeddings, embeddings), attentions=self.attentions)


@dataclass
class Received:
    """What the model really got: the embeddings are those after the hook, if there was one."""

    rows: list[int] = field(default_factory=list)
    ids: list[list[int]] = field(default_factory=list)
    embeddings: list[list[float]] = field(default_factory=list)
    attention: list[list[int] | None] = field(default_factory=list)


class Bag(nn.Module):
    """A bag of words: z = Σ weights; p(positive) is σ(z), or 1/2 + z where it is `additive`."""

    def __init__(self, weights: Tensor, *, additive: bool) -> None:
        super().__init__()
        self.base_model = Base(weights)
        self.additive = additive
        self.attention_received = Received()
        self.memory = 10**9  # rows that fit into one batch

    def forward(
        self,
        input_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
    ) -> Tensor:
        embedded = self.base_model.embeddings(input_ids, inputs_embeds)  # (B, L, 1)
        self.attention_received.rows.append(len(embedded))
        if len(embedded) > self.memory:
            raise torch.OutOfMemoryError("injected")
        self.attention_received.embeddings += embedded[:, :, 0].tolist()
        self.attention_received.ids += [] if input_ids is None else input_ids.tolist()
        self.attention_received.attention += (
            [None] * len(embedded) if attention_mask is None else attention_mask.tolist()
        )
        present = 1.0 if attention_mask is None else attention_mask[:, :, None]
        z = (embedded * present).sum(dim=(1, 2))  # (B,)
        if self.additive:
            return torch.stack([torch.log(0.5 - z), torch.log(0.5 + z)], dim=1)
        return torch.stack([torch.zeros_like(z), z], dim=1)


def bag_of_words(weights: dict[str, float], *, additive: bool = False) -> FrozenModel:
    """Class 1 is "positive". Special tokens, [MASK] and unknown words weigh nothing."""
    pieces = tuple(weights)
    table = torch.tensor([0.0] * len(SPECIAL) + [weights[piece] for piece in pieces], dtype=torch.float64)
    return FrozenModel(
        name="bag",
        labels=("negative", "positive"),
        module=Bag(table, additive=additive),
        tokenizer=word_piece(pieces),
        mask_token=SPECIAL.index("[MASK]"),
        pad_token=SPECIAL.index("[PAD]"),
        version="1",
    )


@pytest.fixture
def bag() -> Callable[..., FrozenModel]:
    """Builds a model of class 1 "positive" from word weights: p = σ(Σ weights), or 1/2 + Σ weights if `additive`."""
    return bag_of_words


@pytest.fixture
def pieces_tokenizer() -> Callable[[tuple[str, ...]], Tokenizer]:
    return word_piece


def small_config() -> BertConfig:
    return BertConfig(
        vocab_size=len(SPECIAL) + len(PIECES),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        id2label={0: "negative", 1: "neutral", 2: "positive"},
        label2id={"negative": 0, "neutral": 1, "positive": 2},
        initializer_range=0.4,  # large enough for every word to change the answer
        attn_implementation="eager",
    )


@pytest.fixture(scope="session")
def embedded() -> Callable[[str], FrozenModel]:
    """The shipped models by name, each loaded once; tests that need one are skipped where its bundle is not there."""

    @cache
    def model(name: str) -> FrozenModel:
        if not (BUNDLES / name).is_dir():
            pytest.skip(f"the bundle {name} is not in assets/bundles")
        return load_bundle(BUNDLES / name, torch.device("cpu"))

    return model


@pytest.fixture
def bert() -> FrozenModel:
    """Two layers of random weights, three classes, the real architecture."""
    return small_bert()


def small_bert() -> FrozenModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = BertForSequenceClassification(small_config())
    return FrozenModel(
        name="small",
        labels=("negative", "neutral", "positive"),
        module=module,
        tokenizer=word_piece(PIECES),
        mask_token=SPECIAL.index("[MASK]"),
        pad_token=SPECIAL.index("[PAD]"),
        version="1",
    )


@pytest.fixture
def pairs() -> FrozenModel:
    """The small BERT as a model that needs a premise and a hypothesis."""
    return replace(small_bert(), input_names=("premise", "hypothesis"))


@pytest.fixture(scope="session")
def small_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which every learned method has weights, freshly drawn, for the small BERT."""
    store = tmp_path_factory.mktemp("store")
    folder = store / "learned" / "small-1"
    folder.mkdir(parents=True)
    model = small_bert()
    for method, recipe in RECIPES.items():
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(2)
            weights = {name: 3 * weight.half() for name, weight in trained_parameters(recipe().module(model)).items()}
        name = f"{method}-{METHODS.get(method).default_variant}"
        save_file(weights, folder / f"{name}.safetensors")
        checksum = sha256(folder / f"{name}.safetensors")
        card = {"recipe": asdict(recipe()), "model": {"name": "small", "version": "1"}, "sha256": checksum}
        (folder / f"{name}.json").write_text(json.dumps(card))
    return store


@pytest.fixture(autouse=True)
def store(small_store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the store of the person who runs it."""
    monkeypatch.setenv(STORE_VARIABLE, str(small_store))
    return small_store


@pytest.fixture
def hub_folder(tmp_path: Path, bert: FrozenModel) -> Path:
    """The small BERT as anyone would save it for the hub."""
    folder = tmp_path / "models" / "small"
    bert.module.save_pretrained(folder)  # type: ignore[operator]
    PreTrainedTokenizerFast(
        tokenizer_object=bert.tokenizer,
        **{f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")},
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    ).save_pretrained(folder)
    return folder


@pytest.fixture
def base_files(tmp_path: Path) -> Path:
    """A small encoder in the files of the base weights."""
    folder = tmp_path / "base"
    folder.mkdir()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        encoder = BertModel(small_config(), add_pooling_layer=False)
    save_file(encoder.state_dict(), folder / "model.safetensors")
    encoder.config.to_json_file(folder / "config.json")
    word_piece(PIECES).save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def narrow_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """SolveX carries on two sets of each size: what holds for every method does not depend on how many."""
    monkeypatch.setattr(solvex, "BEAM", 2)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 32 tokens go through the model at once, so that even a short text needs several batches."""
    monkeypatch.setitem(batching.TOKENS_PER_BATCH, "cpu", 32)


class Stopping(Meter):
    """Is stopped by the person while its first batch runs; counts the batches that were let in."""

    batches = 0

    @contextmanager
    def batch(self, rows: int) -> Iterator[None]:
        with super().batch(rows):
            self.cancel.set()
            self.batches += 1
            yield


@pytest.fixture
def stopping() -> Meter:
    return Stopping()


@pytest.fixture
def masks_of() -> Callable[[int], np.ndarray]:
    """Every subset of `units` units, one per row; the first row is empty and the last one full."""

    def every(units: int) -> np.ndarray:
        return (np.arange(2**units)[:, None] >> np.arange(units)) % 2 == 1

    return every


LABELS = ("entailment", "neutral", "contradiction")


def speaking_model() -> FrozenModel:
    """The small BERT with the head of the embedded models, for pairs."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        module = PooledClassifier(BertModel(small_config(), add_pooling_layer=False), len(LABELS))
        for layer in linear_layers(module.head):
            layer.weight.data *= 4  # large enough for different pairs to get different classes
    return FrozenModel(
        name="speaker",
        labels=LABELS,
        module=module.requires_grad_(False).eval(),
        tokenizer=word_piece(PIECES),
        mask_token=SPECIAL.index("[MASK]"),
        pad_token=SPECIAL.index("[PAD]"),
        version="1",
        input_names=("premise", "hypothesis"),
        mean_pooled=True,
    )


@pytest.fixture
def speaker() -> FrozenModel:
    return speaking_model()


@pytest.fixture(scope="session")
def narrator_files(small_store: Path) -> tuple[str, ...]:
    """Every narrator as files in the store, tiny, and fitted to the `speaker` by nothing but chance."""
    folder = small_store / "narrative" / "speaker-1"
    folder.mkdir(parents=True)
    words = vocabulary(
        [f"The answer is {label} because the film was {word}." for label in LABELS for word in PIECES], LABELS
    )
    for entry in NARRATORS:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(4)
            narrator = Narrator(
                classifier_head(speaking_model()),
                tiny(words.get_vocab_size(), reads_tokens=entry.reads_tokens),
                language_of(words),
                entry.losses,
                layer=int(entry.reads_tokens),
                reads=entry.reads,
            )
        weights = {name: tensor.half() for name, tensor in narrator.kept().items()}
        path = folder / f"{entry.id}.safetensors"
        save_file(weights, path)
        words.save(str(path.with_suffix(".words.json")))
        recipe, model = (
            asdict(NarratorRecipe(losses=entry.losses, layer=int(entry.reads_tokens), reads=entry.reads)),
            {"name": "speaker", "version": "1"},
        )
        path.with_suffix(".json").write_text(json.dumps({"recipe": recipe, "model": model, "sha256": sha256(path)}))
    return tuple(entry.id for entry in NARRATORS)


@pytest.fixture
def narrators(
    narrator_files: tuple[str, ...], small_language: None, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, ...]:
    """The ids of the narrators that are fitted to the `speaker`; few of their sentences would end by themselves."""
    monkeypatch.setattr(generation, "LONGEST", 12)
    return narrator_files


def tiny(size: int, _name: str = "", *, reads_tokens: bool = False) -> GPT2LMHeadModel:
    """As `language.small`, with one layer of 16."""
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=size,
            n_positions=LONGEST + 8,
            n_embd=16,
            n_layer=1,
            n_head=2,
            add_cross_attention=reads_tokens,
            bos_token_id=None,
            eos_token_id=None,
        )
    )


@pytest.fixture
def tiny_language() -> Callable[..., GPT2LMHeadModel]:
    return tiny


@pytest.fixture
def small_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the small language model is built, it is tiny."""
    monkeypatch.setattr(languages, "new_language_model", tiny)
    monkeypatch.setattr(narrative_command, "new_language_model", tiny)


@pytest.fixture
def esnlive(tmp_path: Path) -> Callable[..., tuple[Path, ImageFiles]]:
    """Writes a set in the form of e-SNLI-VE: images of 32 × 32, PNG and JPEG, and two hypotheses about each."""

    def write(images: int = 40) -> tuple[Path, ImageFiles]:
        folder, rows = tmp_path / "flickr30k", ["Flickr30kID,hypothesis,gold_label,explanation"]
        folder.mkdir()
        for number in range(images):
            name = f"{number}.{('png', 'jpg')[number % 2]}"
            pixels = np.random.default_rng(number).integers(0, 256, (32, 32, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name)
            rows += [
                f"{name},the red box {number}{end},{LABELS[(number + at) % 3]},for reason{number}{end} ."
                for at, end in enumerate("ab")
            ]
        path = tmp_path / "esnlive_train.csv"
        path.write_text("\n".join(rows) + "\n")
        return path, ImageFiles("esnlive", folder)

    return write


@pytest.fixture
def as_typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Sequence[str]], FitSpec]:
    """The training that the command line makes of the words `python -m explainers fit …`. Nothing is fitted, and the
    folder of the images need not be there."""
    monkeypatch.setattr("explainers.commands.options.image_files", lambda *_: None)

    def parsed(words: Sequence[str]) -> FitSpec:
        specs: list[FitSpec] = []
        monkeypatch.setattr(fit_module, "run_fit", lambda spec, _say: specs.append(spec))
        result = CliRunner().invoke(app, words[3:])
        assert result.exit_code == 0, result.output
        return specs[0]

    return parsed
