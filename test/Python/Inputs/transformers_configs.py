"""Small random models of transformers', and inputs of them."""
import torch
import transformers as t
from transformers_check import Models

small = dict(vocab_size=96, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4)
small.update(max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=None)
decoder = dict(small, num_key_value_heads=2, head_dim=16)
both = dict(layer_types=["sliding_attention", "full_attention"], sliding_window=8)

DECODERS = {
    "llama": lambda **how: Models(t.LlamaForCausalLM, t.LlamaConfig(**decoder), **how),
    "gemma2": lambda: Models(
        t.Gemma2ForCausalLM, t.Gemma2Config(**decoder, **both, attn_logit_softcapping=2.0, query_pre_attn_scalar=4)
    ),
    "gpt_oss": lambda: Models(
        t.GptOssForCausalLM, t.GptOssConfig(**decoder, **both, num_local_experts=4, num_experts_per_tok=2)
    ),
    "mistral": lambda: Models(t.MistralForCausalLM, t.MistralConfig(**decoder, sliding_window=8)),
    "deepseek_v3": lambda: Models(  # q and k of 24, v of 16
        t.DeepseekV3ForCausalLM,
        t.DeepseekV3Config(
            **dict(small, num_key_value_heads=4, kv_lora_rank=16, q_lora_rank=16, qk_rope_head_dim=8, v_head_dim=16),
            **dict(qk_nope_head_dim=16, n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1),
            **dict(moe_intermediate_size=32, first_k_dense_replace=1),
        ),
    ),
}


def tokens(b, n):
    return torch.randint(2, 96, (b, n), generator=torch.Generator().manual_seed(b * n))


def padded(side, counts=(20, 13, 17), n=20):
    """Tokens and which of them are tokens, the others being on one side."""
    j, count = torch.arange(n)[None], torch.tensor(counts)[:, None]
    mask = (j < count if side == "right" else j >= n - count).long()
    return dict(input_ids=tokens(len(counts), n) * mask, attention_mask=mask)


def t5():
    config = dict(vocab_size=96, d_model=64, d_kv=16, d_ff=96, num_layers=2, num_heads=4, pad_token_id=0)
    config.update(decoder_start_token_id=0, eos_token_id=None, relative_attention_num_buckets=8, dropout_rate=0.0)
    return Models(t.T5ForConditionalGeneration, t.T5Config(**config, relative_attention_max_distance=12))
