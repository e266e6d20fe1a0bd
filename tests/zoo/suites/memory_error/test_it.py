import resource
def test_too_much_at_once(): bytearray(2**62)
def test_little_by_little():
    """What a limit on addresses, set by the test itself, leaves over is used up for real."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as stream:
        held = int(stream.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + 100_000_000, before[1]))
    blocks = []
    try:
        while True:
            blocks.append(bytearray(1_000_000))
    finally:
        blocks.clear()
        resource.setrlimit(resource.RLIMIT_AS, before)
def test_after(): pass
