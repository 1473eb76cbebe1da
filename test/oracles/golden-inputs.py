"""Writes golden-inputs.json: text and pictures as Python's libraries turn them into tensors.

pip install numpy tokenizers; run from the repository's root. The tokenizers are of our own making.
"""
import json

import numpy as np
from tokenizers import Tokenizer

rng = np.random.default_rng(7)


def special(ids):
    return [{"id": id, "content": content, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False} for id, content in ids]


WORDS = "[PAD] [UNK] [CLS] [SEP] the quick brown fox jump ##s ##ed over a lazy dog do ##g cafe na ##ive , . ! ? ' t 北 京 un ##happy".split()

WORD_PIECE = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": special([(0, "[PAD]"), (1, "[UNK]"), (2, "[CLS]"), (3, "[SEP]")]),
    "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
        "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
        "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}, "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}},
    },
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {word: id for id, word in enumerate(WORDS)}},
}


def byte_level():
    from tokenizers.pre_tokenizers import ByteLevel

    alphabet = sorted(ByteLevel.alphabet())
    merges = [["t", "h"], ["th", "e"], ["Ġ", "the"], ["q", "u"], ["o", "x"], ["f", "ox"], ["Ġ", "fox"]]
    vocab = {"<s>": 0, "<pad>": 1, "</s>": 2}
    for token in [*alphabet, *("".join(pair) for pair in merges)]:
        vocab.setdefault(token, len(vocab))
    return {
        "version": "1.0",
        "truncation": None,
        "padding": {"strategy": "BatchLongest", "direction": "Left", "pad_to_multiple_of": None, "pad_id": 1, "pad_type_id": 0, "pad_token": "<pad>"},
        "added_tokens": special([(0, "<s>"), (1, "<pad>"), (2, "</s>")]),
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}},
        },
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "vocab": vocab, "merges": merges},
    }


LINES = ["The quick brown fox jumps over the lazy dog.", "a", "Café, naïve? unhappy!", "北京 the fox", "don't", "the the the the the the the the the the the the", "zzz qqq"]


def texts():
    table = []
    for name, definition, padding in [("word-piece", WORD_PIECE, {"pad_id": 0, "pad_token": "[PAD]", "direction": "right"}), ("byte-level", byte_level(), {"pad_id": 1, "pad_token": "<pad>", "direction": "left"})]:
        for length in [None, 6, 12]:
            tokenizer = Tokenizer.from_str(json.dumps(definition))
            tokenizer.no_padding()
            if length is not None:
                tokenizer.enable_truncation(length)
                tokenizer.enable_padding(length=length, **padding)
            rows = [tokenizer.encode(line) for line in LINES]
            table.append({"tokenizer": name, "length": length, "rows": [{"ids": row.ids, "mask": row.attention_mask, "types": row.type_ids} for row in rows]})
    return {"lines": LINES, "tokenizers": {"word-piece": WORD_PIECE, "byte-level": byte_level()}, "rows": table}


def pictures():
    """Height 3, width 5: colour order, scale, mean, std and layout."""
    pixels = rng.integers(0, 256, (3, 5, 3))
    forms = [
        {"layout": "nhwc", "colour": "bgr", "scale": 1, "mean": [104, 117, 123]},
        {"layout": "nchw", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]},
        {"layout": "nchw", "colour": "grey", "mean": [0.5], "std": [0.5]},
    ]
    table = []
    for how in forms:
        values = pixels.astype(np.float64)
        if how.get("colour") == "bgr":
            values = values[..., ::-1]
        if how.get("colour") == "grey":
            values = (values @ [0.299, 0.587, 0.114])[..., None]
        values = (values * how.get("scale", 1 / 255) - np.array(how.get("mean", [0]))) / np.array(how.get("std", [1]))
        values = values if how["layout"] == "nhwc" else values.transpose(2, 0, 1)
        table.append({"how": how, "shape": [1, *values.shape], "values": values.ravel().tolist()})
    return {"pixels": pixels.ravel().tolist(), "tensors": table}


with open("test/oracles/golden-inputs.json", "w") as file:
    json.dump({"texts": texts(), "pictures": pictures()}, file, ensure_ascii=False, separators=(",", ":"))
    file.write("\n")
