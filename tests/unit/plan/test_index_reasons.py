from __future__ import annotations

import pytest
import requests

from runner.plan.index_reasons import why_failed, without_credentials


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://index.invalid/simple/", "https://index.invalid/simple/"),
        ("https://user:s3cret@index.invalid:8443/simple/", "https://index.invalid:8443/simple/"),
        ("https://token@index.invalid/simple/?key=s3cret", "https://index.invalid/simple/"),
        ("https://us@er:s3cret@index.invalid/", "https://index.invalid/"),
    ],
)
def test_an_address_is_shown_without_credentials(url: str, shown: str) -> None:
    assert without_credentials(url) == shown


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (requests.exceptions.SSLError("x"), "its TLS certificate could not be verified"),
        (requests.exceptions.ProxyError("x"), "the proxy refused"),
        (requests.exceptions.ReadTimeout("x"), "it did not answer in time"),
        (requests.exceptions.ConnectionError("https://u:s3cret@h: Connection refused"), "connection refused"),
        (requests.exceptions.ChunkedEncodingError("s3cret"), "the connection failed (ChunkedEncodingError)"),
    ],
)
def test_a_failure_is_said_in_our_words(error: requests.RequestException, words: str) -> None:
    assert why_failed(error) == words
