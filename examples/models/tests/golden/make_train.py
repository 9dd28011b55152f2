"""Writes train.safetensors beside itself: a very small T5 that learns, and what PyTorch makes of its gradient.

    python3 make_train.py

It takes torch 2.13.0, transformers 4.57.6 and safetensors. The file holds the weights by their names, F32, and

    source.I, target.I    I32 [length]    sentence I of the batch, I = 0, 1, ..; the last token is EOS
    loss                  F64 [1]         the mean of -log(probability) over the tokens of all targets
    grad.NAME             F32             its gradient with respect to NAME, computed in f64
    after.NAME            F32             what three steps of AdamW on this batch make of NAME

The texts differ in length, and the longest have distances beyond the last bucket."""
import os

import safetensors.torch
import torch
from transformers import T5Config, T5ForConditionalGeneration

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG = T5Config(vocab_size=21, d_model=10, d_kv=3, num_heads=2, d_ff=14, num_layers=2, num_decoder_layers=1,
                  relative_attention_num_buckets=8, relative_attention_max_distance=9, feed_forward_proj="relu",
                  dropout_rate=0.0, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1)
LENGTHS = [(13, 4), (5, 12), (1, 1), (8, 7)]


def main():
    torch.manual_seed(1)
    model = T5ForConditionalGeneration(CONFIG)
    for name, weight in model.named_parameters():
        weight.data = torch.randn_like(weight) * (1 if "shared" in name or "bias" in name else 0.5)
        if "norm" in name:
            weight.data += 1
    out = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    pairs = [[torch.cat([torch.randint(2, CONFIG.vocab_size, (n - 1,)), torch.tensor([1])]) for n in lengths]
             for lengths in LENGTHS]
    pad = lambda texts, value: torch.nn.utils.rnn.pad_sequence(texts, batch_first=True, padding_value=value)
    source, labels = pad([s for s, _ in pairs], -1), pad([t for _, t in pairs], -100)
    model.double()
    adam = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.98), weight_decay=0.01)
    for step in range(3):
        loss = model(input_ids=source.clamp(min=0), attention_mask=(source >= 0).long(), labels=labels).loss
        adam.zero_grad()
        loss.backward()
        if step == 0:
            out["loss"] = loss.detach().reshape(1)
            out.update({f"grad.{name}": weight.grad.float() for name, weight in model.named_parameters()})
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
    out.update({f"after.{name}": weight.detach().float() for name, weight in model.named_parameters()})
    for i, (one, other) in enumerate(pairs):
        out[f"source.{i}"], out[f"target.{i}"] = one.int(), other.int()
    safetensors.torch.save_file(out, os.path.join(HERE, "train.safetensors"))
    os.chmod(os.path.join(HERE, "train.safetensors"), 0o644)


if __name__ == "__main__":
    main()
