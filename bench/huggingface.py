#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One layer of a model of the shape of Llama 3 8B, by Hugging Face's transformers,
with attention by FlashTile beside transformers' own, in turns.

    bench/huggingface.py                  on a card, bf16
    bench/huggingface.py --device=cpu --tokens=256 --float32

Rows are the prefill of a prompt, without and with padding on the left, and a step
of decoding behind it, with a growing cache. Weights are random. Of each the median
of the whole layer's time is shown, events of the card or the host's clock, and how
far the outputs are from those of SDPA. What cannot be imported is left out, and said.
"""

import argparse
import inspect
import statistics
import time

import torch
import transformers

import flashtile.transformers


def make_model(implementation, options):
    """The model without its vocabulary, which is not what is measured."""
    config = transformers.LlamaConfig(
        hidden_size=4096,
        intermediate_size=14336,
        num_hidden_layers=1,
        num_attention_heads=32,
        num_key_value_heads=8,
        vocab_size=8,
        max_position_embeddings=1 << 17,
    )
    torch.manual_seed(0)
    dtype = torch.float32 if options.float32 else torch.bfloat16
    model = transformers.LlamaModel._from_config(config, attn_implementation=implementation, dtype=dtype)
    return model.to(options.device).eval()


def measure(call, options):
    """Milliseconds of one call."""
    if options.device == "cpu":
        start = time.perf_counter()
        call()
        return 1e3 * (time.perf_counter() - start)
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop)


def cases(batch, tokens, options):
    """Names, and what each makes of a model: a call, which gives an output."""
    inputs = torch.randn(batch, tokens, 4096, device=options.device)
    mask = torch.ones(batch, tokens, dtype=torch.long, device=options.device)
    mask[0, : tokens // 4] = 0

    def prefill(mask):
        def of(model):
            x = inputs.to(model.dtype)
            return lambda: model(inputs_embeds=x, attention_mask=mask, use_cache=False).last_hidden_state

        return of

    def decode(model):
        x = inputs.to(model.dtype)
        cache = transformers.DynamicCache(config=model.config)
        # As its argument is called from version 5.24 on, and before.
        names = inspect.signature(model.forward).parameters
        how = {"cache" if "cache" in names else "past_key_values": cache, "use_cache": True}
        model(inputs_embeds=x, **how)

        def step():
            out = model(inputs_embeds=x[:, :1], **how).last_hidden_state
            cache.crop(-1)
            return out

        return step

    return {"prefill": (prefill(None), None), "prefill, padded": (prefill(mask), mask.bool()), "decode": (decode, None)}


def make_models(options):
    """Those of the implementations that are here."""
    models = {}
    for name in ("sdpa", "flashtile", "flash_attention_2", "flash_attention_3"):
        try:
            models[name] = make_model(name, options)
        except (ImportError, ValueError) as error:
            print(f"{name} is left out: {str(error).splitlines()[0]}")
    return models


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--float32", action="store_true", help="in place of bf16")
    parser.add_argument("--tokens", type=int, nargs="+", default=[2048, 8192, 32768])
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--turns", type=int, default=10)
    options = parser.parse_args()
    flashtile.transformers.register()
    models = make_models(options)
    for tokens in options.tokens:
        for case, (make, kept) in cases(options.batch, tokens, options).items():
            calls = {name: make(model) for name, model in models.items()}
            outputs = {name: call().float() for name, call in calls.items()}  # the first call compiles
            times = {name: [] for name in calls}
            for _ in range(options.turns):
                for name, call in calls.items():
                    times[name].append(measure(call, options))
            size = outputs["sdpa"].abs().max()
            for name, found in outputs.items():
                away = (found - outputs["sdpa"]).abs()
                away = (away if kept is None else away[kept]).max() / size
                print(f"{tokens:6} {case:16} {name:18} {statistics.median(times[name]):9.3f} ms   {away:.1e} from sdpa")


if __name__ == "__main__":
    main()
