"""One comment, whatever runs do at the same time: against the stand-in over real sockets."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable

import pytest

from runner.github.comment import Publication, Settled, publish_comment
from tests.github_server.faults import Fault
from tests.github_server.schedule import Turnstile
from tests.github_server.server import GitHubServer
from tests.github_server.state import BOT, Token
from tests.integration.github.conftest import HEAD, Connect, stamp

TEXT = "All is well."


def race(
    server: GitHubServer, connect: Connect, runs: list[int], choose: Callable[[list[str]], str]
) -> dict[int, Publication]:
    """Publish for several runs at once, one request at a time, in the order that `choose` says."""
    names = {run: f"run-{run}" for run in runs}
    server.tokens.update({name: Token() for name in names.values()})
    server.turnstile = turnstile = Turnstile(list(names.values()), choose)
    done: dict[int, Publication] = {}
    failures: list[BaseException] = []

    def publish(run: int) -> None:
        try:
            done[run] = publish_comment(connect(names[run]), 7, f"state of {run}", stamp(run))
        except BaseException as error:  # noqa: BLE001 - shown by the test
            failures.append(error)
        finally:
            turnstile.leave(names[run])

    threads = [threading.Thread(target=publish, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server.turnstile = None
    assert failures == []
    return done


@pytest.mark.parametrize("start", ["none", "one", "two", "abandoned"])
@pytest.mark.parametrize("runs", [[5, 6], [6, 5, 7]], ids=["two runs", "three runs"])
@pytest.mark.parametrize("seed", range(50))
def test_racing_runs_leave_one_comment_with_the_newest_state(
    server: GitHubServer, connect: Connect, runs: list[int], start: str, seed: int
) -> None:
    for _ in range({"none": 0, "two": 2}.get(start, 1)):
        comment = server.state.comment(7, f"{stamp(4)}\nstate of 4")
    if start == "abandoned":
        comment.reactions[BOT, "eyes"] = (1, "2026-01-01T11:00:00Z")
    race(server, connect, runs, random.Random(seed).choice)  # noqa: S311 - a schedule
    newest = max(runs)
    assert server.state.bodies() == [f"{stamp(newest)}\nstate of {newest}"]
    assert [c.reactions for c in server.state.comments.values()] == [{}]


@pytest.mark.parametrize("pause_at", range(12))
@pytest.mark.parametrize("slow", [5, 6])
@pytest.mark.parametrize("exists", [False, True])
def test_a_run_that_stands_still_at_any_request_while_the_other_does_all_its_work(
    server: GitHubServer, connect: Connect, slow: int, pause_at: int, exists: bool
) -> None:
    if exists:
        server.state.comment(7, f"{stamp(4)}\nstate of 4")
    asked = itertools.count()

    def choose(waiting: list[str]) -> str:
        mine = f"run-{slow}"
        if mine in waiting and next(asked) < pause_at:
            return mine
        return next((name for name in waiting if name != mine), waiting[0])

    race(server, connect, [5, 6], choose)
    assert server.state.bodies() == [f"{stamp(6)}\nstate of 6"]


def test_the_first_run_creates_and_the_second_updates(server: GitHubServer, connect: Connect) -> None:
    assert publish_comment(connect(), 7, "first", stamp(1)).settled is Settled.WRITTEN
    first = next(iter(server.state.comments))
    again = publish_comment(connect(), 7, "second", stamp(2))
    assert again == Publication(Settled.WRITTEN, f"https://github.example/octo/kernels/pull/7#issuecomment-{first}")
    assert server.state.bodies() == [f"{stamp(2)}\nsecond"]


def test_an_older_run_and_a_rerun_of_it_write_nothing(server: GitHubServer, connect: Connect) -> None:
    publish_comment(connect(), 7, "new", stamp(9))
    assert publish_comment(connect(), 7, "old", stamp(8)).settled is Settled.SUPERSEDED
    assert publish_comment(connect(), 7, "old again", stamp(8, attempt=2)).settled is Settled.SUPERSEDED
    assert publish_comment(connect(), 7, "new again", stamp(9, attempt=2)).settled is Settled.WRITTEN
    assert server.state.bodies() == [f"{stamp(9, attempt=2)}\nnew again"]


def test_a_run_for_a_commit_that_is_no_longer_the_head_asks_nothing_more(
    server: GitHubServer, connect: Connect
) -> None:
    server.state.pulls[7].head_sha = "c" * 40
    assert publish_comment(connect(), 7, TEXT, stamp(1)).settled is Settled.OUTDATED
    assert server.requests == ["GET /pulls/{pull_number}"]
    assert server.state.bodies() == []


def test_a_strangers_comment_with_our_marker_is_never_touched(server: GitHubServer, connect: Connect) -> None:
    forged = server.state.comment(7, f"{stamp(99)}\nPASS, believe me", login="mallory")
    quoted = server.state.comment(7, f"> {stamp(99)}\nquoted by another tool of the same bot")
    publish_comment(connect(), 7, TEXT, stamp(1))
    assert server.state.bodies("mallory") == [forged.body]
    assert server.state.bodies() == [quoted.body, f"{stamp(1)}\n{TEXT}"]


def test_another_matrix_and_another_workflow_have_comments_of_their_own(server: GitHubServer, connect: Connect) -> None:
    other = server.state.comment(7, str(stamp(50)).replace("sm90", "sm100"))
    publish_comment(connect(), 7, TEXT, stamp(1))
    assert server.state.bodies() == [other.body, f"{stamp(1)}\n{TEXT}"]


def test_the_comment_is_found_behind_three_pages_of_others(server: GitHubServer, connect: Connect) -> None:
    for number in range(250):
        server.state.comment(7, f"chatter {number}", login="somebody")
    mine = server.state.comment(7, f"{stamp(1)}\nold")
    publish_comment(connect(), 7, TEXT, stamp(2))
    assert mine.body == f"{stamp(2)}\n{TEXT}"
    assert server.state.bodies() == [mine.body]


def test_a_token_of_another_name_learns_it_and_keeps_one_comment(server: GitHubServer, connect: Connect) -> None:
    server.tokens["app"] = Token("our-app[bot]")
    for run in (1, 2, 3):
        publish_comment(connect("app"), 7, f"state of {run}", stamp(run))
    assert server.state.bodies("our-app[bot]") == [f"{stamp(3)}\nstate of 3"]


@pytest.mark.parametrize(("exists", "settled"), [(True, Settled.WRITTEN), (False, Settled.NOT_WANTED)])
def test_without_create_only_an_existing_comment_is_brought_up_to_date(
    server: GitHubServer, connect: Connect, exists: bool, settled: Settled
) -> None:
    if exists:
        server.state.comment(7, f"{stamp(1)}\nFAIL")
    assert publish_comment(connect(), 7, "PASS", stamp(2), create=False).settled is settled
    assert server.state.bodies() == ([f"{stamp(2)}\nPASS"] if exists else [])


def test_a_reaction_of_a_run_that_writes_now_is_respected_and_the_state_left_beside(
    server: GitHubServer, connect: Connect
) -> None:
    held = server.state.comment(7, f"{stamp(1)}\nold")
    held.reactions[BOT, "eyes"] = (1, "2026-01-01T11:59:00Z")
    assert publish_comment(connect(), 7, "new", stamp(2)).settled is Settled.LEFT_TO_OTHER
    assert server.state.bodies() == [f"{stamp(1)}\nold", f"{stamp(2)}\nnew"]


def test_where_reactions_are_refused_the_comment_is_written_all_the_same(
    server: GitHubServer, connect: Connect
) -> None:
    server.faults.append(Fault("POST /issues/comments/{comment_id}/reactions", status=403))
    server.state.comment(7, f"{stamp(1)}\nold")
    assert publish_comment(connect(), 7, TEXT, stamp(2)).settled is Settled.WRITTEN
    assert server.state.bodies() == [f"{stamp(2)}\n{TEXT}"]


def test_head_is_compared_as_a_whole(server: GitHubServer, connect: Connect) -> None:
    assert publish_comment(connect(), 7, TEXT, stamp(1, head=HEAD[:-1] + "b")).settled is Settled.OUTDATED
