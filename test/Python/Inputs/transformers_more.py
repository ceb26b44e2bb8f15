"""What else transformers does with attention: packed sequences, bfloat16, traced
graphs, checkpoints of activations, dropout; what is refused; and twins, which
show that the comparisons find what they are for."""
import torch
import transformers as t
import transformers.models.qwen2_vl.modeling_qwen2_vl as early  # before flashtile is known
from transformers.masking_utils import causal_mask_function
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.utils import generic
from transformers_check import attention_forward, close, make, plant, refused
from transformers_configs import DECODERS, decoder, padded, t5, tokens

import flashtile.transformers

flashtile.transformers.register()  # again: nothing happens
llama = DECODERS["llama"]()
left, right, whole = padded("left"), padded("right"), dict(input_ids=tokens(2, 20))

# Sequences that lie one behind the other, whose positions begin anew.
positions = torch.cat([torch.arange(n) for n in (7, 1, 12)])[None].expand(2, -1)
llama.check_logits(dict(**whole, position_ids=positions))
# Padding in more than one piece.
holes = padded("right")
holes["attention_mask"][:, 5:7] = 0
llama.check_logits(holes, holes["attention_mask"])
learned = t5()
learned.check_logits(dict(**holes, decoder_input_ids=tokens(3, 7)))
learned.check_gradients(dict(**holes, decoder_input_ids=tokens(3, 7)))
# A mask of one's own, added here and boolean below.
lower = torch.ones(20, 20, dtype=torch.bool).tril() & (torch.arange(20) % 7 != 3)
lower |= torch.eye(20, dtype=torch.bool)
llama.check_logits(dict(**whole, attention_mask=torch.zeros(2, 1, 20, 20).masked_fill(~lower, -1e30)))
DECODERS["llama"](dtype=torch.bfloat16).check_logits(left, left["attention_mask"])


def in_autocast(model):
    """Gradients, which have been through attention in bfloat16."""
    model.zero_grad()
    wide = model is llama.wide
    with torch.autocast("cpu", torch.bfloat16, enabled=not wide):
        model(**right).logits[right["attention_mask"].bool()].double().pow(2).mean().backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()])


found, unfused, exact = llama.run(in_autocast)
close(found, unfused, exact, "autocast")
# Traced, with a mask that is looked at and one that is not.
compiled = DECODERS["llama"]()
compiled.ours = torch.compile(compiled.ours, backend="aot_eager")
compiled.check_logits(whole)
compiled.check_logits(left, left["attention_mask"])
# A static cache, whose steps are traced once, for all of them.
torch._dynamo.reset()
torch._dynamo.utils.counters.clear()
traced = t.CompileConfig(backend="aot_eager", mode=None)
traced._compile_all_devices = True  # transformers does so on cards alone
static = dict(max_new_tokens=12, do_sample=False, cache_implementation="static", compile_config=traced)
assert torch.equal(llama.ours.generate(**left, **static), llama.eager.generate(**left, max_new_tokens=12))
assert dict(torch._dynamo.utils.counters["frames"]) == {"total": 1, "ok": 1}, torch._dynamo.utils.counters
assert not torch._dynamo.utils.counters["graph_break"]
# In training: what is not kept is computed again; dropout by PyTorch's seed.
again = DECODERS["llama"]()
again.ours.gradient_checkpointing_enable()
again.ours.train()
again.check_gradients(right)
dropping = t.LlamaForCausalLM._from_config(
    t.LlamaConfig(**decoder, attention_dropout=0.5), attn_implementation="flashtile"
).train()


def dropped(seed):
    torch.manual_seed(seed)
    return dropping(**right).logits


assert torch.equal(dropped(1), dropped(1)) and not torch.equal(dropped(1), dropped(2))
dropped(1).sum().backward()


# The twins: with each of these planted, a comparison finds it.
def without(**changes):
    return lambda *arguments, **how: attention_forward(*arguments, **{**how, **changes})


def check_twin(what, function, **planted):
    plant(**planted)
    refused(what, function)
    plant()


gemma, gpt, mistral, bias = DECODERS["gemma2"](), DECODERS["gpt_oss"](), DECODERS["mistral"](), learned
source = dict(**right, decoder_input_ids=tokens(3, 7))
no_padding = lambda **how: make(**{**how, "attention_mask": None})
no_window = lambda **how: make(**{**how, "mask_function": causal_mask_function, "allow_is_causal_skip": False})
for ignored in (
    lambda: bias.check_logits(source),
    lambda: llama.check_logits(left, left["attention_mask"]),
    lambda: llama.check_tokens(left),
    lambda: llama.check_tokens(left, cache_implementation="static"),
):
    check_twin("padding that is ignored", ignored, mask=no_padding)
check_twin("a window that is ignored", lambda: mistral.check_logits(whole), mask=no_window)
check_twin("a softcap that is ignored", lambda: gemma.check_logits(whole), attention=without(softcap=None))
check_twin("a sink that is ignored", lambda: gpt.check_logits(whole), attention=without(s_aux=None))
check_twin("a bias that is ignored", lambda: bias.check_logits(source), attention=without(position_bias=None))


def detached(*arguments, s_aux=None, position_bias=None, **how):
    drop = lambda x: None if x is None else x.detach()
    return attention_forward(*arguments, s_aux=drop(s_aux), position_bias=drop(position_bias), **how)


for models, batch in ((gpt, whole), (bias, source)):
    check_twin("a gradient that is missing", lambda: models.check_gradients(batch), attention=detached)


# What is refused, by name.
def expect(kind, text, function):
    try:
        function()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"expected an error with {text!r}")


forward = ALL_ATTENTION_FUNCTIONS["flashtile"]
layer = llama.ours.model.layers[0].self_attn
q, k = torch.randn(1, 4, 6, 16), torch.randn(1, 2, 6, 16)
own = lower[None, None, :6, :6]
by_mask = [forward(layer, q, k, k, x)[0] for x in (own, torch.zeros(own.shape).masked_fill(~own, -torch.inf))]
assert torch.equal(*by_mask) and not torch.equal(by_mask[0], forward(layer, q, k, k, None)[0])
expect(ValueError, "output_attentions", lambda: forward(layer, q, k, k, None, output_attentions=True))
expect(ValueError, "indices", lambda: forward(layer, q, k, k, None, indices=torch.zeros(1)))
expect(ValueError, "cu_seq_lens_q", lambda: forward(layer, q, k, k, None, cu_seq_lens_q=torch.tensor([0, 6])))
expect(ValueError, "sliding_window=3", lambda: forward(layer, q, k, k, None, sliding_window=3))
expect(TypeError, "torch.int32", lambda: forward(layer, q, k, k, torch.ones(1, 1, 6, 6, dtype=torch.int32)))
expect(TypeError, "found builtins.str", lambda: forward(layer, q, k, k, "causal"))
expect(TypeError, "float64", lambda: forward(layer, q.double(), k.double(), k.double(), None))
bloom = t.BloomConfig(vocab_size=96, hidden_size=64, n_layer=1, n_head=4)
expect(ValueError, "BloomForCausalLM", lambda: t.BloomForCausalLM._from_config(bloom, attn_implementation="flashtile"))
expect(ValueError, "BloomForCausalLM", lambda: t.BloomForCausalLM(bloom).set_attn_implementation("flashtile"))
# It is no FlashAttention, and what is one still is.
is_flash_attention_requested = generic.is_flash_attention_requested
assert early.is_flash_attention_requested is is_flash_attention_requested
assert not is_flash_attention_requested(requested_attention_implementation="flashtile")
assert not is_flash_attention_requested(llama.ours.config)
assert is_flash_attention_requested(requested_attention_implementation="flash_attention_2")
assert not any(is_flash_attention_requested(requested_attention_implementation=x) for x in ("sdpa", "eager"))
expect(ValueError, "ambiguous", lambda: is_flash_attention_requested(llama.ours.config, "flashtile"))
# A model that is made with the name, and one whose attention changes.
made = t.LlamaForCausalLM._from_config(t.LlamaConfig(**decoder), attn_implementation="flashtile")
assert made.config._attn_implementation == "flashtile"
# Of several parts, the one for pictures a small one.
small = dict(depth=1, embed_dim=64, num_heads=4, hidden_size=64)
vision = t.Qwen2VLConfig(text_config=decoder, vision_config=small)
made = t.Qwen2VLModel._from_config(vision, attn_implementation="flashtile")
assert made.visual.config._attn_implementation == "flashtile"
print("right")
