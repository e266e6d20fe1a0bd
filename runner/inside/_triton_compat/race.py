"""The race of a worker: each test runs in several threads at once, round after round, instead of once."""

from __future__ import annotations

import faulthandler
import os
import shutil
import time
from collections.abc import Callable
from typing import Any

import pytest

from . import race_fit, text
from .plugin import Plugin
from .race_board import RaceBoard
from .race_clones import Clones
from .race_tally import Tally
from .race_threads import run_together

BEAT_SECONDS = 0.5
"""Between two events of a race that goes on; the supervisor allows for it in its deadline."""
_CACHE = "TRITON_CACHE_DIR"
_PLUGINS_WITH_DEADLINES = ("timeout", "pytest_timeout")
_SETUP, _CALL, _TEARDOWN = b"s", b"c", b"t"


class RacePlugin(Plugin):
    """Takes the place of pytest's protocol for one test; setup and teardown stay pytest's, in the main thread.

    Args:
        race: how many `threads` and `rounds`.
        more: as for `Plugin`.
    """

    def __init__(self, race: dict[str, int], **more: Any) -> None:
        super().__init__(**more)
        self._threads = race["threads"]
        self._rounds = race["rounds"]
        self._race_board = RaceBoard(self._board)
        self._cache = os.environ.get(_CACHE)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: Any) -> None:
        """Deadlines are the supervisor's: pytest-timeout would take all rounds of a test for one."""
        manager = session.config.pluginmanager
        for name in _PLUGINS_WITH_DEADLINES:
            if manager.hasplugin(name):
                manager.unregister(name=name)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> bool:  # type: ignore[override]
        """Run all rounds of one test; wrappers of other plugins, such as that for warnings, stay around all of it."""
        if self._board[0]:  # a deadline has passed: this process is about to be ended
            os._exit(0)
        number = self._numbers[id(item)]
        reason = race_fit.why_not(item)
        if reason is not None:
            self._channel.send("unfit", n=number, reason=text.bound(reason, text.MESSAGE_CHARS))
            return True
        self._board[1:2] = _SETUP
        self._channel.send("race_start", n=number)
        faulthandler.enable(file=self._dump)  # the test before may have pointed it elsewhere
        began, tally = time.monotonic(), Tally()
        try:
            dead = self._race(item, number, tally)
        except Exception as error:  # noqa: BLE001 - not the test's: what it raises is caught where it is called
            self._race_board.end()
            self._channel.send("unfit", n=number, reason=_refusal(error))
            self._tear_down_shared(item, nextitem, tally)
            return True
        self._race_board.end()
        if dead is None:
            self._tear_down_shared(item, nextitem, tally)
        seconds = round(time.monotonic() - began, 6)
        self._channel.send("race_end", n=number, seconds=seconds, **tally.tell(), **self._gil())
        if dead is not None:
            self._contexts.leave(dead)
        return True

    def _race(self, item: Any, number: int, tally: Tally) -> str | None:
        """All rounds of one test. Returns the error of a CUDA context that died in one of them, which ends it."""
        clones = Clones(item, self._threads)
        beaten = time.monotonic()
        for round_number in range(1, self._rounds + 1):
            self._race_board.begin_round(round_number, self._threads, tally.counts)
            if round_number == 1 or clones.needs_setup:
                ready, results = self._set_up(clones)
            self._freshen_cache(number, round_number)
            self._run_round(clones, ready, results, tally, last=round_number == self._rounds)
            tally.rounds = round_number
            dead = self._look_at_contexts()
            if dead is not None:
                tally.add_failure(
                    "synchronize", "dead CUDA context", f"the CUDA context was dead after the round: {dead}"
                )
                return dead
            now = time.monotonic()
            if tally.has_news or now - beaten >= BEAT_SECONDS:
                beaten = now
                self._channel.send("race_round", n=number, **tally.tell(), **self._gil())
        clones.release()
        return None

    def _set_up(self, clones: Clones) -> tuple[list[Any], dict[Any, list[Any]]]:
        """Set up every copy. Returns those that can run, and for each copy the phases that raised so far."""
        self._board[1:2] = _SETUP
        ready, raised = [], {}
        for clone in clones.items:
            clones.renew(clone)
            call = _hook(clone, "setup")
            raised[clone] = _raised("setup", clone, call)
            if call.excinfo is None:
                ready.append(clone)
            clones.park(clone)
        return ready, raised

    def _run_round(
        self, clones: Clones, ready: list[Any], set_up: dict[Any, list[Any]], tally: Tally, *, last: bool
    ) -> None:
        calls: dict[Any, Any] = {}
        if ready:
            if not clones.needs_setup:
                for clone in ready:
                    clones.renew_instance(clone)
            self._board[1:2] = _CALL
            with clones.all_on_stack():
                outcomes = run_together(ready, self._race_board.enter, self._race_board.leave)
            calls = dict(zip(ready, outcomes, strict=True))
        raised = {clone: set_up[clone] + _raised("call", clone, calls.get(clone)) for clone in clones.items}
        if clones.needs_setup or last:
            self._board[1:2] = _TEARDOWN
            for clone in reversed(clones.items):
                clones.unpark(clone)
                raised[clone] += _raised("teardown", clone, _hook(clone, "teardown", nextitem=clones.item))
                clones.forget(clone)
        for clone in clones.items:
            tally.add(calls.get(clone), raised[clone])

    def _freshen_cache(self, number: int, round_number: int) -> None:
        """An empty cache for each round: threads that compile the same at once are the race that users meet.

        What the first round left is kept, for wider fixtures and modules may hold paths into it.
        """
        if self._cache is None:
            return
        before = os.environ.get(_CACHE, "")
        os.environ[_CACHE] = os.path.join(self._cache, f"{number}-{round_number}")
        if round_number > 2:  # noqa: PLR2004 - neither the first of this test nor another test's
            shutil.rmtree(before, ignore_errors=True)

    def _tear_down_shared(self, item: Any, nextitem: Any, tally: Tally) -> None:
        """Tear down the wider fixtures that no later test needs."""
        self._board[1:2] = _TEARDOWN
        call = pytest.CallInfo.from_call(lambda: item.session._setupstate.teardown_exact(nextitem), "teardown")  # noqa: SLF001
        if call.excinfo is not None:
            tally.add(None, _raised("teardown", item, call))


def _refusal(error: Exception) -> str:
    said = text.bound(f"{type(error).__name__}: {error}", text.MESSAGE_CHARS)
    return f"this release of pytest, or a plugin, did not let it be set up several times ({said})"


def _hook(clone: Any, phase: str, **more: Any) -> Any:
    """Run pytest's setup or teardown for one copy, and have its report made: some fixtures ask for it (tmp_path)."""
    hook: Callable[..., Any] = getattr(clone.ihook, f"pytest_runtest_{phase}")
    call = pytest.CallInfo.from_call(lambda: hook(item=clone, **more), phase)  # type: ignore[arg-type]
    if phase == "setup":
        _report(clone, call)
    return call


def _raised(phase: str, clone: Any, call: Any) -> list[tuple[str, Any, Callable[[], Any]]]:
    if call is None or call.excinfo is None:
        return []
    return [(phase, call.excinfo, lambda: _report(clone, call))]


def _report(clone: Any, call: Any) -> Any:
    try:
        return clone.ihook.pytest_runtest_makereport(item=clone, call=call)
    except Exception:  # noqa: BLE001 - a hook of the user's or a representation that raises
        return None
