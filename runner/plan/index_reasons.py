"""What a failed request comes to, in a few words that show no credentials."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

import requests


def without_credentials(url: str) -> str:
    """The address without user, password and query: what may appear in a message."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def refusal(response: requests.Response) -> str:
    """What an answer other than a page says."""
    status = f"it answered {response.status_code} {response.reason}".rstrip()
    needs_login = response.status_code in {requests.codes.unauthorized, requests.codes.forbidden}
    return status + (" (it wants other credentials)" if needs_login else "")


def why_failed(error: requests.RequestException) -> str:
    """In a few words; the exceptions' own texts hold object addresses and may hold the address with credentials."""
    text = str(error)
    if isinstance(error, requests.exceptions.SSLError):
        return "its TLS certificate could not be verified"
    if isinstance(error, requests.exceptions.ProxyError):
        return "the proxy refused"
    if isinstance(error, requests.Timeout) or "timed out" in text:
        return "it did not answer in time"
    reasons = ("Connection refused", "Name or service not known", "Temporary failure in name resolution")
    found = [reason for reason in reasons if reason in text]
    if found:
        return found[0].lower()
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return refusal(error.response)
    return f"the connection failed ({type(error).__name__})"
