// What consumers exchange is written, fenced for the asynchronous proxy, and read by a product across its rows behind the barrier of all.
// RUN: fa-opt %s --convert-tgpu-to-nvvm | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: sed -e 's/buffer<2 x/buffer<1 x/' %s | fa-opt --convert-tgpu-to-nvvm | FileCheck %s --check-prefixes=CHECK,ONE

!keys = !tgpu.channel<1 x 128x64xf16, #tgpu.layout<swizzled 128x64 bytes 2>>
!slots = !tgpu.buffer<2 x 128x64xf16, #tgpu.layout<swizzled 128x64 bytes 2>>
!rows = tensor<64x64xf16, #tgpu.layout<accumulator 64x64 warps 4>>
!turned = tensor<64x128xf16, #tgpu.layout<accumulator 64x128 warps 4>>
!sums = tensor<64x64xf32, #tgpu.layout<accumulator 64x64 warps 4>>

// CHECK-LABEL: llvm.func @exchange(
// Before it is written, and behind; with two slots behind alone.
// ONE: nvvm.barrier id = %{{.*}} number_of_threads = %[[ALL:.*]]{{$}}
// TWO-NOT: nvvm.barrier id
// CHECK-COUNT-16: llvm.store %{{.*}}, %{{.*}} : i32, !llvm.ptr<3>
// CHECK-NOT: llvm.store
// CHECK: nvvm.fence.proxy
// CHECK: nvvm.barrier id = %{{.*}} number_of_threads = %{{.*}}
// CHECK: nvvm.wgmma.fence.aligned
// Eight products over the keys of both.
// CHECK-COUNT-8: tgpu.simt.wgmma f16 a(%{{.*}}) transpose_a b(%{{.*}}) transpose_b
// CHECK-NOT: tgpu.simt.wgmma f16
tile.kernel @exchange(%n: index, %x: f16) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.consumers = 2 : i64, tgpu.warps = 4 : i64, tgpu.shared_bytes = 65536 : i64} {
  %0 = tgpu.alloc at 0 : !slots
  %1 = tgpu.channel at 32768 barriers 49152 : !keys
  %id = tgpu.consumer_id
  tgpu.warp_specialize consumers 2 producer {
  ^bb0(%programs: index, %steps: index):
    tgpu.acquire %1, %programs : !keys
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    %p = tile.broadcast %x : f16 -> !rows
    %t = tgpu.exchange %p by %0[%n] : !rows, !slots -> !turned
    %r = tgpu.dot_start %t by slot %1, %programs : (!turned, !keys, index) -> !tgpu.running<!sums>
    %s = tgpu.dot_wait %r pending 0 : (!tgpu.running<!sums>) -> !sums
    tgpu.passed %steps
  }
  tile.return
}
