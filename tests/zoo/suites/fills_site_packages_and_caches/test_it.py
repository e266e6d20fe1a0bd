import os
def test_writes():
    for variable in ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "TMPDIR"):
        os.makedirs(os.environ[variable], exist_ok=True)
        with open(os.path.join(os.environ[variable], "much"), "wb") as stream:
            stream.write(bytes(5_000_000))
