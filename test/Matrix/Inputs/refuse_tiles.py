"""refuse_tiles.py COMMAND...: runs COMMAND where the system grants no registers
of AMX, as seccomp(2) makes it: arch_prctl(ARCH_REQ_XCOMP_PERM) fails."""
import ctypes
import os
import struct
import sys

LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL_WITH_EPERM = 0x7FFF0000, 0x00050001
FILTER = [  # of struct seccomp_data: the call's number, its first argument
    (LOAD, 0, 0, 0),
    (JUMP_EQUAL, 0, 3, 158),
    (LOAD, 0, 0, 16),
    (JUMP_EQUAL, 0, 1, 0x1023),
    (RETURN, 0, 0, FAIL_WITH_EPERM),
    (RETURN, 0, 0, ALLOW),
]
program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in FILTER))
header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(FILTER), ctypes.addressof(program)))
libc = ctypes.CDLL(None, use_errno=True)
for call in ((38, 1, 0, 0, 0), (22, 2, ctypes.addressof(header), 0, 0)):  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
    if libc.prctl(call[0], *map(ctypes.c_ulong, call[1:])):
        sys.exit("prctl: " + os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])
