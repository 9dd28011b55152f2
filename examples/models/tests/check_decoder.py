"""Whether decoder.c gives transformers' logits and texts, with models of every family and several configs of each.

    python3 examples/models/tests/check_decoder.py PROGRAM [NAME...]      PROGRAM: build/decode_ids; a few minutes

Needs torch, transformers 4.57 or 5.24, numpy and safetensors; of 5 the models of NEWER, too. Each model of MODELS is
built with random weights (golden/make_decoder.py) in a temporary directory and removed again: a few million
parameters, 1000 tokens, files in f32, f16 or bf16, some in shards. Its prompt of 100 to 700 random ids is read, and
continued by 200 greedy ones. Compared with transformers in float32 on the values that the files have, with eager
attention:

    logits    after each token of prompt and continuation: |ours - theirs| <= 1e-4 times the largest |logit| of the row
    ids       of the continuation: equal, all 200
    pieces    the prompt read 1, 7 or 64 tokens at a time, with batch_invariant: the bits of all logits are the same as
              at once (not of the "dynamic" models, whose logits depend on it in transformers, too)
    caches    f16, bf16 and i8: the largest distance from the f32 cache's logits is shown, as a part of the largest
              logit of the row; the prompt alone, since one other token makes another text

A prompt in whose continuation the likeliest token is ahead by less than MARGIN somewhere, so that rounding might
choose, or that has too few different tokens, gives way to another. Exit status 1 if something differs."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "golden"))

import numpy as np
import torch
import transformers
from transformers import GenerationConfig

import make_decoder
from make_decoder import BF16, F16, F32

COUNT = 200
MARGIN = 3e-4
WITHIN = 1e-4
DIFFERENT = 20
SHARP = 1.3  # standard deviation of queries and keys: scores have that of its square

BASE = dict(vocab_size=1000, hidden_size=256, intermediate_size=640, num_hidden_layers=4, num_attention_heads=8,
            num_key_value_heads=2, max_position_embeddings=4096)
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=256)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=128)
OSS = dict(BASE, head_dim=64, num_local_experts=1, num_experts_per_tok=1)
EYES = dict(make_decoder.EYES)
TWO = ["sliding_attention", "full_attention"]

# model_type, type of the file, tokens of the prompt, what config.json has, what is done to the directory
MODELS = {
    "llama": ("llama", F32, 120, dict(BASE), dict(drop=["head_dim", "rope_scaling"])),
    "llama, all heads": ("llama", BF16, 600, dict(BASE, num_key_value_heads=8, tie_word_embeddings=True), {}),
    "llama 3": ("llama", BF16, 300, dict(BASE, rope_scaling=LLAMA3, rope_theta=5e5, head_dim=64), dict(shards=2**21)),
    "llama, biases": ("llama", F16, 150, dict(BASE, attention_bias=True, mlp_bias=True, hidden_act="gelu_new",
                                              rope_scaling=dict(type="linear", factor=3.0)), {}),
    "llama, yarn": ("llama", F32, 200, dict(BASE, rope_scaling=dict(YARN, attention_factor=1.2)), {}),
    "llama, dynamic": ("llama", F16, 150, dict(BASE, max_position_embeddings=128, rope_scaling=dict(
        rope_type="dynamic", factor=2.0)), {}),
    "mistral": ("mistral", F32, 130, dict(BASE, sliding_window=64), {}),
    "mistral, long": ("mistral", BF16, 700, dict(BASE, sliding_window=100, num_key_value_heads=1), {}),
    "mistral, no window": ("mistral", F16, 120, dict(BASE, sliding_window=None, head_dim=80, rope_theta=1e6), {}),
    "qwen 2": ("qwen2", BF16, 150, dict(BASE, tie_word_embeddings=True, rope_theta=1e6), {}),
    "qwen 2, windows": ("qwen2", F32, 130, dict(BASE, use_sliding_window=True, sliding_window=48,
                                                max_window_layers=2), {}),
    "qwen 2, yarn": ("qwen2", F16, 300, dict(BASE, rope_scaling=YARN, num_attention_heads=4), {}),
    "qwen 3": ("qwen3", BF16, 150, dict(BASE, head_dim=128, num_attention_heads=4, tie_word_embeddings=True,
                                        rope_theta=1e6), {}),
    "qwen 3, mixed": ("qwen3", F32, 600, dict(BASE, head_dim=48, attention_bias=True, use_sliding_window=True,
                                              sliding_window=50, layer_types=TWO[::-1] * 2), {}),
    "gemma 2": ("gemma2", F32, 130, dict(BASE, head_dim=64, query_pre_attn_scalar=48, sliding_window=40,
                                         attn_logit_softcapping=5.0, final_logit_softcapping=10.0), {}),
    "gemma 2, long": ("gemma2", BF16, 650, dict(BASE, head_dim=32, query_pre_attn_scalar=32, sliding_window=96), {}),
    "gemma 2, no caps": ("gemma2", F16, 120, dict(BASE, head_dim=32, attention_bias=True, sliding_window=200,
                                                  query_pre_attn_scalar=32, attn_logit_softcapping=None,
                                                  final_logit_softcapping=None, tie_word_embeddings=False), {}),
    "gemma 3": ("gemma3_text", BF16, 600, dict(BASE, num_hidden_layers=7, head_dim=64, query_pre_attn_scalar=64,
                                               sliding_window=64, rope_scaling=dict(
                                                   rope_type="linear", factor=8.0)), {}),
    "gemma 3, small": ("gemma3_text", F32, 120, dict(BASE, head_dim=32, query_pre_attn_scalar=20, sliding_window=512,
                                                     num_key_value_heads=1, layer_types=TWO * 2), {}),
    "gemma 3, eyes": ("gemma3", F16, 140, dict(text_config=dict(
        BASE, head_dim=32, query_pre_attn_scalar=32, sliding_window=33), vision_config=EYES, mm_tokens_per_image=4,
        image_token_index=999, boi_token_index=998, eoi_token_index=997), dict(shards=2**21)),
    "gpt-oss": ("gpt_oss", F32, 130, dict(OSS, sliding_window=32, rope_scaling=dict(
        YARN, beta_fast=32.0, beta_slow=1.0, truncate=False)), {}),
    "gpt-oss, long": ("gpt_oss", BF16, 700, dict(OSS, sliding_window=128, layer_types=TWO[::-1] * 2), {}),
    "gpt-oss, plain": ("gpt_oss", F16, 120, dict(OSS, head_dim=32, attention_bias=False, rope_scaling=None,
                                                 tie_word_embeddings=True, sliding_window=1000), {}),
    "smollm 3": ("smollm3", BF16, 150, dict(BASE, bos_token_id=1, eos_token_id=2, pad_token_id=0), {}),
    "smollm 3, windows": ("smollm3", F32, 600, dict(
        BASE, num_hidden_layers=6, no_rope_layers=[1, 0, 1, 1, 0, 0], use_sliding_window=True, sliding_window=64,
        attention_bias=True, mlp_bias=True, tie_word_embeddings=False, bos_token_id=1, eos_token_id=2, pad_token_id=0),
        {}),
}


def rope(kind, theta=10000.0, **more):
    return dict(rope_type=kind, rope_theta=theta, **more)


# What transformers 5 alone can say, in each family: rope_parameters of every type, tied and not.
NEWER = {
    "5: llama": ("llama", F32, 130, dict(BASE, tie_word_embeddings=True, rope_parameters=rope("linear", factor=3.0)),
                 {}),
    "5: llama, dynamic": ("llama", BF16, 150, dict(BASE, max_position_embeddings=128, rope_parameters=rope(
        "dynamic", 5e4, factor=2.0)), {}),
    "5: llama, own head": ("llama", BF16, 150, dict(BASE, rope_parameters=dict(LLAMA3, rope_theta=5e5)),
                           dict(put=dict(tie_word_embeddings=True))),
    "5: mistral": ("mistral", F16, 130, dict(BASE, sliding_window=64, rope_parameters=dict(YARN, rope_theta=1e5)), {}),
    "5: qwen 2": ("qwen2", BF16, 130, dict(BASE, use_sliding_window=True, sliding_window=48, max_window_layers=2,
                                           tie_word_embeddings=True, rope_parameters=rope("default", 1e6)), {}),
    "5: qwen 3": ("qwen3", F32, 200, dict(BASE, head_dim=64, rope_parameters=dict(LLAMA3, rope_theta=1e6)), {}),
    "5: gemma 2": ("gemma2", BF16, 130, dict(BASE, head_dim=64, query_pre_attn_scalar=48, sliding_window=40,
                                             tie_word_embeddings=False, rope_parameters=rope("linear", factor=2.0)),
                   {}),
    "5: gemma 3": ("gemma3_text", BF16, 200, dict(
        BASE, num_hidden_layers=7, head_dim=64, query_pre_attn_scalar=64, sliding_window=64, rope_parameters=dict(
            full_attention=dict(YARN, rope_theta=1e6), sliding_attention=rope("linear", 1e4, factor=2.0))), {}),
    "5: gemma 3, llama3": ("gemma3_text", F32, 200, dict(
        BASE, head_dim=32, query_pre_attn_scalar=32, sliding_window=33, layer_types=TWO * 2, rope_parameters=dict(
            full_attention=dict(LLAMA3, rope_theta=1e6), sliding_attention=rope("default", 300.0)),
        tie_word_embeddings=False), {}),
    "5: gemma 3, dynamic": ("gemma3_text", F32, 150, dict(
        BASE, head_dim=32, query_pre_attn_scalar=32, sliding_window=33, max_position_embeddings=128,
        rope_parameters=dict(full_attention=rope("dynamic", 1e5, factor=3.0),
                             sliding_attention=rope("default", 1e4))), {}),
    "5: gemma 3, eyes": ("gemma3", F16, 140, dict(text_config=dict(
        BASE, head_dim=32, query_pre_attn_scalar=32, sliding_window=33, rope_parameters=dict(
            full_attention=rope("linear", 1e6, factor=8.0), sliding_attention=rope("default", 1e4))),
        vision_config=EYES, mm_tokens_per_image=4, image_token_index=999, boi_token_index=998, eoi_token_index=997),
        dict(shards=2**21)),
    "5: gpt-oss": ("gpt_oss", BF16, 130, dict(OSS, sliding_window=32, rope_parameters=rope("default", 1.5e5)), {}),
    "5: gpt-oss, unsaid": ("gpt_oss", F32, 130, dict(OSS, sliding_window=32), dict(drop=["rope_parameters"])),
    "5: smollm 3": ("smollm3", BF16, 150, dict(BASE, bos_token_id=1, eos_token_id=2, pad_token_id=0,
                                               tie_word_embeddings=False, rope_parameters=dict(
                                                   YARN, rope_theta=2e6)), {}),
}
if make_decoder.V5:
    MODELS.update(NEWER)


def reference(folder, prompt):
    """Logits after each token, ids of the continuation, and its least margin."""
    model, defaults = make_decoder.load(folder)
    with torch.no_grad():
        logits = model(torch.tensor([prompt]), use_cache=False).logits[0]
    model, defaults = make_decoder.load(folder)
    options = GenerationConfig(do_sample=False, max_new_tokens=COUNT + 1, pad_token_id=0, output_logits=True,
                               return_dict_in_generate=True)
    with torch.no_grad():
        out = model.generate(torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
                             generation_config=options)
    steps = torch.stack(out.logits)[:, 0]
    best = steps.topk(2).values
    margin = float((best[:-1, 0] - best[:-1, 1]).min())
    return np.concatenate([logits[:-1].numpy(), steps.numpy()]), out.sequences[0, len(prompt):-1].tolist(), margin


def ours(program, folder, prompt, cache, threads, piece, count, vocabulary):
    path = os.path.join(folder, "logits")
    run = subprocess.run([program, folder, path, cache, str(threads), str(piece), str(count)], text=True,
                         input=" ".join(map(str, prompt)), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if run.returncode != 0:
        print(run.stderr.strip() or f"exit status {run.returncode}")
        return np.full((1, vocabulary), np.nan, np.float32), []
    return np.fromfile(path, np.float32).reshape(-1, vocabulary), [int(x) for x in run.stdout.split()]


def relative(a, b):
    """The largest distance, as a part of the largest logit of the row; infinite where something is missing."""
    if a.shape != b.shape or not np.isfinite(a).all():
        return float("inf")
    return float((np.abs(a - b).max(axis=1) / np.abs(b).max(axis=1)).max())


def check(program, name, seed, folder):
    kind, dtype, length, members, how = MODELS[name]
    make_decoder.save(folder, make_decoder.build(kind, dtype, members, seed, SHARP), how)
    vocabulary = 1000
    for turn in range(50):
        generator = torch.Generator().manual_seed(1000 * seed + turn)
        prompt = torch.randint(8, vocabulary - 8, (length,), generator=generator).tolist()
        logits, ids, margin = reference(folder, prompt)
        if margin >= MARGIN and len(set(ids)) >= DIFFERENT:
            break
    got, continued = ours(program, folder, prompt, "f32", 1, length, COUNT, vocabulary)
    off = relative(got, logits)
    absolute = float(np.abs(got - logits).max()) if got.shape == logits.shape else float("inf")
    equal = sum(a == b for a, b in zip(continued, ids))
    wrong = [] if off <= WITHIN else ["logits"]
    wrong += [] if equal == COUNT == len(continued) else ["ids"]
    if "dynamic" not in name:
        whole, continued = ours(program, folder, prompt, "f32", 2, length, COUNT, vocabulary)
        wrong += [] if relative(whole, logits) <= WITHIN else ["logits, batch_invariant"]
        for piece in (1, 7, 64):
            again, same = ours(program, folder, prompt, "f32", 2, piece, COUNT, vocabulary)
            wrong += [] if again.tobytes() == whole.tobytes() and same == continued else [f"pieces of {piece}"]
    caches = [relative(ours(program, folder, prompt, cache, 2, length, 0, vocabulary)[0], got[:length])
              for cache in ("f16", "bf16", "i8")]
    print(f"{name:20}{str(dtype)[6:]:9}{length:4} tokens, {len(set(ids)):3} different after them: logits off by "
          f"{absolute:.1e}, relative {off:.1e}; {equal} of {COUNT} ids; caches f16 {caches[0]:.0e} "
          f"bf16 {caches[1]:.0e} i8 {caches[2]:.0e}{'  FAILED: ' + ', '.join(wrong) if wrong else ''}", flush=True)
    return wrong, off


def main():
    program = os.path.abspath(sys.argv[1])
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    failed, worst, tried = 0, 0.0, 0
    for seed, name in enumerate(MODELS):
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            wrong, off = check(program, name, seed, os.path.join(folder, "model"))
        failed += bool(wrong)
        worst = max(worst, off)
        tried += 1
    print(f"{tried - failed} of {tried} models passed; logits differ by {worst:.1e} of a row's largest at most")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
