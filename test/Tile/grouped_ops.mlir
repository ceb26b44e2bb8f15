// RUN: fa-opt %s | fa-opt | FileCheck %s
// RUN: fa-opt %s --emit-bytecode | fa-opt | FileCheck %s

// CHECK-DAG: #[[ROWS:[a-z0-9]+]] = affine_map<(d0, d1)[s0] -> (d0 mod s0, d0 floordiv s0, d1)>
// CHECK-DAG: #[[ROW:[a-z0-9]+]] = affine_map<(d0)[s0] -> (d0 mod s0, d0 floordiv s0)>

// CHECK-LABEL: func.func @grouped
// CHECK: tile.grouped_view %{{.*}} block 64 : memref<?x?x128xbf16, strided<[?, ?, 1], offset: ?>> -> memref<?x128xbf16, #[[ROWS]]>
// CHECK: tile.grouped_view %{{.*}} : memref<?x?xf32> -> memref<?xf32, #[[ROW]]>
func.func @grouped(%q: memref<?x?x128xbf16, strided<[?, ?, 1], offset: ?>>, %lse: memref<?x?xf32>) {
  %0 = tile.grouped_view %q block 64 : memref<?x?x128xbf16, strided<[?, ?, 1], offset: ?>> -> memref<?x128xbf16, affine_map<(d0, d1)[s0] -> (d0 mod s0, d0 floordiv s0, d1)>>
  %1 = tile.grouped_view %lse : memref<?x?xf32> -> memref<?xf32, affine_map<(d0)[s0] -> (d0 mod s0, d0 floordiv s0)>>
  return
}
