"""The process in which the library opens foreign tokenizers, and makes one file of each: a tokenizer.json as text.

Its import takes a second, so it stays for the next one; on Linux each is opened in a fork.
"""

import importlib.util
from importlib import import_module
from typing import Any

from explainers.models.foreign.process_limits import can_fork, library_config, limit_memory, serve, serve_in_forks

LONGEST_MESSAGE = 40_000  # characters of a prompt in the chat format
MEMORY = 3 * 2**30  # bytes; the conversion of a sentencepiece model with 250,000 pieces takes one


def open_tokenizer(request: dict[str, Any]) -> dict[str, Any]:
    """The tokenizer of `folder`; with `ends` it writes the end token after a text. `chat` is a message that is put into
    its chat format."""
    from tokenizers import processors
    from transformers import AutoTokenizer

    options = {"trust_remote_code": False, "local_files_only": True}
    if request["config"] is not None:
        options["config"] = library_config(request["config"])
    splitter = AutoTokenizer.from_pretrained(request["folder"], **options)
    if not splitter.is_fast:
        return {"fast": False}
    core = splitter.backend_tokenizer
    core.no_padding()
    core.no_truncation()
    if request["ends"]:
        end = splitter.eos_token
        closing = processors.TemplateProcessing(single=f"$A {end}", special_tokens=[(end, splitter.eos_token_id)])
        before = core.post_processor
        core.post_processor = closing if before is None else processors.Sequence([before, closing])
    rendered = "" if request["chat"] is None else in_chat_format(splitter, request["chat"])
    vocabulary, special = core.get_vocab(with_added_tokens=True), set(splitter.all_special_ids)
    return {
        "fast": True,
        "rendered": rendered,
        "tokenizer": core.to_str(),
        "longest": int(splitter.model_max_length),
        "segmented": "token_type_ids" in splitter.model_input_names,
        "largest": max(vocabulary.values(), default=-1),
        "words": len(set(vocabulary.values()) - special),
        "stop": (core.encode(".", add_special_tokens=False).ids or [None])[0],
        **{name: getattr(splitter, f"{name}_token_id") for name in ("mask", "unk", "pad", "bos", "eos")},
    }


def in_chat_format(splitter: Any, message: str) -> str:
    """A message of the user, up to where the answer begins; the token that begins a text is left to the tokenizer."""
    if not splitter.chat_template:
        raise ValueError("it has no chat format. Set chat to false in the prompt")
    turns = [{"role": "user", "content": message}]
    rendered: str = splitter.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    if len(rendered) > LONGEST_MESSAGE:
        raise ValueError(f"its chat format makes {len(rendered):,} characters of the prompt")
    begins = splitter("")["input_ids"][:1] == [splitter.bos_token_id]
    return rendered.removeprefix(splitter.bos_token) if begins and splitter.bos_token else rendered


def without_torch() -> None:
    """Tokenizers do not need torch, whose import takes longer than all else here."""
    find = importlib.util.find_spec
    importlib.util.find_spec = lambda name, package=None: None if name == "torch" else find(name, package)


if __name__ == "__main__":
    without_torch()
    import_module("transformers.models.auto.tokenization_auto")  # while the caller still loads the model
    if can_fork():
        serve_in_forks(open_tokenizer, MEMORY)
    else:
        limit_memory(MEMORY)
        serve(open_tokenizer)
