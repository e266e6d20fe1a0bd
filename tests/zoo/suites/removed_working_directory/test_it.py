import os, tempfile
def test_removes():
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)
def test_dies(): os.abort()
def test_after(): pass
