// A block of a kernel that begins early waits for the kernel before, even if it touches nothing: whatever counts on its end counts on that one's, too.
// RUN: fa-run %s --in 16x16 --out %t.npy --target=emulator:sm_90 --cache=off | FileCheck %s
// RUN: not fa-run %s --in 16x16 --out %t.npy --target=emulator:sm_90 --cache=off --fa-mutate=drop-kernel-wait 2>&1 | FileCheck %s --check-prefix=ENDS
// CHECK: kernel   @first
// CHECK: time
// ENDS: missing wait: block 0 ended before a griddepcontrol.wait for the kernel before it

!x = memref<16x16xf32>

tile.kernel @first(%in: !x {tile.access = #tile.access<in>}, %out: !x {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (2)>, grid_sizes = array<i64>, entry = "f"} {
  tile.return
}

tile.kernel @second(%in: !x {tile.access = #tile.access<in>}, %out: !x {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, entry = "f", tile.follows = @first} {
  tile.return
}
