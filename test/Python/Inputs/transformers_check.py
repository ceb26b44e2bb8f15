"""Models of transformers' with attention by flashtile beside the same with eager
attention, and the rule for errors."""
import copy

import torch
from torch.overrides import TorchFunctionMode
from transformers import masking_utils, modeling_utils

import flashtile.transformers
from flashtile._transformers_masks import make
from flashtile.transformers import attention_forward

flashtile.transformers.register()
torch.set_num_threads(1)  # the models are so small that more wait for each other
calls = 0


def counted(*arguments, **how):
    global calls
    calls += 1
    return attention_forward(*arguments, **how)


def plant(attention=counted, mask=make):
    """What models call as "flashtile" from here on."""
    modeling_utils.AttentionInterface.register("flashtile", attention)
    masking_utils.AttentionMaskInterface.register("flashtile", mask)


plant()


class InDouble(TorchFunctionMode):
    """Models convert some of their work to float32: here that is float64."""

    def __torch_function__(self, function, types, arguments=(), how=None):
        if function is torch.Tensor.float:
            function = torch.Tensor.double
        wide = lambda x: torch.float64 if x is torch.float32 else x
        return function(*map(wide, arguments), **{name: wide(x) for name, x in (how or {}).items()})


def close(found, unfused, exact, what):
    """The rule of docs/numerics.md for what a whole model computes: the errors are
    at most those of eager attention in the same type, by the same factors."""
    size = exact.abs().max().item()
    assert size > 0 and found.isfinite().all(), what
    e0, e = (unfused - exact).abs(), (found - exact).abs()
    floor = (1e-6 if found.dtype == torch.float32 else 1e-5) * max(1, size)
    assert e.max() <= 2 * e0.max() + floor, f"{what}: error {e.max()}, expected {2 * e0.max() + floor} at most"
    assert e.mean() <= 1.1 * e0.mean() + floor / 4, f"{what}: mean error {e.mean()}, of eager {e0.mean()}"


def refused(what, function):
    """The twin: `function`, which is to fail, fails because numbers differ."""
    try:
        function()
    except AssertionError as error:
        assert "error" in str(error), error
        return
    raise AssertionError(f"expected that {what} is found")


class Models:
    """One model three times: eager in float32 and in float64, and flashtile's."""

    def __init__(self, kind, config, dtype=torch.float32):
        torch.manual_seed(0)
        self.name = kind.__name__
        self.eager = kind._from_config(config, attn_implementation="eager", experts_implementation="eager").eval()
        with torch.no_grad():  # learned things that start as 0 or 1 say little
            for parameter in self.eager.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.05)
        self.eager.to(dtype)
        self.wide = copy.deepcopy(self.eager).double()
        self.ours = copy.deepcopy(self.eager)
        self.ours.set_attn_implementation("flashtile")

    def run(self, function):
        """`function` of each model, whose attention is known to be the one that it
        should be."""
        before = calls
        unfused = function(self.eager)
        with InDouble():
            exact = function(self.wide)
        assert calls == before
        found = function(self.ours)
        assert calls > before or modeling_utils.ALL_ATTENTION_FUNCTIONS["flashtile"] is not counted, self.name
        return found, unfused, exact

    def check_logits(self, inputs, kept=None, name="logits"):
        """Outputs of a forward pass, of the tokens that are `kept`."""

        def logits(model):
            with torch.no_grad():
                found = getattr(model(**self.typed(model, inputs)), name)
            return found if kept is None else found[kept.bool()]

        close(*self.run(logits), f"{self.name}: {name}")

    def check_gradients(self, inputs, name="logits"):
        """Gradients of all parameters, of a loss that each output has a part in."""

        def gradients(model):
            model.zero_grad()
            found = getattr(model(**self.typed(model, inputs)), name)
            torch.manual_seed(1)
            weights = torch.randn(found.shape)
            (found * weights.to(found.dtype)).mean().backward()
            found = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]
            return torch.cat([x.flatten() for x in found])

        found, unfused, exact = self.run(gradients)
        size = exact.abs().max()
        close(found / size, unfused / size, exact / size, f"{self.name}: gradients")

    def check_tokens(self, inputs, **how):
        """Greedily generated tokens."""
        before = calls
        how = dict(max_new_tokens=12, do_sample=False, **how)
        want, found = (model.generate(**inputs, **how) for model in (self.eager, self.ours))
        assert torch.equal(want, found), f"{self.name}: error: expected the tokens {want}, found {found}"
        assert calls > before or modeling_utils.ALL_ATTENTION_FUNCTIONS["flashtile"] is not counted, self.name

    @staticmethod
    def typed(model, inputs):
        dtype = next(model.parameters()).dtype
        return {name: x.to(dtype) if x.is_floating_point() else x for name, x in inputs.items()}
