"""Writes bert/NAME/ beside itself: small BERT models with random weights, and what transformers and
sentence-transformers make of them.

    python3 make_bert.py [NAME...]    all of them, or those named; seconds

It takes torch 2.13.0, transformers 4.57.6, sentence-transformers 5.7.0 and safetensors; for v6 transformers 5.24.0 and
sentence-transformers 6.2.0. Without names it makes those of the library that it finds. Each directory is a model as it
is published: config.json, model.safetensors, vocab.txt or tokenizer.json, and what says how a text becomes a vector. Of
them

    f32       as all-MiniLM-L6-v2 is: the mean of F32, normalised; at most 24 tokens by sentence_bert_config.json
    bf16      the same network, its values in BF16, in files as sentence-transformers 5 writes them: tokenizer.json
              alone, the length in tokenizer_config.json, "pooling_mode"
    cls       the state of [CLS] of F16, not normalised, one token type
    prefixed  names that begin with "bert.", gamma and beta, a pooler and the head of the language model beside it; the
              largest of each dimension
    v6        as these libraries save it: BF16, vectors of 20 numbers of 32, prompts for questions and documents; and a
              vocab.txt beside it that has the words the other way round and more of them, which they do not read

golden.safetensors has for text I = 0, 1, ... (count up until a name is missing)

    I.text    U8  [bytes]           UTF-8
    I.ids     I32 [n]               its tokens, [CLS] and [SEP] among them, truncated
    I.states  F32 [n, hidden_size]  what the encoder gives; computed in double
    I.vector  F32 [hidden_size]     the sentence's embedding; computed in double
    I.query, I.document             of v6: as a question and as a document; by sentence-transformers in F32
"""

import json
import os
import shutil
import sys

import numpy
import safetensors.torch
import sentence_transformers
import torch
import transformers
from transformers import BertConfig, BertModel, BertTokenizerFast

HERE = os.path.dirname(os.path.abspath(__file__))

TEXTS = [
    "the cat sat on the mat",
    "",
    "How do I reset my password?",
    "Caf\u00e9 NA\u00cfVE \u4f60\u597d 42%",
    "x",
    "it was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness",
    "tokens\tand\nlines, [SEP] and \U0001f600",
]

WORDS = ("the a of to and in is it you that he was for on are with as his they at be this from have or by one had not "
         "but what all were when we there can an your which their how do if will up other about out many then them "
         "these so some her would make like him into time has look two more write go see no way my than first been "
         "who its now find long down day did get cat sat mat reset pass best worst age token line").split()
ENDINGS = "ing ed er ly word ness dom ish ous ment able est".split()

MODELS = {  # dtype, pooling, normalised, options
    "f32": (torch.float32, "mean", True, dict(type_vocab_size=2)),
    "bf16": (torch.bfloat16, "mean", True, dict(type_vocab_size=2)),
    "cls": (torch.float16, "cls", False, dict(type_vocab_size=1, num_attention_heads=1, intermediate_size=40)),
    "prefixed": (torch.bfloat16, "max", True, dict(type_vocab_size=2, num_hidden_layers=1)),
}

V6 = transformers.__version__ >= "5"
if V6:
    MODELS = {"v6": (torch.bfloat16, "mean", True, dict(type_vocab_size=2, num_hidden_layers=1))}
PROMPTS = {"query": "find the ", "document": "line: ", "other": "no "}


def vocabulary():
    letters = "abcdefghijklmnopqrstuvwxyz"
    return (["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + list("!\"%&'(),-./0123456789:;?[]") + list(letters[1:])
            + ["##" + c for c in letters] + ["\u4f60", "##0", "##1", "##2"] + WORDS + ["##" + e for e in ENDINGS])


def random_model(config, seed):
    """Weights that make a difference: no state is near another, and no attention is even."""
    torch.manual_seed(seed)
    model = BertModel(config).eval()
    with torch.no_grad():
        for name, x in model.named_parameters():
            if "LayerNorm.weight" in name:
                x.copy_(1 + 0.3 * torch.randn(x.shape))
            elif name.endswith("bias"):
                x.copy_(0.2 * torch.randn(x.shape))
            else:
                x.copy_((1.0 if "embeddings" in name else 0.3) * torch.randn(x.shape))
    return model


def write_json(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump(value, file, indent=2)
        file.write("\n")


def modules(types, normalised):
    paths = ["", "1_Pooling", "2_Normalize"]
    return [{"idx": i, "name": str(i), "path": paths[i], "type": types[i]} for i in range(3 if normalised else 2)]


def write_old(path, pooling, normalised, width):
    """As sentence-transformers 2 writes."""
    names = [f"sentence_transformers.models.{name}" for name in ("Transformer", "Pooling", "Normalize")]
    write_json(path + "/modules.json", modules(names, normalised))
    write_json(path + "/sentence_bert_config.json", {"max_seq_length": 24, "do_lower_case": False})
    write_json(path + "/1_Pooling/config.json", {
        "word_embedding_dimension": width, "pooling_mode_cls_token": pooling == "cls",
        "pooling_mode_mean_tokens": pooling == "mean", "pooling_mode_max_tokens": pooling == "max",
        "pooling_mode_mean_sqrt_len_tokens": False})


def write_new(path, pooling, normalised, width):
    """As sentence-transformers 5 writes."""
    names = ["sentence_transformers.base.modules.transformer.Transformer",
             "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
             "sentence_transformers.sentence_transformer.modules.normalize.Normalize"]
    write_json(path + "/modules.json", modules(names, normalised))
    write_json(path + "/sentence_bert_config.json", {
        "transformer_task": "feature-extraction",
        "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
        "module_output_name": "token_embeddings"})
    write_json(path + "/1_Pooling/config.json",
               {"embedding_dimension": width, "pooling_mode": pooling, "include_prompt": True})
    write_json(path + "/config_sentence_transformers.json", {
        "__version__": {"sentence_transformers": sentence_transformers.__version__}, "default_prompt_name": None,
        "model_type": "SentenceTransformer", "prompts": {"document": "", "query": ""},
        "similarity_fn_name": "cosine"})


def save(path, name, model, tokenizer, dtype, pooling, normalised):
    """The model's directory; model is in double, its values in dtype."""
    tensors = {key: x.to(dtype).contiguous() for key, x in model.state_dict().items()}
    if name == "prefixed":
        renamed = {}
        for key, x in tensors.items():
            key = key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            renamed["bert." + key] = x
        renamed["cls.predictions.bias"] = torch.zeros(model.config.vocab_size, dtype=dtype)
        tensors = renamed
    else:
        tensors = {key: x for key, x in tensors.items() if not (name == "cls" and key.startswith("pooler"))}
    tensors["bert." * (name == "prefixed") + "embeddings.position_ids"] = torch.arange(
        model.config.max_position_embeddings)[None]
    safetensors.torch.save_file(tensors, path + "/model.safetensors", metadata={"format": "pt"})
    keys = ("attention_probs_dropout_prob hidden_act hidden_dropout_prob hidden_size initializer_range "
            "intermediate_size layer_norm_eps max_position_embeddings model_type num_attention_heads "
            "num_hidden_layers pad_token_id position_embedding_type type_vocab_size use_cache vocab_size").split()
    write_json(path + "/config.json", {"architectures": ["BertModel"], **{k: getattr(model.config, k) for k in keys}})
    if name == "bf16":
        write_new(path, pooling, normalised, model.config.hidden_size)
        tokenizer.model_max_length = 24
        tokenizer.save_pretrained(path)
        os.remove(path + "/vocab.txt")
        os.remove(path + "/special_tokens_map.json")
    else:
        write_old(path, pooling, normalised, model.config.hidden_size)
        write_json(path + "/tokenizer_config.json", {
            "do_lower_case": True, "unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]",
            "cls_token": "[CLS]", "mask_token": "[MASK]", "tokenize_chinese_chars": True, "strip_accents": None,
            "tokenizer_class": "BertTokenizer", "model_max_length": 32})


def save_by_library(path, model, tokenizer, dtype, pooling):
    """The same with the library's own functions."""
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling
    bare = path + "/bare"
    copy = BertModel(model.config).to(dtype)
    copy.load_state_dict(model.state_dict())
    copy.save_pretrained(bare)
    tokenizer.save_pretrained(bare)
    parts = [Transformer(bare, max_seq_length=24, model_kwargs={"dtype": dtype}), Pooling(32, pooling), Normalize()]
    sentence_transformers.SentenceTransformer(modules=parts, device="cpu", truncate_dim=20, prompts=PROMPTS,
                                              similarity_fn_name="cosine").save_pretrained(path)
    shutil.rmtree(bare)
    if os.path.exists(path + "/README.md"):
        os.remove(path + "/README.md")
    with open(path + "/vocab.txt", "w", encoding="utf-8") as file:
        file.write("".join(word + "\n" for word in vocabulary()[::-1] + [f"more{i}" for i in range(200)]))


def pool(states, pooling, normalised):
    x = {"mean": states.mean(0), "cls": states[0], "max": states.max(0).values}[pooling]
    return torch.nn.functional.normalize(x, dim=0) if normalised else x


def make(name):
    dtype, pooling, normalised, options = MODELS[name]
    path = os.path.join(HERE, "bert", name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    words = vocabulary()
    assert len(set(words)) == len(words)
    with open(path + "/vocab.txt", "w", encoding="utf-8") as file:
        file.write("".join(word + "\n" for word in words))
    tokenizer = BertTokenizerFast(path + "/vocab.txt", do_lower_case=True)
    config = BertConfig(**{**dict(vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                                  intermediate_size=64, max_position_embeddings=32, layer_norm_eps=1e-12), **options})
    model = random_model(config, 7).to(dtype).double()
    if V6:
        save_by_library(path, model, tokenizer, dtype, pooling)
    else:
        save(path, name, model, tokenizer, dtype, pooling, normalised)
    golden = {}
    for i, text in enumerate(TEXTS):
        ids = tokenizer(text, truncation=True, max_length=24).input_ids
        with torch.no_grad():
            states = model(torch.tensor([ids])).last_hidden_state[0]
        golden[f"{i}.text"] = torch.tensor(list(text.encode()), dtype=torch.uint8)
        golden[f"{i}.ids"] = torch.tensor(ids, dtype=torch.int32)
        golden[f"{i}.states"] = states.float()
        golden[f"{i}.vector"] = pool(states, pooling, normalised).float()[:20 if V6 else 32].clone()
    if V6:
        theirs = sentence_transformers.SentenceTransformer(path, device="cpu", model_kwargs={"dtype": torch.float32})
        for i, text in enumerate(TEXTS):
            golden[f"{i}.query"] = torch.tensor(theirs.encode_query([text])[0])
            golden[f"{i}.document"] = torch.tensor(theirs.encode_document([text])[0])
    safetensors.torch.save_file(golden, path + "/golden.safetensors")
    for folder, _, files in os.walk(path):
        for file in files:
            os.chmod(os.path.join(folder, file), 0o644)
    size = sum(os.path.getsize(os.path.join(folder, file)) for folder, _, files in os.walk(path) for file in files)
    lengths = "/".join(str(len(golden[f"{i}.ids"])) for i in range(len(TEXTS)))
    print(f"{name}: {size} bytes, {len(words)} words, lengths {lengths}; {check(name, path, golden)}")


def check(name, path, golden):
    """What sentence-transformers itself makes of the directory, which must be the same."""
    if name == "prefixed":
        return "sentence-transformers is not asked for gamma and beta"
    theirs = sentence_transformers.SentenceTransformer(path, device="cpu", model_kwargs={"dtype": torch.float32})
    assert theirs.max_seq_length == 24
    worst = 0
    for i, text in enumerate(TEXTS):
        assert theirs.tokenizer(text, truncation=True, max_length=24).input_ids == golden[f"{i}.ids"].tolist()
        vector = theirs.encode([text])[0]
        worst = max(worst, float(numpy.abs(vector - golden[f"{i}.vector"].numpy()).max()))
    assert worst < 1e-5, worst
    return f"sentence-transformers in f32 differs by {worst:.1e}"


if __name__ == "__main__":
    assert transformers.__version__ == ("5.24.0" if V6 else "4.57.6")
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    for name in sys.argv[1:] or MODELS:
        make(name)
