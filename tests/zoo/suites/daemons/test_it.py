import os, subprocess, sys
CODE = "import os\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\nos.execvp('sleep', ['sleep', '1000'])"
def test_daemon():
    subprocess.run([sys.executable, "-c", CODE], check=True)
def test_clean_daemon():
    subprocess.run([sys.executable, "-c", CODE.replace("execvp('sleep', ['sleep', '1000'])", "execve('/bin/sleep', ['sleep', '1000'], {})")], check=True)
