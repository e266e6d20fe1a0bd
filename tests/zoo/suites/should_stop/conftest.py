def pytest_runtest_logfinish(nodeid, location): pass
def pytest_runtest_teardown(item): item.session.shouldstop = "enough"
