import pytest
@pytest.fixture
def broken(): raise ValueError
@pytest.fixture
def breaks():
    yield
    raise ValueError
@pytest.fixture
def skips(): pytest.skip("not here")
def test_passed(): pass
def test_failed(): assert 0
def test_skipped(): pytest.skip("why")
@pytest.mark.xfail
def test_xfailed(): assert 0
@pytest.mark.xfail
def test_xpassed(): pass
@pytest.mark.xfail(strict=True)
def test_strict(): pass
def test_setup_error(broken): pass
def test_teardown_error(breaks): pass
def test_both(breaks): assert 0
def test_setup_skip(skips): pass
@pytest.mark.xfail(run=False)
def test_norun(): assert 0
