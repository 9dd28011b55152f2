"""Writes beside itself, of the format's reference and with its names of keys and tensors:

    gguf/types.gguf   a row of each type of tensor that gguf.c reads, of random blocks
    gguf/types.f32    the floats that the reference makes of them, one tensor after another in the order of names
    gguf/NAME.gguf    the models of decoder/NAME and t5/NAME, as llama.cpp converts them: weights keep their bits, vectors
                      are F32
    gguf/tok_NAME.gguf  the tokenizers of bpe/NAME.json and NAME.model, without a model; tok_chatml.gguf: bpe.model with
                      two special tokens more, and templates with names alone
    gguf/generate.gguf  the model of generate, with its tokenizer and its template

    python3 make_gguf.py        (gguf 0.19, torch, safetensors, sentencepiece, protobuf)"""
import glob
import json
import os

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gguf")
TYPES = [Type.F32, Type.F16, Type.BF16, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0, Type.Q2_K, Type.Q3_K,
         Type.Q4_K, Type.Q5_K, Type.Q6_K, Type.IQ4_NL, Type.MXFP4]


def blocks(random, kind):
    """256 elements: any bytes, but that scales are finite; of MXFP4 the least and the largest too."""
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    raw = random.integers(0, 256, (256 // elements, size), dtype=np.uint8)
    if kind == Type.MXFP4:
        raw[:4, 0] = 0, 1, 2, 254
        return raw.reshape(1, -1)
    if kind in (Type.F32, Type.F16, Type.BF16):
        numbers = random.normal(0, 3, 256).astype(np.float32)
        numbers[:8] = 0, -0.0, 1e-7, -6e-8, 65504, -1e-40, np.inf, -np.inf
        with np.errstate(over="ignore"):
            raw = gguf.quants.quantize(numbers.reshape(1, -1), kind)
        return raw
    places = {Type.Q2_K: (80, 82), Type.Q3_K: (108,), Type.Q4_K: (0, 2), Type.Q5_K: (0, 2), Type.Q6_K: (208,)}
    for place in places.get(kind, (0, 2) if kind in (Type.Q4_1, Type.Q5_1) else (0,)):
        halves = random.normal(0, 0.02, len(raw)).astype(np.float16)
        raw[:, place:place + 2] = halves.view(np.uint8).reshape(-1, 2)
    if elements == 32:
        raw[0, :2] = 1, 0  # the least number of 16 bits
    return raw.reshape(1, -1)


def types():
    os.makedirs(here, exist_ok=True)
    random = np.random.default_rng(2027)
    writer = gguf.GGUFWriter(os.path.join(here, "types.gguf"), "llama")
    for add, value in ((writer.add_uint8, 200), (writer.add_int8, -100), (writer.add_uint16, 60000),
                       (writer.add_int16, -30000), (writer.add_uint32, 4000000000), (writer.add_int32, -2000000000),
                       (writer.add_float32, 0.1), (writer.add_bool, True), (writer.add_string, "caf\u00e9 \u2581"),
                       (writer.add_uint64, 2**64 - 1), (writer.add_int64, -2**63), (writer.add_float64, 0.1)):
        add("test." + add.__name__[4:], value)
    writer.add_array("test.numbers", [1, -2, 3])
    writer.add_array("test.texts", ["", "a", "caf\u00e9"])
    writer.add_array("test.reals", [0.5, -0.25])
    wanted = {}
    for kind in TYPES:
        raw = blocks(random, kind)
        plain = kind in (Type.F32, Type.F16)
        writer.add_tensor(kind.name, raw, raw_dtype=None if plain else kind)
        with np.errstate(all="ignore"):
            wanted[kind.name] = gguf.quants.dequantize(raw, kind).astype(np.float32).reshape(-1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    np.concatenate([wanted[name] for name in sorted(wanted)]).astype("<f4").tofile(os.path.join(here, "types.f32"))


# ==== Models ==========================================================================================================

# For each: the architecture, and how layers are kept: heads in rotations of neighbours; norms with their 1.
MODELS = {"llama_f32": "llama", "llama3_bf16": "llama", "llama_bias_f16": "llama", "qwen2_bf16": "qwen2",
          "qwen3_bf16": "qwen3", "gemma_bf16": "gemma", "gemma2_gguf_f16": "gemma2", "gemma3_text_bf16": "gemma3", "smollm3_bf16": "smollm3"}


def neighbours(w, heads):
    """Rows of each head from halves that are rotated to neighbours that are."""
    return w.reshape(heads, 2, len(w) // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def divisors(size, base, how):
    """What Llama 3 divides the frequencies of a rotation by, as rope_freqs.weight."""
    import math
    wave = 2 * math.pi * base ** (np.arange(0, size, 2) / size)
    low, high, length = how["low_freq_factor"], how["high_freq_factor"], how["original_max_position_embeddings"]
    smooth = (length / wave - low) / (high - low)
    between = 1 / ((1 - smooth) / how["factor"] + smooth)
    return np.where(wave < length / high, 1, np.where(wave > length / low, how["factor"], between)).astype(np.float32)


def open_model(folder):
    """config.json, and the weights."""
    import safetensors.torch
    weights = {}
    for path in sorted(glob.glob(os.path.join(folder, "model*.safetensors"))):
        weights |= safetensors.torch.load_file(path)
    return json.load(open(os.path.join(folder, "config.json"))), weights


def add_weight(writer, name, w):
    import torch
    kind = {torch.float32: Type.F32, torch.float16: Type.F16, torch.bfloat16: Type.BF16}[w.dtype]
    w = w.float().numpy()
    if w.ndim == 1 or kind == Type.F32:
        writer.add_tensor(name, np.ascontiguousarray(w))
    else:
        writer.add_tensor(name, gguf.quants.quantize(w, kind), raw_dtype=kind)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def names_of(architecture, layers):
    return gguf.get_tensor_name_map(next(k for k, v in gguf.MODEL_ARCH_NAMES.items() if v == architecture), layers)


def model(name, architecture, folder=None, tokenizer=None):
    folder = folder or os.path.join(os.path.dirname(here), "decoder", name)
    config, weights = open_model(folder)
    heads, layers = config["num_attention_heads"], config["num_hidden_layers"]
    groups = config.get("num_key_value_heads", heads)
    size = config.get("head_dim", config["hidden_size"] // heads)
    base = config.get("rope_theta", {"gemma3": 1e6, "smollm3": 2e6}.get(architecture, 1e4))
    scaling = config.get("rope_scaling") or {}
    parts = 9 if name == "llama_f32" else 0
    writer = gguf.GGUFWriter(os.path.join(here, name + ".gguf"), architecture, split_max_tensors=parts)
    writer.add_name(name)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(layers)
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(groups)
    writer.add_layer_norm_rms_eps(config.get("rms_norm_eps", 1e-6))
    writer.add_rope_freq_base(base)
    writer.add_key_length(size)
    writer.add_value_length(size)
    writer.add_vocab_size(config["vocab_size"])
    if tokenizer:
        tokenizer(writer, folder)
    else:
        writer.add_eos_token_id(1)
    if architecture in ("llama", "smollm3"):
        writer.add_rope_dimension_count(size)
    if scaling.get("rope_type", scaling.get("type")) == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(scaling["factor"])
    if architecture in ("gemma2", "gemma3"):
        writer.add_sliding_window(config["sliding_window"])
    if architecture == "gemma2":
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])
    if architecture == "gemma3":
        writer.add_rope_freq_base_swa(config["rope_local_base_freq"])
    names = names_of(architecture, layers)
    if scaling.get("rope_type") == "llama3":
        writer.add_tensor("rope_freqs.weight", divisors(size, base, scaling))
    for key, w in weights.items():
        if "inv_freq" in key or (key == "lm_head.weight" and config.get("tie_word_embeddings")):
            continue
        if architecture in ("llama", "smollm3") and ".q_proj." in key:
            w = neighbours(w, heads)
        if architecture in ("llama", "smollm3") and ".k_proj." in key:
            w = neighbours(w, groups)
        if architecture.startswith("gemma") and key.endswith("norm.weight"):
            w = w.float() + 1
        add_weight(writer, names.get_name(key, (".weight", ".bias")), w)
    finish(writer)


def t5(name):
    import sentencepiece
    folder = os.path.join(os.path.dirname(here), "t5", name)
    config, weights = open_model(folder)
    writer = gguf.GGUFWriter(os.path.join(here, name + ".gguf"), "t5")
    writer.add_name(name)
    writer.add_context_length(config.get("n_positions", 512))
    writer.add_embedding_length(config["d_model"])
    writer.add_feed_forward_length(config["d_ff"])
    writer.add_block_count(config["num_layers"])
    writer.add_decoder_block_count(config["num_decoder_layers"])
    writer.add_head_count(config["num_heads"])
    writer.add_key_length(config["d_kv"])
    writer.add_value_length(config["d_kv"])
    writer.add_layer_norm_eps(config["layer_norm_epsilon"])
    writer.add_relative_attn_buckets_count(config["relative_attention_num_buckets"])
    writer.add_layer_norm_rms_eps(config["layer_norm_epsilon"])
    writer.add_decoder_start_token_id(config["decoder_start_token_id"])
    pieces = sentencepiece.SentencePieceProcessor(os.path.join(folder, "spiece.model"))
    count = pieces.vocab_size()
    others = config["vocab_size"] - count
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([pieces.id_to_piece(i).encode() for i in range(count)] +
                          [b"[PAD%d]" % (count + i) for i in range(others)])
    writer.add_token_scores([pieces.get_score(i) for i in range(count)] + [-10000.0] * others)
    writer.add_token_types([gguf.TokenType.UNKNOWN if pieces.is_unknown(i) else gguf.TokenType.CONTROL
                            if pieces.is_control(i) else gguf.TokenType.BYTE if pieces.is_byte(i) else
                            gguf.TokenType.NORMAL for i in range(count)] + [gguf.TokenType.UNUSED] * others)
    normalizer, trainer = fields_of(open(os.path.join(folder, "spiece.model"), "rb").read())
    writer.add_add_space_prefix(normalizer.get(3, 1) != 0)
    writer.add_remove_extra_whitespaces(normalizer.get(4, 1) != 0)
    if normalizer.get(2):
        writer.add_precompiled_charsmap(normalizer[2])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_unk_token_id(trainer.get(40, 0))
    writer.add_pad_token_id(config["pad_token_id"])
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(True)
    names = names_of("t5", max(config["num_layers"], config["num_decoder_layers"]))
    for key, w in weights.items():
        if not key.endswith("embed_tokens.weight"):
            add_weight(writer, names.get_name(key, (".weight",)), w)
    finish(writer)


def fields_of(model):
    """normalizer_spec and trainer_spec of a SentencePiece model: their fields by number, the last of each."""
    from sentencepiece import sentencepiece_model_pb2
    parsed = sentencepiece_model_pb2.ModelProto.FromString(model)
    return [{field.number: value for field, value in part.ListFields()}
            for part in (parsed.normalizer_spec, parsed.trainer_spec)]


# ==== Tokenizers ======================================================================================================

# For each: tokenizer.ggml.pre, or None for SentencePiece.
TOKENIZERS = {"gpt2": "gpt-2", "smollm": "smollm", "llama3": "llama-bpe", "qwen2": "qwen2", "mistral_nemo": "tekken",
              "bpe_bytes": None, "bpe_turns": None}


def add_pieces(writer, model, more=()):
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2
    pieces = sentencepiece.SentencePieceProcessor(model)
    ids = range(pieces.vocab_size())
    normalizer = sentencepiece_model_pb2.ModelProto.FromString(open(model, "rb").read()).normalizer_spec
    kinds = [p.type for p in sentencepiece_model_pb2.ModelProto.FromString(open(model, "rb").read()).pieces]
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    # as the converter has them since July 2024
    writer.add_token_list([(pieces.id_to_piece(i).replace("\u2581", " ") if kinds[i] == gguf.TokenType.USER_DEFINED
                            else pieces.id_to_piece(i)).encode() for i in ids] + [text.encode() for text in more])
    writer.add_token_scores([pieces.get_score(i) for i in ids] + [0.0] * len(more))
    writer.add_token_types(kinds + [int(gguf.TokenType.CONTROL)] * len(more))
    writer.add_add_space_prefix(normalizer.add_dummy_prefix)
    for add, i in ((writer.add_bos_token_id, pieces.bos_id()), (writer.add_eos_token_id, pieces.eos_id()),
                   (writer.add_unk_token_id, pieces.unk_id())):
        if i >= 0:
            add(i)


def add_bpe(writer, parsed, pre):
    spellings = {i: t for t, i in parsed["model"]["vocab"].items()}
    added = {t["id"]: t for t in parsed["added_tokens"]}
    spellings |= {i: t["content"] for i, t in added.items()}
    assert sorted(spellings) == list(range(len(spellings)))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list([spellings[i].encode() for i in range(len(spellings))])
    writer.add_token_types([gguf.TokenType.NORMAL if i not in added else gguf.TokenType.CONTROL
                            if added[i]["special"] else gguf.TokenType.USER_DEFINED for i in range(len(spellings))])
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in parsed["model"]["merges"]])
    return spellings


def add_smollm(writer, folder):
    """All that generate has of a tokenizer."""
    config = json.load(open(os.path.join(folder, "tokenizer_config.json")))
    ids = {text: i for i, text in add_bpe(writer, json.load(open(os.path.join(folder, "tokenizer.json"))), "smollm").items()}
    writer.add_bos_token_id(ids[config["bos_token"]])
    writer.add_eos_token_id(ids[config["eos_token"]])
    writer.add_chat_template(config["chat_template"])


def chatml():
    writer = gguf.GGUFWriter(os.path.join(here, "tok_chatml.gguf"), "llama")
    add_pieces(writer, os.path.join(os.path.dirname(here), "bpe.model"), ["<|im_start|>", "<|im_end|>"])
    writer.add_chat_template([{"name": "tool_use", "template": "{{ 1 }}"}])
    finish(writer)


def tokenizer(name, pre):
    writer = gguf.GGUFWriter(os.path.join(here, f"tok_{name}.gguf"), "llama")
    writer.add_name(name)
    if pre is None:
        add_pieces(writer, os.path.join(os.path.dirname(here), name + ".model"))
        finish(writer)
        return
    parsed = json.load(open(os.path.join(os.path.dirname(here), "bpe", name + ".json")))
    spellings = add_bpe(writer, parsed, pre)
    single = (parsed["post_processor"] or {}).get("single") or []
    for step in (parsed["post_processor"] or {}).get("processors", []):
        single = step.get("single") or single
    if single and "SpecialToken" in single[0]:
        writer.add_bos_token_id(next(i for i, t in spellings.items() if t == single[0]["SpecialToken"]["id"]))
    finish(writer)


types()
for each in TOKENIZERS.items():
    tokenizer(*each)
chatml()
for each in MODELS.items():
    model(*each)
for each in ("t5_f16", "flan_bf16"):
    t5(each)
model("generate", "llama", os.path.join(os.path.dirname(here), "generate"), add_smollm)
