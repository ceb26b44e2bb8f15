"""full_disk.py [--room=BYTES] COMMAND: runs a command on a disk that is full, a
write beyond BYTES of a file (8 KiB unless told) fails."""
import os
import resource
import signal
import sys

command, room = sys.argv[1:], 8192
if command[0].startswith("--room="):
    room = int(command.pop(0).partition("=")[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGXFSZ})
os.execvp(command[0], command)
