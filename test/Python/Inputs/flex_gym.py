"""flex_attention with attention-gym's mods, of its package."""

import attn_gym.masks as masks
import attn_gym.mods as mods
import torch
from flex_check import check

torch.manual_seed(0)
B, H, S = 2, 4, 64
offsets = torch.tensor([0, 10, 31, 64], dtype=torch.int32)
intervals = torch.tensor([[0, 7], [1, 7], [7, 12], [3, 9]], dtype=torch.int32)
tree = masks.build_tree_ancestor_matrix([-1] + [n // 2 for n in range(S - 1)], device="cpu")
topk = torch.rand(B, H, 8, 8).topk(3).indices.int()
sizes = torch.randint(1, 9, (8,))

MASKS = {
    "causal": masks.causal_mask,
    "batchify": masks.batchify_mask_mod(masks.causal_mask, 16),
    "block diffusion": masks.generate_block_diffusion_mask(S // 2, 8),
    "dilated window": masks.generate_dilated_sliding_window(8, 2),
    "documents": masks.generate_doc_mask_mod(masks.causal_mask, offsets),
    "packed documents": masks.generate_packed_causal_doc_mask_mod(offsets),
    "flamingo": masks.generate_vision_cross_attention_mask_mod(intervals, S // 4),
    "global and window": masks.generate_global_sliding_window(5, torch.rand(S) > 0.9),
    "jetspec training": masks.generate_jetspec_training_mask_mod(16, 8),
    "jetspec tree": masks.generate_jetspec_tree_causal_mask_mod(8, tree),
    "natten": masks.generate_natten(8, 8, 3, 3),
    "tiled natten": masks.generate_tiled_natten(8, 8, 3, 3, 4, 4),
    "morton natten": masks.generate_morton_natten(8, 8, 3, 3),
    "prefix": masks.generate_prefix_lm_mask(9),
    "shared prefix": masks.generate_shared_prefix_mask_mod(offsets, torch.tensor([0, 0, 2])),
    "sliding window": masks.generate_sliding_window(7),
    "sta 2d": masks.generate_sta_mask_mod_2d((8, 8), (4, 4), (2, 2)),
    "sta 2d, text": masks.generate_sta_mask_mod_2d((8, 6), (4, 2), (2, 2), 10),
    "sta 3d": masks.generate_sta_mask_mod_3d((4, 4, 4), (2, 2, 2), (2, 2, 2)),
    "svg spatial": masks.generate_spatial_head_mask_mod(4, 5, 12, 2, True, 4),
    "svg temporal": masks.generate_temporal_head_mask_mod(4, 5, 12, 2),
    "vsa": masks.generate_vsa_mask_mod(topk, 8),
    "vsa, edges": masks.generate_vsa_mask_mod(topk, 8, sizes),
}
MODS = {
    "gelu": (mods.generate_activation_score_mod(), None),
    "relu": (mods.generate_activation_score_mod(torch.nn.functional.relu), None),
    "alibi": (mods.generate_alibi_bias(H), masks.causal_mask),
    "graphormer": (mods.generate_graphormer_spatial_bias(torch.randn(H, 6), torch.randint(0, 6, (B, S, S))), None),
    "graphormer's edges": (
        mods.generate_graphormer_edge_bias(
            torch.randn(H, 3, 5), torch.randint(0, 5, (B, S, S, 3)), torch.randint(0, 4, (B, S, S))
        ),
        None,
    ),
    "mla rope": (mods.generate_mla_rope_score_mod(torch.randn(B, H, S, 8), torch.randn(B, 1, S, 8), H, 0.3), None),
    "sandwich": (mods.generate_sandwich_bias(H, S), masks.causal_mask),
    "softcap": (mods.generate_tanh_softcap(2), None),
}

for name, mask in MASKS.items():
    check(name, None, mask, twin=(None, None))
for name, (score, mask) in MODS.items():
    check(name, score, mask, twin=(None, mask))

# A package's own operation is said by its name.
approximate = lambda s, b, h, q, k: 2 * torch.ops.approx.tanh(s / 2)
check("approx.tanh", approximate)

# A BlockMask whose tables say what its mask_mod does not.
for edges in (None, sizes):
    mask = masks.create_vsa_block_mask(topk, 8, 8, edges)
    check("vsa by its tables", None, masks.generate_vsa_mask_mod(topk, 8, edges), mask, twin=(None, None))
print(len(MASKS) + len(MODS), "mods are right")
