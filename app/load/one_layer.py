"""A classifier of one small layer with random weights, on disk: what is left of the time is the app's own."""

from pathlib import Path

from app.load.scenario import WORDS

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LONGEST = 64  # tokens


def write_one_layer(folder: Path, seed: int = 0) -> Path:
    """Saves the model and its tokenizer, which knows the words of the test's texts, as anyone would for the hub."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    config = BertConfig(
        vocab_size=len(SPECIAL) + len(WORDS),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=LONGEST,
        id2label={0: "negative", 1: "positive"},
        label2id={"negative": 0, "positive": 1},
        initializer_range=0.4,  # large enough for every word to change the answer
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = BertForSequenceClassification(config)
    model.save_pretrained(folder)
    _save_tokenizer(folder)
    return folder


def _save_tokenizer(folder: Path) -> None:
    """A word-piece tokenizer of whole words; any other word is unknown."""
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordPiece
    from transformers import PreTrainedTokenizerFast

    vocabulary = {piece: number for number, piece in enumerate((*SPECIAL, *WORDS))}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=LONGEST,
        **{f"{name[1:-1].lower()}_token": name for name in SPECIAL},
    ).save_pretrained(folder)
