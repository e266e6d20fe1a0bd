"""Several set-up copies of one test: each with its own function-scoped fixtures, all with the same wider ones.

pytest itself is not made for threads, so everything of pytest's happens in the main thread, one copy after the
other; threads run nothing but the test function. Its internals that are used here are the same from 7.0 on.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import shutil
import threading
from collections.abc import Iterator
from types import MethodType
from typing import Any

import pytest

_NODE_FOR_FIXTURES = (8, 1)
"""From this pytest on fixtures are looked up for a node, before for its id."""


class Fixtures(dict[str, Any]):
    """Names to fixture definitions of one copy: definitions with function scope are its own, others the session's."""

    def __init__(self, item: Any) -> None:
        super().__init__()
        self._item = item
        self._manager = item.session._fixturemanager  # noqa: SLF001
        for name, definitions in item._fixtureinfo.name2fixturedefs.items():  # noqa: SLF001
            self[name] = self._own(definitions)

    def get(self, name: str, default: Any = None) -> Any:
        """The definitions; a name that only `request.getfixturevalue` asks for is looked up now."""
        if self.setdefault(name, None) is None:  # older releases of pytest keep None for a name without a definition
            by_node = pytest.version_tuple[:2] >= _NODE_FOR_FIXTURES
            definitions = self._manager.getfixturedefs(name, self._item if by_node else self._item.nodeid)
            if definitions is None:
                return default
            self[name] = self._own(definitions)
        return self[name]

    def _own(self, definitions: Any) -> list[Any]:
        return [_copied(definition) if definition.scope == "function" else definition for definition in definitions]

    @property
    def own(self) -> list[Any]:
        """The definitions that belong to this copy alone."""
        return [definition for definition in self._all() if definition.scope == "function"]

    @property
    def shared(self) -> list[Any]:
        """The definitions that all copies share."""
        return [definition for definition in self._all() if definition.scope != "function"]

    def _all(self) -> list[Any]:
        return [definition for each in self.values() for definition in each or ()]


def _copied(definition: Any) -> Any:
    own = copy.copy(definition)
    own.cached_result = None
    own._finalizers = []  # noqa: SLF001
    return own


class Clones:
    """The copies of one test.

    Args:
        item: a test function; never set up itself.
        count: how many copies.
    """

    def __init__(self, item: Any, count: int) -> None:
        self.item = item
        self._stack: dict[Any, Any] = item.session._setupstate.stack  # noqa: SLF001
        self._lock = threading.RLock()
        self._parked: dict[Any, Any] = {}
        self.items = [self._clone() for _ in range(count)]
        self.needs_setup = any(not _is_parameter(definition) for definition in self.items[0].race_fixtures.own)
        """Whether a round needs another setup; without fixtures of function scope there is nothing to renew."""

    def _clone(self) -> Any:
        clone = copy.copy(self.item)
        for name in ("user_properties", "_report_sections", "own_markers"):
            if hasattr(clone, name):
                setattr(clone, name, list(getattr(clone, name)))
        clone.race_fixtures = Fixtures(clone)
        return clone

    def renew(self, clone: Any) -> None:
        """Make a copy as it was before its setup, with another instance of its class."""
        clone.stash = pytest.Stash()
        if hasattr(clone, "_store"):
            clone._store = clone.stash  # noqa: SLF001
        self.renew_instance(clone)
        clone._initrequest()  # noqa: SLF001
        request = clone._request  # noqa: SLF001
        request._arg2fixturedefs = clone.race_fixtures  # noqa: SLF001
        request.getfixturevalue = self._one_at_a_time(request.getfixturevalue)

    def renew_instance(self, clone: Any) -> None:
        """Give a method another instance, as pytest does for each test; made here, in the main thread."""
        if isinstance(clone.__dict__.get("_obj"), MethodType):
            for name in ("_obj", "_instance"):
                clone.__dict__.pop(name, None)
        _ = clone.obj

    def _one_at_a_time(self, function: Any) -> Any:
        """A test may ask for a fixture while it runs: pytest would mix up what two threads ask for at once."""

        @functools.wraps(function)
        def locked(*args: Any, **kwargs: Any) -> Any:
            with self._lock:
                return function(*args, **kwargs)

        return locked

    # pytest's stack holds the chain of nodes down to one test. While one copy is set up or torn down, the others are
    # taken off it; while the threads run, all are on it, so that a test can add finalizers.

    def park(self, clone: Any) -> None:
        """Take a copy off pytest's stack with its finalizers."""
        if clone in self._stack:
            self._parked[clone] = self._stack.pop(clone)

    @contextlib.contextmanager
    def all_on_stack(self) -> Iterator[None]:
        """While this lasts every copy is on pytest's stack."""
        self._stack.update(self._parked)
        try:
            yield
        finally:
            for clone in self.items:
                self.park(clone)

    def unpark(self, clone: Any) -> None:
        """Put a copy back, as the only one, to be torn down."""
        if clone in self._parked:
            self._stack[clone] = self._parked.pop(clone)

    def forget(self, clone: Any) -> None:
        """Let go of what a torn-down copy held."""
        folder = clone.funcargs.get("tmp_path") if clone.funcargs else None
        if folder is not None:  # thousands of rounds leave thousands of folders, which pytest numbers by listing them
            shutil.rmtree(folder, ignore_errors=True)
        clone.funcargs = {}

    def release(self) -> None:
        """Take back what the copies left with shared fixtures; their finalizers would hold every round in memory."""
        for clone in self.items:
            for shared in clone.race_fixtures.shared:
                finalizers = shared._finalizers  # noqa: SLF001
                finalizers[:] = [one for one in finalizers if not _belongs_to(one, clone.race_fixtures.own)]


def _is_parameter(definition: Any) -> bool:
    """Whether a definition only hands over a parameter of `parametrize`."""
    return bool(getattr(definition.func, "__name__", "") == "get_direct_param_fixture_func")


def _belongs_to(finalizer: Any, definitions: list[Any]) -> bool:
    owner = getattr(getattr(finalizer, "func", None), "__self__", None)
    return any(owner is definition for definition in definitions)
