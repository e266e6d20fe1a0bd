import pytest
@pytest.mark.unknown
def test_marked(): pass
