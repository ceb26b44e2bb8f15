// Plans of loops that cannot be carried out.
// RUN: fa-run %examples/kernels/attention_backward.mlir --entry=backward_queries --arch=sm_90a --emit=plan > %t
// RUN: sed 's/loop .*\]/loop [0:0, 1:1]/' %t > %t.count
// RUN: not fa-run %examples/kernels/attention_backward.mlir --entry=backward_queries --arch=sm_90a --emit=ptx --plan=%t.count 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: {{.*}}attention_backward.mlir{{.*}}: its kernel's plan: expected the loop's 3 dots, found 2
// The last dot waits for what begins behind it.
// RUN: sed 's/loop .*\]/loop [0:1, 0:2, 0:0]/' %t > %t.order
// RUN: not fa-run %examples/kernels/attention_backward.mlir --entry=backward_queries --arch=sm_90a --emit=ptx --plan=%t.order 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: {{.*}}attention_backward.mlir{{.*}}: its kernel's plan: expected the dot of order 0 behind the one whose result it needs, whose order is {{[12]}}
// The producer would wait for the slot that the next step releases.
// RUN: sed 's/step [0-9]*}/step 1}/' %t > %t.slots
// RUN: not fa-run %examples/kernels/attention_backward.mlir --entry=backward_queries --arch=sm_90a --emit=ptx --plan=%t.slots 2>&1 | FileCheck %s --check-prefix=SLOTS
// SLOTS: error: {{.*}}attention_backward.mlir{{.*}}: its kernel's plan: expected two slots of a tile that dots of both stages read, found 1
// So it is with no dot a step late: the same plan is legal.
// RUN: sed 's/loop .*\]/loop [0:0, 0:1, 0:2]/' %t.slots > %t.right
// RUN: fa-run %examples/kernels/attention_backward.mlir --entry=backward_queries --arch=sm_90a --emit=ptx --plan=%t.right -o %t.ptx
