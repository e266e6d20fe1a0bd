from __future__ import annotations

from runner.execution.stacks import STACK_CHARS, Stacks


def test_the_text_is_that_since_something_else_began_to_run() -> None:
    stacks = Stacks()
    assert stacks.text is None
    stacks.add(b"Current thread 0x1\n")
    assert stacks.arrived is not None
    stacks.forget()
    assert stacks.text is None
    stacks.add(b"Thread \xff")
    stacks.add(b" 0x2\n")
    assert stacks.text == "Thread \\xff 0x2\n"


def test_head_and_tail_of_a_long_one_are_kept() -> None:
    stacks = Stacks()
    stacks.add(b"a" + b"x" * 2 * STACK_CHARS + b"z")
    text = stacks.text or ""
    assert (text[0], text[-1]) == ("a", "z")
    assert f"[... {STACK_CHARS + 2} characters left out ...]" in text
    for _ in range(100):
        stacks.add(b"y" * STACK_CHARS)
    assert len(stacks.text or "") < STACK_CHARS + 100
