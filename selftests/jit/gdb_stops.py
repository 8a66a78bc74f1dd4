# SPDX-License-Identifier: GPL-2.0
# In a VM, by gdb-guest, in gdb, which is attached to a program: stop a thread at random times, and compare the frames
# that gdb finds with those of the module at the same stop.
#
# The module is asked while the thread is stopped, and takes the stack when gdb has let it continue, before it is in user mode
# again: its registers are those of the stop then. The answer is read at the next stop.
#
# In the environment:
#   STOPS    how often to stop
#   TID      the thread
#   SCRIPT   this file
#   LIBRARY  libsframe_unwind.so
#   RESULT   file for one line: stops, compared, missed, through generated code, equal, equal through generated code, gdb
#            further, ours further, ours further where gdb has no data, with guesses, ours lacks the innermost caller, different
#   BEND     if not empty: leave out our third frame, so that all are different
#
# Without gdb it is a program that is told on standard input when to stop: python3 gdb_stops.py PID TID.
import ctypes
import os
import random
import signal
import subprocess
import sys
import time

try:
    import gdb
except ImportError:
    gdb = None

TGKILL = 234
FALLBACK = 1                    # SFRAME_UNWIND_REQUEST_FP_FALLBACK
NONBLOCK = 1                    # SFRAME_UNWIND_OPEN_NONBLOCK, SFRAME_UNWIND_READ_NONBLOCK
MAX_DEPTH = 1024
FP, UNSURE = 3, 0x80            # of enum sframe_unwind_frame


def interrupt(pid, tid):
    libc = ctypes.CDLL(None)
    for line in sys.stdin:
        time.sleep(float(line))
        libc.syscall(TGKILL, pid, tid, int(signal.SIGINT))


class Stack(ctypes.Structure):
    """struct sframe_unwind_stack, without the frames"""
    _fields_ = [("size", ctypes.c_uint32), ("type", ctypes.c_uint16), ("reserved0", ctypes.c_uint16),
                ("cookie", ctypes.c_uint64), ("user_data", ctypes.c_uint64), ("time", ctypes.c_uint64),
                ("pid", ctypes.c_uint32), ("tid", ctypes.c_uint32), ("nr_frames", ctypes.c_uint32),
                ("stop", ctypes.c_uint16), ("reserved", ctypes.c_uint16)]


class Module:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.sframe_unwind_stop_name.restype = ctypes.c_char_p
        self.handle = ctypes.c_void_p()
        error = self.library.sframe_unwind_open(ctypes.byref(self.handle), NONBLOCK)
        if error:
            raise OSError(-error, "cannot open the device")

    def request(self, tid, number):
        return self.library.sframe_unwind_request(self.handle, FALLBACK, tid, MAX_DEPTH, ctypes.c_uint64(number), None)

    def read(self):
        """By number of the request: addresses, whether one is a guess, and why the stack ends."""
        stacks = {}
        record = ctypes.POINTER(Stack)()
        while not self.library.sframe_unwind_read_stack(self.handle, NONBLOCK, ctypes.byref(record)):
            stack = record.contents
            at = ctypes.addressof(stack) + ctypes.sizeof(Stack)
            ips = list((ctypes.c_uint64 * stack.nr_frames).from_address(at))
            how = (ctypes.c_uint8 * stack.nr_frames).from_address(at + 8 * stack.nr_frames)
            guess = any(one == FP or one & UNSURE for one in how)
            stacks[stack.user_data] = ips, guess, self.library.sframe_unwind_stop_name(stack.stop).decode()
        return stacks


def is_generated(name):
    return not name or name.startswith(("//anon", "[anon", "/dev/zero"))


class Code:
    """Executable mappings of the process at a stop"""

    def __init__(self, pid):
        self.generated = []
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            for line in maps:
                fields = line.split(None, 5)
                if "x" in fields[1] and is_generated(fields[5].strip() if len(fields) > 5 else ""):
                    self.generated.append([int(end, 16) for end in fields[0].split("-")])

    def has(self, address):
        return any(start <= address < end for start, end in self.generated)


def main():
    pid, tid, stops = gdb.selected_inferior().pid, int(os.environ["TID"]), int(os.environ["STOPS"])
    bend = os.environ.get("BEND")
    module = Module(os.environ["LIBRARY"])
    names = ("compared", "missed", "through", "equal", "equal_through", "gdb_further", "ours_further", "no_data", "guesses",
             "lacking", "different")
    count = dict.fromkeys(names, 0)
    shown = set()

    def gdb_frames(code):
        """
        The addresses, and whether the last one is in code that gdb has no data for: what it finds above such code it has
        guessed, so that is left out.
        """
        ips, frame = [], gdb.newest_frame()
        space = gdb.current_progspace()
        while frame and len(ips) < MAX_DEPTH:
            # Inlined functions, and those that ended in a jump to another one, are not on the stack.
            if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                ips.append(frame.pc())
                at = frame.pc() - (len(ips) > 1)
                if code.has(at) and not space.objfile_for_address(at):
                    return ips, True
            try:
                frame = frame.older()
            except gdb.error:
                break
        return ips, False

    def show(what, theirs, ours, why, code):
        if what in shown:
            return
        shown.add(what)
        print(f"# {what}; our stack ends: {why}")
        for i in range(max(len(theirs), len(ours))):
            line = []
            for ips in theirs, ours:
                text = f"{ips[i]:x}" if i < len(ips) else "-"
                if i < len(ips) and code.has(ips[i] - (i > 0)):
                    text += " generated"
                line.append(f"{text:24}")
            at = (theirs if i < len(theirs) else ours)[i]
            name = gdb.execute(f"info symbol {at - (i > 0):#x}", to_string=True).strip().split("\n")[0]
            print("#  gdb", line[0], "ours", line[1], name)

    def compare(theirs, no_data, code, answer):
        if not answer or not answer[0] or answer[0][0] != theirs[0]:
            count["missed"] += 1
            return
        ours, guess, why = answer
        if bend:
            ours = ours[:2] + ours[3:]
        through = any(code.has(ip - (i > 0)) for i, ip in enumerate(theirs))
        count["compared"] += 1
        count["through"] += through
        count["guesses"] += guess
        common = min(len(theirs), len(ours))
        # A subroutine of the generated code may leave the frame pointer of another function as it is.
        if code.has(theirs[0]) and len(theirs) > 2 and ours == theirs[:1] + theirs[2:]:
            count["lacking"] += 1
            show("ours lacks the innermost caller", theirs, ours, why, code)
        elif theirs[:common] != ours[:common]:
            count["different"] += 1
            show("different", theirs, ours, why, code)
        elif len(theirs) > len(ours):
            count["gdb_further"] += 1
            show("gdb further", theirs, ours, why, code)
        elif len(theirs) < len(ours):
            count["ours_further"] += 1
            count["no_data"] += no_data
            if not no_data:
                show("ours further", theirs, ours, why, code)
        else:
            count["equal"] += 1
            count["equal_through"] += through

    gdb.execute("handle all nostop noprint pass", to_string=True)
    gdb.execute("handle SIGINT stop print nopass", to_string=True)
    gdb.execute("set backtrace past-main on")
    gdb.execute("set backtrace past-entry on")
    gdb.execute("set backtrace limit unlimited")
    gdb.execute("set confirm off")
    gdb.execute("set print thread-events off")
    waker = subprocess.Popen(["python3", os.environ["SCRIPT"], str(pid), str(tid)], stdin=subprocess.PIPE, text=True)
    last, stopped = None, 0
    for number in range(stops + 1):
        waker.stdin.write(f"{random.uniform(0.02, 0.12)}\n")
        waker.stdin.flush()
        gdb.execute("continue", to_string=True)
        answers = module.read()
        if last:
            compare(*last, answers.get(number - 1))
        last = None
        if not gdb.selected_thread():
            print("# the program has ended")
            break
        if gdb.selected_thread().ptid[1] not in (tid, 0):
            continue
        if number == stops:
            break
        stopped += 1
        code = Code(pid)
        theirs, no_data = gdb_frames(code)
        error = module.request(tid, number)
        if error:
            print(f"# request: {os.strerror(-error)}")
        last = theirs, no_data, code
    waker.stdin.close()
    with open(os.environ["RESULT"], "w", encoding="utf-8") as result:
        print(stopped, *(count[name] for name in names), file=result)
    gdb.execute("detach")


if gdb:
    main()
else:
    interrupt(int(sys.argv[1]), int(sys.argv[2]))
