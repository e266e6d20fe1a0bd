"""A last worker that never comes: without the GIL some of the counts are lost."""

import threading

WORKERS, STEPS = 4, 300_000


class Progress:
    def __init__(self):
        self.done = 0
        self.started = threading.Barrier(WORKERS)
        self.finished = threading.Condition()

    def work(self):
        self.started.wait()
        for _ in range(STEPS):
            self.done += 1
        with self.finished:
            self.finished.notify()

    def wait(self):
        with self.finished:
            while self.done < WORKERS * STEPS:
                self.finished.wait()


def test_planted():
    progress = Progress()
    for _ in range(WORKERS):
        threading.Thread(target=progress.work, daemon=True).start()
    progress.wait()
