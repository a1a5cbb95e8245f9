"""The model as a peer expects it: a `PreTrainedModel` with its tokenizer."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from transformers import PreTrainedTokenizerFast
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.models.bert.configuration_bert import BertConfig
from transformers.models.bert.modeling_bert import BertModel, BertPreTrainedModel

from explainers.models.text.bundle import PooledClassifier


class MeanPooledForSequenceClassification(BertPreTrainedModel):  # type: ignore[misc]
    """`SequenceClassifierOutput` with the logits of a `PooledClassifier`; interpreto goes by the end of its name."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        self.network = PooledClassifier(BertModel(config, add_pooling_layer=False), config.num_labels)

    def forward(
        self,
        input_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        inputs_embeds: torch.Tensor | None = None,
        **_options: Any,
    ) -> SequenceClassifierOutput:
        inputs = {"input_ids": input_ids, "token_type_ids": token_type_ids, "inputs_embeds": inputs_embeds}
        attention = None if attention_mask is None else attention_mask.long()
        given = {name: tensor for name, tensor in inputs.items() if tensor is not None}
        return SequenceClassifierOutput(logits=self.network(attention_mask=attention, **given))

    def get_input_embeddings(self) -> torch.nn.Module:
        table: torch.nn.Module = self.network.base_model.get_input_embeddings()
        return table

    def set_input_embeddings(self, value: torch.nn.Module) -> None:
        self.network.base_model.set_input_embeddings(value)


def load_classifier(folder: Path) -> tuple[MeanPooledForSequenceClassification, PreTrainedTokenizerFast]:
    """From a folder that `write_model` wrote."""
    config = BertConfig(**json.loads((folder / "config.json").read_text(encoding="utf-8")))
    model = MeanPooledForSequenceClassification(config)
    model.network.load_state_dict(load_file(folder / "weights.safetensors"))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"),
        cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]", pad_token="[PAD]", unk_token="[UNK]",
        model_max_length=256,
    )  # fmt: skip
    return model.eval(), tokenizer
