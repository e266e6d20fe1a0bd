import os
def test_writes():
    for fd in range(200, 256):
        try:
            os.write(fd, b'not json\n{"event": 5}\n[1]\n{"event": "start", "n": "x"}\n{"event": "ended"}\n\xff\n{"event":"end","n":99999,"attempts":[],"gil":1}\n')
        except OSError:
            pass
def test_after(): pass
