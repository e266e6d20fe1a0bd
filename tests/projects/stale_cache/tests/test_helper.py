"""The import below is where a stale cache ends the process."""

from devicehelper import helper


def test_helper_is_loaded():
    assert callable(helper.load_binary)


def test_helper_reports_an_error_for_a_device_that_is_not_there():
    try:
        helper.get_device_properties(1000)
    except RuntimeError as error:
        assert "CUDA" in str(error)
    else:
        raise AssertionError("device 1000 has properties")
