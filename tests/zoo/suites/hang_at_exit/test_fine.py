import threading
def test_fine():
    threading.Thread(target=threading.Event().wait).start()
