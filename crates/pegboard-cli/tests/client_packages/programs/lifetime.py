"""Opens a client, calls a tool, and waits for `close` or the end of its input."""

import sys

from pegboard import Pegboard, PegboardError

pegboard = Pegboard.open()
pegboard.call("example__add_numbers", {"a": 1, "b": 2})
print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "close":
        pegboard.close()
        pegboard.close()
        try:
            pegboard.search("x")
        except PegboardError as error:
            print("closed", error.code, flush=True)
