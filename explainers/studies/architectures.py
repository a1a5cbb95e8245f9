"""Small models of every family in which one planted word decides, and the rank that each method gives to the word.

Each model has two layers of random weights and is trained until it tells texts with the word from texts without it.
It is saved to a folder and opened as anybody's model is, and the methods that learn are fitted to it. So a row tells
whether the family can be explained at all, what each method answers on it, and why one does not answer.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor
from torch.nn import functional

from explainers.api import explain
from explainers.errors import ExplanationError, ModelUnavailable
from explainers.evaluation.record_file import Record
from explainers.installation import ASSETS
from explainers.learned.fit import make
from explainers.methods.registry import method_spec
from explainers.models.catalog import load
from explainers.models.frozen_model import FrozenModel
from explainers.report.tables import Table, TableColumn, command_block
from explainers.training.spec import FitSpec

DOCUMENT, STORED = ASSETS / "docs" / "architectures.md", ASSETS / "studies" / "architectures.json"

PLANTED = "zorp"
WORDS = (
    *("the", "a", "film", "plot", "scene", "actor", "story", "music", "camera", "ending", "was", "is", "seemed"),
    *("felt", "looked", "quite", "rather", "very", "slightly", "long", "short", "loud", "quiet", "bright", "early"),
    *("late", "new", "old", "here", "there", "and", "but"),
)
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<|endoftext|>")
PAD, UNK, CLS, SEP, MASK, END = 0, 1, 2, 3, 4, 5
LABELS = {0: "without", 1: "with"}
METHODS = (
    *("integrated_gradients", "gradient_x_input", "lime", "kernel_shap", "occlusion", "attention_mean"),
    *("decompx", "globenc", "alti"),
)
LEARNED = ("aml", "cimi", "ciem", "ivra", "cxplain")
CONTROL = "random"
FEWEST, MOST = 6, 12  # words of a text
STEPS, CHECKED, BATCH, RATE = 1000, 50, 32, 3e-3  # of the training, which ends as soon as it is right
ENOUGH = 0.99  # of the held-out texts
ERASED = 0.3  # share of the words that are masked in training, so that erased texts are known
FITTED, EPOCHS = 300, 4  # texts and epochs of the learned methods

SIZE: Mapping[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
    "pad_token_id": PAD,
}
PARTS = {"layers": 2, "attention_heads": 4, "ffn_dim": 64}
DECODER: Mapping[str, Any] = {**SIZE, "bos_token_id": END, "eos_token_id": END}
GROUPED: Mapping[str, Any] = {**DECODER, "num_key_value_heads": 2}
BART: Mapping[str, Any] = {
    **{"d_model": 32, "max_position_embeddings": 64},
    **{f"{part}_{size}": number for part in ("encoder", "decoder") for size, number in PARTS.items()},
    **{"pad_token_id": PAD, "bos_token_id": CLS, "eos_token_id": SEP, "decoder_start_token_id": SEP},
}
T5: Mapping[str, Any] = {
    **{"d_model": 32, "num_layers": 2, "num_heads": 4, "d_kv": 8, "d_ff": 64},
    **{"pad_token_id": PAD, "eos_token_id": SEP, "decoder_start_token_id": PAD},
}
METHODS_AND_LEARNED = (*METHODS, *LEARNED)
HEAD = (
    "# Which architectures can be explained\n\n"
    "Small models of two layers, one per family of `transformers`, each trained until one planted word decides its "
    "class, saved to a folder and opened like any other model. A cell is the mean rank of that word among the "
    f"{FEWEST} to {MOST} words of a text, 1 being the highest score; by chance it is about 5. The learned methods were "
    "fitted for a few epochs on few texts, so their ranks say that they work and not how good they can be. The "
    "operator is that which the command line takes by default. A dash stands for a reason below. Gradient × input is "
    "the slope at the text, which is nearly flat where a model is as sure as these are: the sign of next to nothing "
    "may put the word last."
)


@dataclass(frozen=True)
class Family:
    """`kind` is the library's model_type; `settings` are those of its configuration.

    `form` is how its tokenizer writes a text, and `masks` whether that has a mask token; a decoder's does neither.
    """

    kind: str
    settings: Mapping[str, Any] = field(default_factory=lambda: SIZE)
    decoder: bool = False
    encoder_decoder: bool = False
    form: str = "[CLS] $A [SEP]"
    masks: bool = True

    @property
    def erasing(self) -> int:
        """The id of what stands for erased words."""
        return END if self.decoder else MASK if self.masks else UNK


FAMILIES = (
    Family("bert"),
    Family("roberta"),
    Family("xlm-roberta"),
    Family("electra", {**SIZE, "embedding_size": 16}),
    Family("albert", {**SIZE, "embedding_size": 16}),
    Family("distilbert", {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "pad_token_id": PAD}),
    Family("deberta-v2", {**SIZE, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    Family("mpnet"),
    Family("modernbert", {**SIZE, "cls_token_id": CLS, "sep_token_id": SEP, "bos_token_id": CLS, "eos_token_id": SEP}),
    Family(
        "mobilebert", {**SIZE, "embedding_size": 32, "intra_bottleneck_size": 32, "normalization_type": "layer_norm"}
    ),
    Family("convbert", {**SIZE, "embedding_size": 32}),
    Family("longformer", {**SIZE, "attention_window": [8, 8]}),
    Family("gpt2", {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "pad_token_id": PAD}, decoder=True),
    Family("gpt_neo", {**DECODER, "num_layers": 2, "attention_types": [[["global"], 2]]}, decoder=True),
    Family("gptj", {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4, "pad_token_id": PAD}, decoder=True),
    Family("gpt_neox", DECODER, decoder=True),
    Family("opt", {**DECODER, "word_embed_proj_dim": 32, "ffn_dim": 64}, decoder=True),
    Family("bloom", {"hidden_size": 32, "n_layer": 2, "n_head": 4, "pad_token_id": PAD}, decoder=True),
    Family("llama", GROUPED, decoder=True),
    Family("mistral", GROUPED, decoder=True),
    Family("mixtral", {**GROUPED, "num_local_experts": 2}, decoder=True),
    Family("qwen3", {**GROUPED, "head_dim": 8}, decoder=True),
    Family("gemma", {**GROUPED, "head_dim": 8}, decoder=True),
    Family("gemma2", {**GROUPED, "head_dim": 8}, decoder=True),
    Family("phi", DECODER, decoder=True),
    Family("phi3", GROUPED, decoder=True),
    Family("stablelm", GROUPED, decoder=True),
    Family("xlnet", {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64, "pad_token_id": PAD}),
    Family("bart", BART, encoder_decoder=True),
    Family("mbart", BART, encoder_decoder=True, form="$A [SEP] [CLS]"),  # a code of the language comes last
    Family("t5", T5, encoder_decoder=True, form="$A [SEP]", masks=False),
    Family("mt5", T5, encoder_decoder=True, form="$A [SEP]", masks=False),
    Family("umt5", T5, encoder_decoder=True, form="$A [SEP]", masks=False),
)


def texts_of(count: int, part: str) -> list[tuple[str, int]]:
    """Return the texts of a part with their class: 1 where the planted word is among them, in every other one."""
    draw = random.Random(part)  # a name, so that no part is drawn as another one
    made = []
    for number in range(count):
        words = draw.choices(WORDS, k=draw.randint(FEWEST, MOST))
        if number % 2:
            words[draw.randrange(len(words))] = PLANTED
        made.append((" ".join(words), number % 2))
    return made


def tokenizer_of(family: Family) -> Any:
    """Return a tokenizer of the library with a token per word."""
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate((*SPECIAL, *WORDS, PLANTED))}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    if family.decoder:
        return PreTrainedTokenizerFast(
            tokenizer_object=core,
            pad_token=SPECIAL[PAD],
            eos_token=SPECIAL[END],
            bos_token=SPECIAL[END],
            model_input_names=["input_ids", "attention_mask"],
        )
    core.post_processor = processors.TemplateProcessing(
        single=family.form, special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token=SPECIAL[PAD],
        unk_token=SPECIAL[UNK],
        cls_token=SPECIAL[CLS],
        sep_token=SPECIAL[SEP],
        mask_token=SPECIAL[MASK] if family.masks else None,
        model_input_names=["input_ids", "attention_mask"],
    )


def trained_folder(family: Family, folder: Path, seed: int) -> float:
    """Train a model of the family, save it to the folder and return its accuracy on texts that it has not seen."""
    from transformers import CONFIG_MAPPING, AutoModelForSequenceClassification

    torch.manual_seed(seed)
    tokenizer = tokenizer_of(family)
    config = CONFIG_MAPPING[family.kind](
        **family.settings, vocab_size=len(SPECIAL) + len(WORDS) + 1, num_labels=2, id2label=LABELS
    )
    network = AutoModelForSequenceClassification.from_config(config)
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE)
    accuracy = 0.0
    for step in range(STEPS):
        ids, attention, classes = batch_of(tokenizer, texts_of(BATCH, f"training {seed}, step {step}"), family.erasing)
        loss = functional.cross_entropy(network(input_ids=ids, attention_mask=attention).logits, classes)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if (step + 1) % CHECKED == 0:
            accuracy = accuracy_of(network, tokenizer)
            if accuracy >= ENOUGH:
                break
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return accuracy


def batch_of(tokenizer: Any, texts: list[tuple[str, int]], erased: int | None) -> tuple[Tensor, Tensor, Tensor]:
    """Return ids (B, L), attention (B, L) and classes (B); with `erased` some words but the planted one become that."""
    encoded = tokenizer([text for text, _ in texts], return_tensors="pt", padding=True)
    ids, attention = encoded["input_ids"], encoded["attention_mask"]
    if erased is not None:
        ordinary = (ids >= len(SPECIAL)) & (ids < len(SPECIAL) + len(WORDS))
        ids = torch.where(ordinary & (torch.rand(ids.shape) < ERASED), erased, ids)
    return ids, attention, torch.tensor([label for _, label in texts])


@torch.no_grad()
def accuracy_of(network: Any, tokenizer: Any) -> float:
    """Return the share of 200 held-out texts whose class is right."""
    network.eval()
    ids, attention, classes = batch_of(tokenizer, texts_of(200, "held out"), None)
    right = network(input_ids=ids, attention_mask=attention).logits.argmax(1) == classes
    network.train()
    return float(right.float().mean())


def measured(family: Family, folder: Path, inputs: int, seed: int) -> Record:
    """Return the row of a family: accuracy, the ranks of the planted word by method, and reasons where there are none.

    `refused` is the sentence where the model cannot be opened, and `reasons` those of single methods.
    """
    row: Record = {"family": family.kind, "decoder": family.decoder, "encoder_decoder": family.encoder_decoder}
    row |= {"accuracy": 0.0, "ranks": {}, "reasons": {}}
    path = folder / family.kind
    try:
        row["accuracy"] = trained_folder(family, path, seed)
        model = load(str(path), device="cpu")
    except ModelUnavailable as error:
        return {**row, "refused": str(error).replace(repr(str(path)), "It")}
    data = folder / "texts.txt"
    data.write_text("\n".join(text for text, _ in texts_of(FITTED, "fitted")) + "\n", encoding="utf-8")
    for method in LEARNED:
        spec = FitSpec(method, str(path), str(data), seed=seed, settings=(("epochs", str(EPOCHS)),))
        try:
            make(spec, model, folder / f"{family.kind}-{method}", None, resume=False)
        except ExplanationError as error:
            row["reasons"][method] = str(error).replace(str(path), "It")
    ranks, failures = ranks_of(model, inputs, tuple(method for method in LEARNED if method not in row["reasons"]))
    row["ranks"], row["erasure"] = ranks, model.default_erasure
    named = {method: reason.replace(str(path), "the model") for method, reason in failures.items()}
    row["reasons"] = named | row["reasons"]
    return row


def ranks_of(
    model: FrozenModel, inputs: int, learned: tuple[str, ...]
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Return the rank of the planted word (1: the highest score; equal scores share ranks) by method and input."""
    ranks: dict[str, list[float]] = {}
    failures: dict[str, str] = {}
    texts = [text for text, label in texts_of(2 * inputs, "explained") if label == 1]
    for text in texts:
        comparison = explain(model, text, methods=(*METHODS, *learned, CONTROL), label=LABELS[1])
        units = [unit.text for unit in comparison.decision.encoding.units]
        failures |= {failure.method: failure.reason for failure in comparison.failures}
        for result in comparison.results:
            if result.attribution.method in (*METHODS, *LEARNED):
                scores = np.asarray(result.attribution.scores)
                own = scores[units.index(PLANTED)]
                rank = float((scores > own).sum() + (1 + (scores == own).sum()) / 2)
                ranks.setdefault(result.attribution.method, []).append(rank)
    return ranks, failures


def documented(stored: Record) -> str:
    """Return the document of the stored rows."""
    rows: Sequence[Record] = stored["rows"]
    opened = [row for row in rows if "refused" not in row]
    parts = [HEAD, command_block(stored["command"])]
    for title in ("Encoders", "Decoders", "Encoder-decoders"):
        parts += [f"## {title}", RANKS.markdown([row for row in opened if _title(row) == title])]
    reasons = [(row["family"], ", ".join(names), reason) for row in opened for reason, names in reasons_of(row).items()]
    refused = [(row["family"], "all", row["refused"]) for row in rows if "refused" in row]
    parts += ["## What does not work, and why", REASONS.markdown([*reasons, *refused])]
    return "\n\n".join(parts) + "\n"


def reasons_of(row: Record) -> dict[str, list[str]]:
    """Return the names of the methods without ranks by reason."""
    names: dict[str, list[str]] = {}
    for method in sorted(row["reasons"].keys() - row["ranks"].keys(), key=METHODS_AND_LEARNED.index):
        names.setdefault(row["reasons"][method], []).append(method_spec(method).name)
    return names


def _title(row: Record) -> str:
    if row.get("encoder_decoder"):
        return "Encoder-decoders"
    return "Decoders" if row["decoder"] else "Encoders"


def _rank(method: str) -> Callable[[Record], Any]:
    return lambda row: float(np.mean(row["ranks"][method])) if row["ranks"].get(method) else None


RANKS: Table[Record] = Table(
    (
        TableColumn("family", lambda row: f"`{row['family']}`"),
        TableColumn("accuracy", lambda row: row["accuracy"], ".2f"),
        TableColumn("operator", lambda row: row["erasure"]),
        *(TableColumn(method_spec(method).name, _rank(method), ".1f") for method in METHODS_AND_LEARNED),
    )
)
REASONS: Table[tuple[str, str, str]] = Table(
    (
        TableColumn("family", lambda row: f"`{row[0]}`"),
        TableColumn("method", lambda row: row[1]),
        TableColumn("reason", lambda row: row[2]),
    )
)
