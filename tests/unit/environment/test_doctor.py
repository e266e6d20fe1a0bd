from runner.environment.doctor import gpu_checks


def test_an_sm90_gpu_is_ok_and_another_says_what_it_is() -> None:
    table = "NVIDIA H200, 9.0, 580.95.05, 143771 MiB, 0 MiB\nNVIDIA A100-SXM4-80GB, 8.0, 580.95.05, 81920 MiB, 12 MiB\n"
    first, second = gpu_checks(table, "use another machine")
    assert (first.ok, first.remedy) == (True, "")
    assert first.detail == "NVIDIA H200, compute capability 9.0, driver 580.95.05, 0 MiB of 143771 MiB in use"
    assert (second.ok, second.remedy) == (False, "use another machine")


def test_no_gpu_is_said() -> None:
    (check,) = gpu_checks("", "use another machine")
    assert not check.ok
    assert check.detail == "nvidia-smi lists none"
