# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of the package flash_attn by their names and arguments, as vLLM calls
them, too:

    from flashtile.flash_attn import flash_attn_varlen_func
"""

from ._serving import paged_attention, varlen_attention


def flash_attn_varlen_func(
    q,
    k,
    v,
    cu_seqlens_q=None,
    cu_seqlens_k=None,
    max_seqlen_q=None,
    max_seqlen_k=None,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    alibi_slopes=None,
    deterministic=False,
    return_attn_probs=False,
    block_table=None,
    *,
    return_softmax_lse=False,
    out=None,
    seqused_k=None,
    s_aux=None,
    q_descale=None,
    k_descale=None,
    v_descale=None,
    num_splits=0,
    scheduler_metadata=None,
    fa_version=None,
    **others,
):
    """`flashtile.varlen_attention` with the arguments of flash_attn's function, or
    with a block_table `flashtile.paged_attention`: k and v are then pages
    [n, page, heads, d], and seqused_k has the length of each sequence.

    The longest lengths, deterministic, num_splits, scheduler_metadata and
    fa_version change no result here and are not looked at. dropout_p,
    return_attn_probs and arguments of other names that are not None are a
    ValueError. return_softmax_lse: also the log-sum-exp, float32
    [heads, rows]. s_aux: a score more for each head, float32 [heads]. k and v may
    be float8_e4m3fn beside a q of 16 bits, or q as well, whose output is then `out`
    or bfloat16; q_descale, k_descale and v_descale, float32 [b, KV heads] of any
    strides, are what they are multiplied with. Without a block_table q, k, v, slopes and s_aux that require a gradient have one, the
    same bits in every run.
    """
    if cu_seqlens_q is None:
        raise ValueError("flash_attn_varlen_func: expected cu_seqlens_q, found None")
    others.update(dropout_p=dropout_p or None, return_attn_probs=return_attn_probs or None)
    if block_table is None:
        others.update(seqused_k=seqused_k)
    elif seqused_k is None:
        raise ValueError("flash_attn_varlen_func: expected seqused_k beside a block_table, found None")
    for name, found in others.items():
        if found is not None:
            raise ValueError(f"flash_attn_varlen_func: {name}={found!r:.40} is not supported")
    left, right = window_size
    how = dict(
        causal=causal,
        window=None if (left, right) == (-1, -1) else (left, right),
        softcap=softcap,
        scale=softmax_scale,
        alibi_slopes=alibi_slopes,
        sink=s_aux,
        q_scale=q_descale,
        k_scale=k_descale,
        v_scale=v_descale,
        return_lse=return_softmax_lse,
        out=out,
    )
    if block_table is None:
        return varlen_attention(q, k, v, cu_seqlens_q, cu_seqlens_k, **how)
    return paged_attention(q, k, v, block_table, seqused_k, cu_seqlens_q=cu_seqlens_q, pages="nhd", **how)
