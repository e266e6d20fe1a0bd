import threading
import pytest
LEAK = []
@pytest.mark.parametrize("number", range(30))
def test_leaks(number):
    LEAK.append(b"x" * 20_000_000)
    if len(LEAK) == 30:
        threading.Event().wait()
