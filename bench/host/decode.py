"""Decode from Python in CUDA graphs: flashtile.attention and the operator beside
PyTorch's scaled_dot_product_attention by cuDNN and by FlashAttention 2.

    python3 bench/host/decode.py            on a card

Each contender is captured into a graph of 20 launches on the same tensors and the
graphs are replayed in turns; the row has the median of a launch and what of the card's
memory that is. The first launch is compared with float64 on the card."""
import statistics
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import flashtile
import flashtile.torch

LAUNCHES, TURNS = 20, 30
# batch, query heads, KV heads, keys, D
SHAPES = [(1, 32, 8, 8192, 128), (4, 32, 8, 32768, 128), (2, 16, 2, 65536, 128), (1, 64, 8, 16384, 128), (32, 64, 8, 2048, 128)]


def by_sdpa(backend):
    def call(q, k, v):
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    return call


def capture(call, inputs):
    """A graph of launches, and the first result."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        out = call(*inputs)
        call(*inputs)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(LAUNCHES):
            call(*inputs)
    graph.replay()
    torch.cuda.synchronize()
    return graph, out


def time(graph):
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    graph.replay()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3 / LAUNCHES


def error(out, q, k, v):
    """The largest of head 0 of batch 0 beside float64."""
    group = q.shape[1] // k.shape[1]
    x = [t[0].double() for t in (q, k[:, :1], v[:, :1])]
    p = torch.softmax(x[0][:group] @ x[1].transpose(1, 2) * q.shape[-1] ** -0.5, -1)
    return float((out[0, :group].double() - p @ x[2]).abs().max())


def main():
    contenders = {
        "flashtile.attention": flashtile.attention,
        f"torch.ops.flashtile ({flashtile.torch.dispatch})": flashtile.torch.attention,
        "cuDNN": by_sdpa(SDPBackend.CUDNN_ATTENTION),
        "FlashAttention 2": by_sdpa(SDPBackend.FLASH_ATTENTION),
    }
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__, "cuDNN", torch.backends.cudnn.version())
    print("| b, hq/hkv, keys, D |", " | ".join(f"{name}: µs, GB/s" for name in contenders), "| largest errors |")
    for b, hq, hkv, keys, d in SHAPES:
        inputs = [torch.randn(b, h, n, d, device="cuda", dtype=torch.bfloat16) for h, n in ((hq, 1), (hkv, keys), (hkv, keys))]
        graphs, errors = {}, []
        for name, call in contenders.items():
            try:
                graphs[name], out = capture(call, inputs)
                errors.append(f"{error(out, *inputs):.1e}")
            except Exception as failed:
                print(name, "does not run:", str(failed).splitlines()[0], file=sys.stderr)
        times = {name: [] for name in graphs}
        for _ in range(TURNS):
            for name, graph in graphs.items():
                times[name].append(time(graph))
        bytes_read = 2 * b * hkv * keys * d * 2
        row = [
            f"{statistics.median(times[name]):.1f}, {bytes_read / statistics.median(times[name]) / 1e3:.0f}" if name in times else "–"
            for name in contenders
        ]
        print(f"| {b}, {hq}/{hkv}, {keys}, {d} |", " | ".join(row), "|", ", ".join(errors), "|", flush=True)


main()
