"""Writes decoder/NAME/ beside itself: small decoders of every family with random weights, and what transformers makes
of them.

    nice python3 make_decoder.py [NAME...]    all of them, or those named; a minute or two

It takes torch 2.13.0, transformers 4.57.6 and safetensors; for those whose names end in _v5, which the other library
saves otherwise, transformers 5.24.0. Without names it makes those of the library that it finds. Each directory is a
model as it is published: config.json, perhaps generation_config.json, and model.safetensors or its shards with their
index. MODELS below says what is particular to each: among them config.json files that lack what has a default, as those
of older libraries do. With them golden.safetensors has

    prompt          I32 [N]     a text: random ids
    rows            I32 [R]     some of its positions, the last among them
    logits          F32 [R, V]  of the tokens that follow these positions
    long            F32 [3, V]  logits after tokens 511, 512 and 699 of a text of 700, whose token i is
                                (7 i + i i / 5) mod 64, rounded down: longer than what is read at once
    greedy          I32 [G]     the likeliest tokens after the prompt, one by one; no id ends them
    eos             I32 [E]     the ids that end a text, by generation_config.json or else config.json
    defaults        F32 [4]     temperature (0: greedy), top_k (0: all), top_p, repetition_penalty

The oracle is AutoModelForCausalLM.from_pretrained of the finished directory in float32 with eager attention, which
alone does Gemma's softcap. A greedy token is ahead of the next by MARGIN at least, so that it is the same however sums
are rounded; a model where one is not, or that says too few different tokens, gives way to the next seed."""
import json
import math
import os
import shutil
import sys

import safetensors.torch
import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig

HERE = os.path.dirname(os.path.abspath(__file__))
V5 = transformers.__version__ >= "5"
PROMPT, GREEDY, ROWS = 40, 64, 8
MARGIN = 2e-3
DIFFERENT = 12  # greedy tokens

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
SMALL = dict(vocab_size=72, hidden_size=24, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=256)
DEEP = dict(SMALL, hidden_size=16, intermediate_size=24, num_attention_heads=2, num_key_value_heads=1)
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=32)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=24)
OSS = dict(DEEP, head_dim=8, num_local_experts=1, num_experts_per_tok=1)
EYES = dict(hidden_size=4, intermediate_size=4, num_hidden_layers=1, num_attention_heads=1, image_size=28,
            patch_size=14)

USUAL = ["rms_norm_eps", "rope_theta", "tie_word_embeddings", "attention_bias", "mlp_bias", "hidden_act",
         "hidden_activation"]  # where they are the defaults

# For each: model_type, type of the weights, what config.json has; then what is done to the directory.
#   drop       members that config.json loses;  put: members it gets, over those that the library writes
#   shards     the most bytes of a file
#   generation generation_config.json; without: none
#   inv_freq   buffers as in files of the first Llama models
MODELS = {
    "llama_f32": ("llama", F32, dict(SMALL, num_key_value_heads=4, hidden_size=16), dict(
        drop=USUAL + ["head_dim", "num_key_value_heads", "rope_scaling", "pretraining_tp"],
        put=dict(pad_token_id=-1), inv_freq=True)),
    "llama3_bf16": ("llama", BF16, dict(SMALL, rope_scaling=LLAMA3, rope_theta=500000.0, head_dim=8,
                                        tie_word_embeddings=True, rms_norm_eps=1e-5), dict(
        shards=9000, generation=dict(bos_token_id=70, eos_token_id=[71, 69, 68], do_sample=True, temperature=0.6,
                                     top_p=0.9))),
    "llama_bias_f16": ("llama", F16, dict(SMALL, attention_bias=True, mlp_bias=True, hidden_act="gelu",
                                          rope_scaling=dict(type="linear", factor=2.5)), dict(
        generation=dict(eos_token_id=3, repetition_penalty=1.25, temperature=0.5))),
    "llama_dynamic_bf16": ("llama", BF16, dict(SMALL, max_position_embeddings=24, num_key_value_heads=1,
                                               rope_scaling=dict(rope_type="dynamic", factor=3.0)), {}),
    "llama_yarn_bf16": ("llama", BF16, dict(SMALL, head_dim=12, rope_scaling=dict(
        YARN, beta_fast=4.0, beta_slow=0.5, mscale=1.3, mscale_all_dim=0.4), hidden_act="relu"), {}),
    "mistral_bf16": ("mistral", BF16, dict(SMALL, sliding_window=7), dict(drop=USUAL + ["head_dim"])),
    "mistral_full_f16": ("mistral", F16, dict(SMALL, sliding_window=None, head_dim=10, rope_theta=1000000.0),
                         dict(generation=dict(eos_token_id=2, do_sample=True, top_k=0))),
    "qwen2_bf16": ("qwen2", BF16, dict(SMALL, tie_word_embeddings=True, sliding_window=5, rope_theta=1000000.0),
                   dict(drop=["layer_types", "rope_scaling"], put=dict(sliding_window=5), generation=dict(
                       bos_token_id=70, pad_token_id=70, do_sample=True, eos_token_id=[71, 70], repetition_penalty=1.1,
                       temperature=0.7, top_p=0.8, top_k=20))),
    "qwen2_window_f16": ("qwen2", F16, dict(SMALL, num_hidden_layers=3, hidden_size=16, use_sliding_window=True,
                                            sliding_window=5, max_window_layers=1, rope_scaling=YARN),
                         dict(drop=USUAL + ["layer_types"], put=dict(eos_token_id=[4, 5]))),
    "qwen3_bf16": ("qwen3", BF16, dict(SMALL, head_dim=16, tie_word_embeddings=True, rope_theta=1000000.0), {}),
    "qwen3_mixed_f16": ("qwen3", F16, dict(SMALL, num_hidden_layers=3, hidden_size=16, head_dim=8, attention_bias=True,
                                           use_sliding_window=True, sliding_window=4, layer_types=[
                                               "sliding_attention", "full_attention", "sliding_attention"]),
                        dict(drop=["rms_norm_eps", "rope_theta", "tie_word_embeddings", "hidden_act"])),
    "gemma2_bf16": ("gemma2", BF16, dict(SMALL, head_dim=8, query_pre_attn_scalar=6, sliding_window=6,
                                         attn_logit_softcapping=4.0, final_logit_softcapping=9.0),
                    dict(drop=USUAL + ["layer_types"])),
    "gemma2_plain_f16": ("gemma2", F16, dict(DEEP, num_hidden_layers=3, head_dim=12, attention_bias=True,
                                             attn_logit_softcapping=None, final_logit_softcapping=None,
                                             sliding_window=9, query_pre_attn_scalar=12, layer_types=[
                                                 "full_attention", "full_attention", "sliding_attention"],
                                             tie_word_embeddings=False), {}),
    "gemma_bf16": ("gemma", BF16, dict(SMALL, head_dim=8), dict(drop=USUAL)),
    "gemma2_gguf_f16": ("gemma2", F16, dict(DEEP, head_dim=8, query_pre_attn_scalar=8, sliding_window=6), {}),
    "gemma3_text_bf16": ("gemma3_text", BF16, dict(DEEP, num_hidden_layers=6, head_dim=8, query_pre_attn_scalar=8,
                                                   sliding_window=5, rope_theta=1000000.0, rope_local_base_freq=100.0,
                                                   rope_scaling=dict(rope_type="linear", factor=8.0)),
                         dict(drop=["layer_types", "_sliding_window_pattern", "rms_norm_eps", "rope_theta",
                                    "tie_word_embeddings", "hidden_activation"], generation=dict(
                             bos_token_id=2, eos_token_id=[1, 60], do_sample=True, top_k=64, top_p=0.95))),
    "gemma3_bf16": ("gemma3", BF16, dict(text_config=dict(
        DEEP, num_hidden_layers=3, num_attention_heads=8, num_key_value_heads=4, head_dim=4, sliding_window=6,
        query_pre_attn_scalar=10, sliding_window_pattern=2), vision_config=EYES, mm_tokens_per_image=4,
        image_token_index=71, boi_token_index=70, eoi_token_index=69), dict(text_drop=[
            "layer_types", "num_attention_heads", "num_key_value_heads", "rope_theta", "rope_scaling", "rms_norm_eps",
            "tie_word_embeddings", "hidden_activation", "rope_local_base_freq"], put=dict(eos_token_id=[1, 61]))),
    "gpt_oss_bf16": ("gpt_oss", BF16, dict(OSS, num_hidden_layers=3, sliding_window=5, rope_scaling=dict(
        YARN, original_max_position_embeddings=512, beta_fast=8.0, beta_slow=1.0, truncate=False), eos_token_id=9),
                     dict(drop=USUAL)),
    "gpt_oss_plain_f16": ("gpt_oss", F16, dict(OSS, sliding_window=8, attention_bias=False, tie_word_embeddings=True,
                                               rope_scaling=None, layer_types=["full_attention", "sliding_attention"]),
                          dict(put=dict(eos_token_id=None))),
    "smollm3_bf16": ("smollm3", BF16, dict(DEEP, num_hidden_layers=4, bos_token_id=5, eos_token_id=6, pad_token_id=7),
                     dict(drop=USUAL + ["layer_types", "no_rope_layers", "bos_token_id", "eos_token_id"])),
    "smollm3_window_f16": ("smollm3", F16, dict(DEEP, num_hidden_layers=3, no_rope_layers=[0, 1, 0], mlp_bias=True,
                                                attention_bias=True, use_sliding_window=True, sliding_window=6,
                                                tie_word_embeddings=False, bos_token_id=5, eos_token_id=6,
                                                pad_token_id=7), dict(drop=["layer_types"])),
}


# As transformers 5 saves them: rope_parameters, by layer types for Gemma 3; a head of its own beside a said tie.
if V5:
    MODELS = {
        "llama_v5": ("llama", BF16, dict(SMALL, head_dim=8, rope_parameters=dict(LLAMA3, rope_theta=500000.0)), dict(
            put=dict(tie_word_embeddings=True), generation=dict(eos_token_id=71, do_sample=True))),
        "qwen2_v5": ("qwen2", F16, dict(DEEP, num_hidden_layers=3, use_sliding_window=True, sliding_window=5,
                                        tie_word_embeddings=True, max_window_layers=1,
                                        rope_parameters=dict(rope_type="default", rope_theta=5000.0)), {}),
        "gemma3_v5": ("gemma3", BF16, dict(text_config=dict(
            DEEP, num_hidden_layers=3, num_key_value_heads=1, head_dim=8, sliding_window=6, query_pre_attn_scalar=10,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"], rope_parameters=dict(
                full_attention=dict(rope_type="linear", factor=8.0, rope_theta=30000.0),
                sliding_attention=dict(YARN, rope_theta=200.0))), vision_config=EYES, mm_tokens_per_image=4,
            image_token_index=71, boi_token_index=70, eoi_token_index=69), {}),
        "gpt_oss_v5": ("gpt_oss", BF16, dict(OSS, num_hidden_layers=2, sliding_window=5, max_position_embeddings=8192,
                                             eos_token_id=9), dict(drop=USUAL + ["rope_parameters"])),
    }


# ---- weights ----


def random_weights(model, seed, sharp):
    """Weights of such sizes that attention has peaks, every part of a layer is seen in what it adds, and a token seldom
    follows itself."""
    torch.manual_seed(seed)
    gemma = "gemma" in model.config.model_type
    with torch.no_grad():
        for name, x in model.named_parameters():
            if "vision_tower" in name or "multi_modal" in name:
                x.normal_(0, 0.1)
            elif name.endswith("bias"):
                x.normal_(0, 0.3)
            elif name.endswith("sinks"):
                x.normal_(1, 1)
            elif "norm" in name:
                x.uniform_(-0.3, 0.5).add_(0.0 if gemma else 1.0)
                if "q_norm" in name or "k_norm" in name:
                    x.add_(0.4)
            elif "embed_tokens" in name or "lm_head" in name:
                length = 2.0 if "lm_head" in name else 0.3 if gemma else 1.0
                x.normal_(0, 1).div_(x.norm(dim=1, keepdim=True) / length)
            elif "experts.gate_up" in name or "experts.down" in name:
                x.normal_(0, (4 if "gate_up" in name else 0.5) / math.sqrt(x.shape[1]))  # some are clamped to 7
            else:
                fan = x.shape[1]
                x.normal_(0, (sharp if "q_proj" in name or "k_proj" in name else 1.5) / math.sqrt(fan))
    return model.eval()


# ---- directories ----


def build(kind, dtype, members, seed, sharp=1.7):
    config = AutoConfig.for_model(kind, **members)
    config._attn_implementation = "eager"
    if kind == "gemma3":
        model = transformers.Gemma3ForConditionalGeneration(config)
    else:
        model = AutoModelForCausalLM.from_config(config)
    return random_weights(model, seed, sharp).to(dtype)


def add_buffers(path, layers, half):
    """What the first Llama models had in their files, and nothing reads."""
    tensors = safetensors.torch.load_file(path)
    for i in range(layers):
        tensors[f"model.layers.{i}.self_attn.rotary_emb.inv_freq"] = 1 / 10000 ** (torch.arange(half) / half)
    safetensors.torch.save_file(tensors, path, {"format": "pt"})


def save(folder, model, how):
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder, max_shard_size=how.get("shards", 10**9))
    generation = os.path.join(folder, "generation_config.json")
    if os.path.exists(generation):
        os.remove(generation)
    if "generation" in how:
        with open(generation, "w") as file:
            json.dump(how["generation"], file, indent=2)
    path = os.path.join(folder, "config.json")
    with open(path) as file:
        config = json.load(file)
    for member in how.get("drop", []):
        config.pop(member, None)
    for member in how.get("text_drop", []):
        config["text_config"].pop(member, None)
    config.update(how.get("put", {}))
    with open(path, "w") as file:
        json.dump(config, file, indent=2)
    if how.get("inv_freq"):
        add_buffers(os.path.join(folder, "model.safetensors"), model.config.num_hidden_layers,
                    model.config.hidden_size // model.config.num_attention_heads // 2)


def load(folder):
    """The oracle. What ends and shapes a text by default is given with it; its own is set to do nothing."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    defaults = model.generation_config
    model.generation_config = GenerationConfig()
    return model, defaults


def greedy(model, prompt, count):
    """Ids, and the least distance between the first and the second candidate."""
    options = GenerationConfig(do_sample=False, max_new_tokens=count, pad_token_id=0, output_logits=True,
                               return_dict_in_generate=True)
    out = model.generate(torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
                         generation_config=options)
    best = torch.stack(out.logits)[:, 0].topk(2).values
    return out.sequences[0, len(prompt):].tolist(), float((best[:, 0] - best[:, 1]).min())


def resolved(defaults, vocabulary):
    """eos, those that can be, and [temperature, top_k, top_p, repetition_penalty]."""
    eos = [] if defaults.eos_token_id is None else defaults.eos_token_id
    eos = [x for x in (eos if isinstance(eos, list) else [eos]) if x < vocabulary]
    if V5:  # which fills in later what nothing is said about
        for name, value in GenerationConfig._get_default_generation_params().items():
            setattr(defaults, name, value if getattr(defaults, name, None) is None else getattr(defaults, name))
    sampled = [defaults.temperature, defaults.top_k or 0, defaults.top_p] if defaults.do_sample else [0, 0, 1]
    return eos, sampled + [defaults.repetition_penalty]


def make(name):
    folder = os.path.join(HERE, "decoder", name)
    kind, dtype, members, how = MODELS[name]
    for seed in range(100):
        save(folder, build(kind, dtype, members, seed), how)
        model, defaults = load(folder)
        vocabulary = model.config.get_text_config().vocab_size
        generator = torch.Generator().manual_seed(seed)
        prompt = torch.randint(8, vocabulary - 8, (PROMPT,), generator=generator).tolist()
        with torch.no_grad():  # first: what is "dynamic" remembers the longest text
            logits = model(torch.tensor([prompt]), use_cache=False).logits[0]
            text = torch.tensor([[(7 * i + i * i // 5) % 64 for i in range(700)]])
            long = load(folder)[0](text, use_cache=False).logits[0, [511, 512, 699]]
        ids, margin = greedy(load(folder)[0], prompt, GREEDY)
        if margin >= MARGIN and len(set(ids)) >= DIFFERENT and max(ids) < vocabulary:
            break
    else:
        sys.exit(f"{name}: no seed")
    rows = [0, 1, 3, 6, 12, 23, 31, PROMPT - 1][-ROWS:]
    eos, numbers = resolved(defaults, vocabulary)
    safetensors.torch.save_file({
        "prompt": torch.tensor(prompt, dtype=torch.int32), "rows": torch.tensor(rows, dtype=torch.int32),
        "logits": logits[rows].contiguous(), "long": long.contiguous(), "greedy": torch.tensor(ids, dtype=torch.int32),
        "eos": torch.tensor(eos, dtype=torch.int32), "defaults": torch.tensor(numbers, dtype=torch.float32)},
        os.path.join(folder, "golden.safetensors"))
    size = sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder))
    print(f"{name:20} seed {seed:2}, {len(set(ids)):2} different tokens, margin {margin:.4f}, eos {eos}, defaults "
          f"{numbers}, {size} bytes", flush=True)
    return size


def main():
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    names = sys.argv[1:] or list(MODELS)
    print(sum(make(name) for name in names), "bytes")


if __name__ == "__main__":
    main()
