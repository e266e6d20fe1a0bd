import os, subprocess
def test_leaves():
    subprocess.Popen(["sleep", "1000"], close_fds=False, stdout=os.dup(2))
def test_after(): pass
