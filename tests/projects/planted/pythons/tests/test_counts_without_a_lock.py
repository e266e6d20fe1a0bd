import threading

total = 0


def test_planted():
    global total
    total = 0
    start = threading.Barrier(4)

    def add():
        global total
        start.wait()
        for _ in range(400_000):
            total += 1

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert total == 1_600_000, "counts were lost"
