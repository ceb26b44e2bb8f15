"""Small random models of transformers' with attn_implementation="flashtile"
beside eager ones: logits, gradients and greedily generated tokens."""
import sys

import torch
import transformers as t
from transformers_check import Models
from transformers_configs import DECODERS, padded, small, t5, tokens


def check_decoder(name):
    models = DECODERS[name]()
    models.check_logits(dict(input_ids=tokens(2, 20)))
    for side in ("right", "left"):
        batch = padded(side)
        models.check_logits(batch, batch["attention_mask"])
    models.check_tokens(padded("left"))
    models.check_tokens(dict(input_ids=tokens(2, 5)))
    models.check_tokens(padded("left"), cache_implementation="static")
    models.check_tokens(dict(input_ids=tokens(2, 10)), cache_implementation="static")
    models.check_gradients(dict(input_ids=tokens(2, 20)))


def check_bert():
    config = dict(small, hidden_act="gelu")
    models = Models(t.BertForMaskedLM, t.BertConfig(**config))
    for side in ("right", "left"):
        batch = padded(side)
        models.check_logits(batch, batch["attention_mask"])
    models.check_gradients(padded("right", (20, 9)))
    models = Models(t.BertLMHeadModel, t.BertConfig(**config, is_decoder=True))  # the same as a decoder
    models.check_logits(padded("right"), padded("right")["attention_mask"])


def check_vit():
    config = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96)
    models = Models(t.ViTForImageClassification, t.ViTConfig(**config, image_size=32, patch_size=8, num_labels=10))
    pixels = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(3))
    models.check_logits(dict(pixel_values=pixels))
    models.check_gradients(dict(pixel_values=pixels))


def check_t5():
    models = t5()
    for side in ("right", "left"):
        models.check_logits(dict(**padded(side), decoder_input_ids=tokens(3, 7)))
    models.check_logits(dict(**padded("right"), **{"decoder_" + name: x for name, x in padded("right").items()}),
                        padded("right")["attention_mask"])
    models.check_tokens(padded("right"))
    models.check_tokens(padded("right"), cache_implementation="static")
    models.check_gradients(dict(**padded("right"), decoder_input_ids=tokens(3, 7)))  # of the learned bias, too


def check_whisper():
    config = dict(vocab_size=96, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4)
    config.update(decoder_attention_heads=4, encoder_ffn_dim=96, decoder_ffn_dim=96, num_mel_bins=8)
    config.update(max_source_positions=24, max_target_positions=32, decoder_start_token_id=1)
    config.update(pad_token_id=0, bos_token_id=1, eos_token_id=None, begin_suppress_tokens=None)
    models = Models(t.WhisperForConditionalGeneration, t.WhisperConfig(**config))
    sound = torch.randn(2, 8, 48, generator=torch.Generator().manual_seed(4))
    models.check_logits(dict(input_features=sound, decoder_input_ids=tokens(2, 7)))
    models.check_tokens(dict(input_features=sound))
    models.check_gradients(dict(input_features=sound, decoder_input_ids=tokens(2, 7)))


OTHERS = {"bert": check_bert, "vit": check_vit, "t5": check_t5, "whisper": check_whisper}
for name in sys.argv[1:]:
    OTHERS[name]() if name in OTHERS else check_decoder(name)
    print(name, "is right")
