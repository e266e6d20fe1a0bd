import os, sys, threading, pytest
def test_exit_0(): os._exit(0)
def test_exit_5(): os._exit(5)
def test_sys_exit(): sys.exit(3)
def test_pytest_exit(): pytest.exit("enough")
def test_interrupt(): raise KeyboardInterrupt
@pytest.mark.filterwarnings("ignore")
def test_in_thread():
    thread = threading.Thread(target=sys.exit)
    thread.start()
    thread.join()
def test_after(): pass
