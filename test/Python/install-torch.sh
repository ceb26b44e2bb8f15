#!/usr/bin/env bash
# install-torch.sh PYTHON: PyTorch for a machine without a card, into PYTHON's
# environment.
#
# PyTorch's Linux wheel is linked to 3 GB of NVIDIA's libraries, of which its
# CPU half calls none. Here they are stand-ins with the same names, versions and
# functions, which give 0; the two small libraries that are called as PyTorch is
# imported (is there a card?) are NVIDIA's. That is 0.6 GB to download and
# 1.4 GB on disk, in place of 2.5 and 5.4.
set -euo pipefail
python=$1
version=2.15.0 cuda='13.2.*' # what this version of PyTorch asks for

# What PyTorch asks for, but for Triton (1 GB), which drives cards.
"$python" -m pip install -q filelock fsspec jinja2 networkx 'setuptools>=77' sympy typing_extensions
"$python" -m pip install -q --no-deps "torch==$version" \
  "nvidia-cuda-runtime==$cuda" "nvidia-cuda-cupti==$cuda"

site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
llvm-nm -D --undefined-only --format=just-symbols "$site"/torch/lib/*.so | sed 's/@.*//' |
  grep -E '^(cu(blas|dnn|fft|sparse|solver|File)|nccl|nvrtc|nvshmem)' | sort -u |
  sed 's/.*/int &(void) { return 0; }/' >"$work/functions.c"
for library in libcublas.so.13 libcublasLt.so.13 libcudnn.so.9 libcufft.so.12 libcufile.so.0 \
  libcusparse.so.12 libcusparseLt.so.0 libnccl.so.2 libnvrtc.so.13 libnvshmem_host.so.3; do
  # The loader asks a library for the version of its symbols.
  case $library in libnvshmem*) node=NVSHMEM ;; *) node=$library ;; esac
  echo "$node { *; };" >"$work/versions"
  clang -w -shared -nostdlib -fuse-ld=lld -Wl,-soname,"$library" \
    -Wl,--version-script="$work/versions" -o "$site/nvidia/cu13/lib/$library" "$work/functions.c"
done
"$python" -c 'import torch; assert not torch.cuda.is_available()'
