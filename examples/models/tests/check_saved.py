"""Compares tokenizers as transformers saves them with transformers: those of every family that runs here.

    python3 examples/models/tests/check_saved.py build/encode_ids build/tokenize [--lines N] [--only NAME]

The vocabularies are those of golden/bpe/ and golden/wordpiece/. Each becomes the tokenizer of a model of its family,
which AutoTokenizer opens and save_pretrained() writes, in several versions of tokenizer_config.json; what is written is
opened again by both, and N (2000) hostile lines are compared: of decoders with what stands before and behind a text,
their special tokens as text; of T5 and BERT with special tokens found. It takes transformers 4.57 or 5. Exit status 1:
some differ."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import transformers
from transformers import AutoTokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import hostile  # noqa: E402

GOLDEN = os.path.join(HERE, "golden")
SPECIAL = {"bos_token": ["<s>", "<|begin_of_text|>", "<bos>"],
           "eos_token": ["</s>", "<|eot_id|>", "<|im_end|>", "<|endoftext|>"],
           "unk_token": ["<unk>"], "pad_token": ["<pad>", "<|endoftext|>"]}
EOS = {"add_bos_token": True, "add_eos_token": True}
NO_BOS = {"add_bos_token": False, "add_eos_token": False}
BACKEND = "PreTrainedTokenizerFast"
# name: vocabulary, model_type, tokenizer_class, more of tokenizer_config.json
DECODERS = {
    "llama": ("llama2", "llama", "LlamaTokenizer", {}), "llama, eos": ("llama2", "llama", "LlamaTokenizer", EOS),
    "llama, no bos": ("llama2", "llama", "LlamaTokenizer", NO_BOS),
    "llama, not legacy": ("llama2", "llama", "LlamaTokenizer", {"legacy": False}),
    "mistral": ("mistral", "mistral", "LlamaTokenizer", {}),
    "mistral, eos": ("mistral", "mistral", "LlamaTokenizer", EOS),
    "mistral nemo": ("mistral_nemo", "mistral", BACKEND, {}), "phi3": ("phi3", "llama", BACKEND, {}),
    "llama 3": ("llama3", "llama", BACKEND, {}), "smollm": ("smollm", "llama", BACKEND, {}),
    "gpt2": ("gpt2", "gpt2", "GPT2Tokenizer", {}), "qwen2": ("qwen2", "qwen2", "Qwen2Tokenizer", {}),
    "qwen2, config": ("qwen2", "qwen2", "Qwen2Tokenizer", {"add_bos_token": False, "add_prefix_space": False}),
    "qwen3": ("qwen2", "qwen3", "Qwen2Tokenizer", {}), "gemma2": ("gemma", "gemma2", "GemmaTokenizer", {}),
    "gemma3": ("gemma", "gemma3_text", "GemmaTokenizer", {}), "smollm3": ("llama3", "smollm3", BACKEND, {}),
    "gpt_oss": ("gpt_oss", "gpt_oss", BACKEND, {}),
}
OTHERS = {"t5": ("t5", "t5", "T5Tokenizer", {}), "t5, saved by 5": ("t5_saved_by_5", "t5", "T5Tokenizer", {}),
          "bert": ("cased", "bert", "BertTokenizer", {}),
          "bert, cased": ("cased", "bert", "BertTokenizer", {"do_lower_case": False}),
          "bert, accents": ("cased", "bert", "BertTokenizer", {"do_lower_case": False, "strip_accents": True}),
          "bert, by class": ("cased", "bert", BACKEND, {"do_lower_case": True})}


def write(directory, name, value):
    with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
        json.dump(value, f)


def source(directory, vocabulary, model_type, name, more):
    """What a tokenizer is opened from at first."""
    path = os.path.join(GOLDEN, "bpe", vocabulary + ".json")
    path = path if os.path.exists(path) else os.path.join(GOLDEN, "wordpiece", vocabulary, "tokenizer.json")
    with open(path, encoding="utf-8") as f:
        data = json.load(f)
    tokens = [t["content"] for t in data["added_tokens"] if t["special"]]
    config = {"tokenizer_class": name, **more}
    for key, some in SPECIAL.items():
        config.update({key: t for t in some[::-1] if t in tokens})
    shutil.copy(path, os.path.join(directory, "tokenizer.json"))
    write(directory, "tokenizer_config.json", config)
    write(directory, "config.json", {"model_type": model_type})


def output(command, lines):
    text = "".join(line.replace("\\", "\\\\").replace("\n", "\\n") + "\n" for line in lines)
    run = subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return [[int(i) for i in line.split()] for line in run.stdout.decode().split("\n")[:-1]], run.stderr.decode().strip()


def compare(name, command, path, lines, is_decoder):
    tokenizer = AutoTokenizer.from_pretrained(path)  # to decoders, what is special in the text is text
    options = {"add_special_tokens": is_decoder, "split_special_tokens": is_decoder}
    want = [tokenizer(line, **options)["input_ids"] for line in lines]
    got, said = output([*command, path], lines)
    wrong = [i for i in range(len(lines)) if i >= len(got) or got[i] != want[i]]
    unknown = "unknown members" in said
    print("%-4s %-26s %-24s %d of %d lines differ%s" % (
        "FAIL" if wrong or unknown else "ok", name, type(tokenizer).__name__, len(wrong), len(lines),
        ", and it says: " + said if said else ""))
    for i in wrong[:2]:
        print("    ", ascii(lines[i])[:100], str(got[i:i + 1])[:150], "not", str(want[i])[:150])
    return bool(wrong or unknown)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("encode_ids")
    parser.add_argument("tokenize")
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    lines = [line for line in hostile.lines(options.lines, 524, breaks=True)]
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        for name, what in {**DECODERS, **OTHERS}.items():
            if options.only not in name:
                continue
            first = os.path.join(work, name.replace(", ", "_").replace(" ", "_"))
            saved = first + "_saved"
            os.makedirs(first)
            source(first, *what)
            AutoTokenizer.from_pretrained(first).save_pretrained(saved)
            shutil.copy(os.path.join(first, "config.json"), saved)
            other = [options.tokenize, "--ids", "--escapes", "--special"]
            failed += compare(name, [options.encode_ids] if name in DECODERS else other, saved, lines, name in DECODERS)
    print("transformers %s: %d of them differ" % (transformers.__version__, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
