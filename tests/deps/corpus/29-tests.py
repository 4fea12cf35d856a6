# needs: pytest pytest-mock
import pytest


@pytest.fixture
def x():
    return 1


def test_x(x, mocker):
    import pytest_mock
    assert x == 1
