"""Masks of PyTorch's post and of attention-gym, of S queries and keys and H heads."""

import torch

S, H = 512, 2
torch.manual_seed(0)


def masks():
    """name: mask_mod."""
    document, prefix = torch.arange(S) // 90, 100
    starts = torch.tensor([0, 90, 180, 270, 360, 450])
    lengths = torch.tensor([300], dtype=torch.int32)
    order = torch.tensor([4, 2, 0, 5, 1, 3])
    mixed = document[torch.randperm(S)]
    flags = torch.rand(S) > 0.5
    found = {
        "causal": lambda b, h, q, k: q >= k,
        "window": lambda b, h, q, k: (q >= k) & (q - k <= 100),
        "both sides": lambda b, h, q, k: (q - k).abs() <= 50,
        "prefix": lambda b, h, q, k: (q >= k) | (k < prefix),
        "padding": lambda b, h, q, k: k < lengths[b],
        "blocks": lambda b, h, q, k: q // 64 == k // 64,
        "documents": lambda b, h, q, k: document[q] == document[k],
        "documents, causal": lambda b, h, q, k: (document[q] == document[k]) & (q >= k),
        "documents by starts": lambda b, h, q, k: (k >= starts[document[q]]) & (q >= k),
        "documents out of order": lambda b, h, q, k: order[document[q]] == order[document[k]],
        "documents from a key": lambda b, h, q, k: (q >= starts[document[k]]) & (q < starts[document[k]] + 90),
        "mixed documents": lambda b, h, q, k: mixed[q] == mixed[k],
        "by head": lambda b, h, q, k: torch.where(h < 1, q >= k, k < 30),
        "dilated": lambda b, h, q, k: (q >= k) & ((q - k) % 4 == 0),
        "flags": lambda b, h, q, k: flags[k],
    }
    try:
        import attn_gym.masks as gym
    except ImportError:
        return found
    offsets = torch.tensor([0, 100, 310, S], dtype=torch.int32)
    intervals = torch.tensor([[0, 7], [1, 7], [7, 12], [3, 9]], dtype=torch.int32)
    images = torch.tensor([[0, 100], [100, 190], [190, 400], [400, S]], dtype=torch.int32)
    tree = gym.build_tree_ancestor_matrix([-1] + [n // 2 for n in range(S - 1)], device="cpu")
    topk, sizes = torch.rand(1, H, 8, 8).topk(3).indices.int(), torch.randint(1, 65, (8,))
    return found | {
        "gym: batchify": gym.batchify_mask_mod(gym.causal_mask, 128),
        "gym: block diffusion": gym.generate_block_diffusion_mask(S // 2, 64),
        "gym: dilated window": gym.generate_dilated_sliding_window(32, 2),
        "gym: documents": gym.generate_doc_mask_mod(gym.causal_mask, offsets),
        "gym: packed documents": gym.generate_packed_causal_doc_mask_mod(offsets),
        "gym: flamingo": gym.generate_vision_cross_attention_mask_mod(intervals, S // 4),
        "gym: flamingo, in order": gym.generate_vision_cross_attention_mask_mod(images, S // 4),
        "gym: global and window": gym.generate_global_sliding_window(40, torch.rand(S) > 0.99),
        "gym: jetspec training": gym.generate_jetspec_training_mask_mod(128, 64),
        "gym: jetspec tree": gym.generate_jetspec_tree_causal_mask_mod(64, tree),
        "gym: natten": gym.generate_natten(16, 32, 5, 5),
        "gym: tiled natten": gym.generate_tiled_natten(16, 32, 5, 5, 8, 8),
        "gym: morton natten": gym.generate_morton_natten(32, 16, 5, 5),
        "gym: prefix": gym.generate_prefix_lm_mask(70),
        "gym: shared prefix": gym.generate_shared_prefix_mask_mod(offsets, torch.tensor([0, 0, 2])),
        "gym: sliding window": gym.generate_sliding_window(60),
        "gym: sta 2d": gym.generate_sta_mask_mod_2d((16, 32), (8, 8), (2, 2)),
        "gym: sta 2d, text": gym.generate_sta_mask_mod_2d((16, 30), (8, 6), (2, 2), 32),
        "gym: sta 3d": gym.generate_sta_mask_mod_3d((8, 8, 8), (4, 4, 4), (2, 2, 2)),
        "gym: svg spatial": gym.generate_spatial_head_mask_mod(32, 15, 32, 2, True, 32),
        "gym: svg temporal": gym.generate_temporal_head_mask_mod(32, 15, 32, 2),
        "gym: vsa": gym.generate_vsa_mask_mod(topk, 64),
        "gym: vsa, edges": gym.generate_vsa_mask_mod(topk, 64, sizes),
    }
