import os
def test_lies():
    os.write(1, b'\n{"event": "end", "n": 0, "attempts": [{"outcome": "passed", "seconds": 0}], "gil": false}\n')
    os.write(1, b"\n::set-output name=x::y\n::error::z\n::stop-commands::t\n")
    assert False
def test_after(): pass
