"""The architecture of the embedded text models: encoder → mean over the tokens = c → MLP head 384→128→64→C."""

import json
from pathlib import Path

from safetensors.torch import load_file
from torch import Tensor, nn
from transformers.models.bert.configuration_bert import BertConfig
from transformers.models.bert.modeling_bert import BertModel


def mlp_head(width: int, classes: int) -> nn.Sequential:
    """f_h, in which CAuSE later intervenes: three linear layers with ReLU between them."""
    return nn.Sequential(
        nn.Linear(width, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, classes)
    )  # fmt: skip


def base_encoder(folder: Path) -> BertModel:
    """The base encoder without its pooler; eager attention, which can return its weights and be derived twice."""
    config = BertConfig(**json.loads((folder / "config.json").read_text()), attn_implementation="eager")
    model = BertModel(config, add_pooling_layer=False)
    weights = load_file(folder / "model.safetensors")
    model.load_state_dict({name: weights[name] for name in model.state_dict() if name in weights})
    return model


class PooledClassifier(nn.Module):
    """Logits of texts or pairs. The mean runs over all tokens that are not padding, [CLS] and [SEP] included."""

    def __init__(self, base_model: BertModel, classes: int) -> None:
        super().__init__()
        self.base_model = base_model
        self.dropout = nn.Dropout(0.1)
        self.head = mlp_head(base_model.config.hidden_size, classes)

    def forward(self, attention_mask: Tensor | None = None, **inputs: Tensor) -> Tensor:
        """(B, L) ids or (B, L, d) embeddings → (B, C). Without an attention mask every token counts."""
        states = self.base_model(attention_mask=attention_mask, **inputs).last_hidden_state  # (B, L, d)
        if attention_mask is None:
            c = states.mean(1)  # (B, d)
        else:
            attended = attention_mask.to(states.dtype)[:, :, None]  # (B, L, 1)
            c = (states * attended).sum(1) / attended.sum(1)  # (B, d)
        logits: Tensor = self.head(self.dropout(c))
        return logits
