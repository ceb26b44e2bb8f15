// Pipelines for architectures that are not known say which are.
// RUN: split-file %s %t
// RUN: fa-opt %t/nvidia.mlir --verify-diagnostics --fa-nvidia=arch=sm_70
// RUN: fa-opt %t/amd.mlir --verify-diagnostics --fa-amd=arch=gfx1100
// RUN: fa-opt %t/lowering.mlir --verify-diagnostics --convert-tgpu-to-rocdl=arch=gfx906

//--- nvidia.mlir
// expected-error @below {{unknown architecture 'sm_70', expected sm_80, sm_86, sm_89, sm_90, sm_90a}}
module {}

//--- amd.mlir
// expected-error @below {{unknown architecture 'gfx1100', expected gfx90a, gfx942, gfx950}}
module {}

//--- lowering.mlir
// expected-error @below {{unknown architecture 'gfx906', expected gfx90a, gfx942, gfx950}}
module {}
