# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""FlashTile as an attention of Hugging Face's transformers.

    import flashtile.transformers
    flashtile.transformers.register()
    model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="flashtile")

docs/transformers.md is the manual.
"""

import functools
import inspect
import sys

import torch
import transformers
from transformers import masking_utils, modeling_utils
from transformers.utils import generic

from ._transformers_masks import Mask, make
from .torch import attention

__all__ = ["register", "attention_forward", "Mask"]

NAME = "flashtile"
# Tensors that models hand to every attention and that no attention reads.
_UNREAD = ("position_ids", "cache_position", "num_items_in_batch", "position_embeddings", "labels")


def _check_unread(how):
    """What is given beside the arguments that are known must not matter."""
    if how.get("output_attentions"):
        raise ValueError("expected output_attentions=False, found True: no probabilities are kept; 'eager' has them")
    for name, value in how.items():
        if isinstance(value, torch.Tensor) and name not in _UNREAD:
            raise ValueError(f"expected no {name}, found a tensor: flashtile does not know what it does to attention")


def _implied(module, query, key, is_causal, sliding_window):
    """What attention without a mask means: causal if the module says so, query i
    at key i, as with SDPA; one query sees all keys."""
    is_causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    if is_causal and sliding_window is not None and sliding_window < key.shape[2]:
        raise ValueError(f"expected a mask beside sliding_window={sliding_window} of {key.shape[2]} keys, found none")
    return dict(causal="top-left" if is_causal and query.shape[2] > 1 else False)


def _add_mask(bias, mask, dtype):
    """The bias with a mask that is a tensor: boolean, True being seen, or added to
    scores."""
    if mask.dtype == torch.bool:
        bias = torch.zeros((), dtype=dtype, device=mask.device) if bias is None else bias
        return torch.where(mask, bias, -torch.inf)
    if not mask.is_floating_point():
        raise TypeError(f"expected a mask of booleans or floats, found {mask.dtype}")
    return mask if bias is None else bias + mask


def _autocast(*tensors):
    """As PyTorch's own attention is computed where autocast is on, which models
    hand tensors of several types then."""
    kind = tensors[0].device.type
    if not torch.is_autocast_enabled(kind):
        return tensors
    return tuple(x.to(torch.get_autocast_dtype(kind)) for x in tensors)


def attention_forward(
    module,
    query,
    key,
    value,
    attention_mask,
    dropout=0.0,
    scaling=None,
    sliding_window=None,
    softcap=None,
    is_causal=None,
    s_aux=None,
    position_bias=None,
    **rest,
):
    """Attention as transformers' models call it: query [b, hq, sq, d], key and value
    [b, hkv, sk, d], hq being a multiple of hkv, to [b, sq, hq, dv] and None.

    attention_mask: a Mask, None, or a tensor [b or 1, hq or 1, sq, sk], boolean or
    added to the scores. sliding_window is in the mask. s_aux: one more score of
    each head, without a value. position_bias: added to the scores.
    """
    _check_unread(rest)
    query, key, value = _autocast(query, key, value)
    bias, how = position_bias, {}
    if attention_mask is None:
        how = _implied(module, query, key, is_causal, sliding_window)
    elif isinstance(attention_mask, Mask):
        how = attention_mask.options()
    elif isinstance(attention_mask, torch.Tensor):
        bias = _add_mask(bias, attention_mask, query.dtype)
    else:
        kind = type(attention_mask)
        raise TypeError(f"expected a mask of flashtile's, a tensor or None, found {kind.__module__}.{kind.__name__}")
    out = attention(
        query,
        key,
        value,
        scale=scaling,
        softcap=softcap or 0.0,
        bias=None if bias is None else bias.to(query.dtype),
        sink=None if s_aux is None else s_aux.float(),
        dropout_p=dropout,
        **how,
    )
    return out.transpose(1, 2).contiguous(), None


def _replace(original, replacement):
    """In all modules of transformers that have it under its own name. Those that
    are imported later take it from where it is defined."""
    for name, module in list(sys.modules.items()):
        # vars: attributes that are modules are imported when they are looked at.
        if name.partition(".")[0] == "transformers" and vars(module).get(original.__name__) is original:
            setattr(module, original.__name__, replacement)


def _separate_from_flash_attention():
    """transformers takes each name with "flash" in it for a version of
    FlashAttention, which it would import, and unpads for."""
    original = generic.is_flash_attention_requested

    @functools.wraps(original)
    def is_flash_attention_requested(config=None, requested_attention_implementation=None, version=None):
        found = requested_attention_implementation if config is None else config._attn_implementation
        if found == NAME and (config is None or requested_attention_implementation is None):
            return False
        return original(config, requested_attention_implementation, version)

    _replace(original, is_flash_attention_requested)


def _check_has_interface(model):
    if not model._can_set_attn_implementation():
        raise ValueError(
            f"expected a model whose attention goes through transformers' AttentionInterface for "
            f"attn_implementation='{NAME}', found {type(model).__name__}, which has an attention of its own"
        )


def _refuse_models_without_interface():
    """A model whose attention asks nobody for an implementation would run its own:
    transformers says nothing when it is made, and warns when it is changed."""
    base = modeling_utils.PreTrainedModel
    make_of, change = base.get_correct_attn_implementation, base.set_attn_implementation

    @functools.wraps(make_of)
    def get_correct_attn_implementation(self, requested_attention, is_init_check=False):
        if requested_attention == NAME:
            _check_has_interface(self)
        return make_of(self, requested_attention, is_init_check)

    @functools.wraps(change)
    def set_attn_implementation(self, attn_implementation, *rest, **how):
        if attn_implementation == NAME:
            for part in self.modules():
                if isinstance(part, base):
                    _check_has_interface(part)
        return change(self, attn_implementation, *rest, **how)

    base.get_correct_attn_implementation = get_correct_attn_implementation
    base.set_attn_implementation = set_attn_implementation


def _check_version():
    wanted = {"q_length", "q_offset", "kv_length", "kv_offset"}
    known = set(inspect.signature(masking_utils.sdpa_mask).parameters)
    if not wanted <= known or not hasattr(generic, "is_flash_attention_requested"):
        raise ImportError(f"expected transformers 5.24 or one with its masks, found {transformers.__version__}")


def register():
    """Makes attn_implementation="flashtile" known to transformers, of models that
    are made from now on and for model.set_attn_implementation. Once is enough, and
    more than once does no harm."""
    _check_version()
    if NAME in modeling_utils.AttentionInterface._global_mapping:
        return
    _separate_from_flash_attention()
    _refuse_models_without_interface()
    modeling_utils.AttentionInterface.register(NAME, attention_forward)
    masking_utils.AttentionMaskInterface.register(NAME, make)
