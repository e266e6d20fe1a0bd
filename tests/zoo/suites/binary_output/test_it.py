import os
def test_bytes():
    os.write(1, b"\0\xff\xfe\x80\r\x1b[31m")
    assert "\0\x1b\udc80" == 1
def test_dies():
    os.write(2, b"\0\xff\xfe")
    os.abort()
