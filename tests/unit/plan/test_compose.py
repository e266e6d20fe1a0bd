from __future__ import annotations

import pytest

from runner.errors import MatrixFileError
from runner.plan.compose import MAX_BYTES, MAX_NODES, read_tree
from runner.plan.nodes import Tree


def tree(text: str | bytes) -> Tree:
    return read_tree(text.encode() if isinstance(text, str) else text, "m.yml")


def fatal(text: str | bytes) -> str:
    with pytest.raises(MatrixFileError) as caught:
        tree(text)
    return caught.value.message


def said(text: str) -> list[str]:
    return [f"{p.place.line}:{p.place.column} {p.sentence}" for p in tree(text).problems]


def test_scalars_stay_as_they_were_written() -> None:
    text = "gil: [on, off, yes]\npython: [3.10, 3.13t]\nn: 1_000\nd: 2027-01-31\nq: '3.10'\nb: 0x10\nnone: none\n"
    assert tree(text).data() == {
        "gil": ["on", "off", "yes"],
        "python": ["3.10", "3.13t"],
        "n": "1_000",
        "d": "2027-01-31",
        "q": "3.10",
        "b": "0x10",
        "none": "none",
    }


def test_every_node_knows_its_place() -> None:
    found = tree("a:\n  b: [x, 'y']\n")
    assert (found.find(("a",)).place.line, found.find(("a",)).place.column) == (1, 1)
    second = found.find(("a", "b", 1)).node.place
    assert (second.line, second.column) == (2, 10)


def test_a_path_that_leads_nowhere_gives_the_nearest_place_around_it() -> None:
    found = tree("a: x\nb: {c: [d]}\n")
    assert found.find(("a", 0)).node.value == "x"
    assert found.find(("b", "c", 7)).node.place.line == 2
    assert found.find(("nothing",)).node is found.root


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "m.yml:1:1: the file is empty; it needs python, triton and project"),
        ("# only words\n", "m.yml:1:1: the file is empty; it needs python, triton and project"),
        ("~\n", "m.yml:1:1: the file is empty; it needs python, triton and project"),
        ("- a\n", "m.yml:1:1: a matrix file is a mapping with keys such as python, triton and project"),
        ("a: 1\n---\na: 2\n", "m.yml:2:1: a second document begins here; a matrix file holds one"),
        (
            "python:\n\t- 3.12\n",
            (
                "m.yml:2:1: not valid YAML: found character '\\t' that cannot start any token; "
                "indent with spaces, not with tabs"
            ),
        ),
        (
            "a: 1\nexclude:\n  - *-gil-off\n",
            (
                "m.yml:3:5: not valid YAML: found undefined alias '-gil-off'; "
                "a glob that begins with * needs quotes: '*-gil-off-*'"
            ),
        ),
        (
            "triton: >=3.3,<3.8\n",
            (
                "m.yml:1:10: not valid YAML: expected chomping or indentation indicators, but found '='; "
                "a range needs quotes: '>=3.3,<3.8'"
            ),
        ),
        (
            "triton: [>=3.3]\n",
            (
                "m.yml:1:10: not valid YAML: found character '>' that cannot start any token; "
                "a range needs quotes: '>=3.3,<3.8'"
            ),
        ),
        ("python: [3.12\ntriton: 3\n", "m.yml:2:7: not valid YAML: expected ',' or ']', but got ':'"),
        ("a: 1\nb: \x07\n", "m.yml:2:4: not valid YAML: the character U+0007 may not occur"),
        (b"a: 1\nbc: \xff\n", "m.yml:2:5: not UTF-8: byte 0xff; save the file as UTF-8"),
        ("python: 3.12".encode("utf-16"), "m.yml:1:1: not UTF-8: byte 0xff; save the file as UTF-8"),
        ("a: &a [*a]\n", "m.yml:1:4: not valid YAML: this contains itself by an alias"),
        ("a: &a {<<: *a}\n", "m.yml:1:4: not valid YAML: this contains itself by an alias"),
        ("[" * 5000, "m.yml:1:33: not valid YAML: more than 32 levels of nesting"),
        (
            b"#" * (MAX_BYTES + 1),
            f"m.yml:1:1: the file has more than {MAX_BYTES} bytes; a matrix file has at most that many",
        ),
    ],
)
def test_text_that_cannot_be_read_says_where_and_why(text: str | bytes, message: str) -> None:
    assert fatal(text) == message


def test_aliases_cannot_make_a_small_file_large() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdef", "bcdefg", strict=True):
        lines.append(f"{name}: &{name} [{', '.join(['*' + before] * 10)}]")
    assert fatal("\n".join(lines)).endswith(f"not valid YAML: aliases make more than {MAX_NODES} values of it")


def test_a_byte_order_mark_is_no_part_of_the_first_key() -> None:
    assert tree(b"\xef\xbb\xbfpython: 3.12\n").data() == {"python": "3.12"}


def test_a_duplicate_key_is_a_mistake_and_the_first_stays() -> None:
    text = "a: 1\nb:\n  c: 2\n  c: 3\na: 4\n"
    assert said(text) == [
        "4:3 duplicate key 'c', first given on line 3",
        "5:1 duplicate key 'a', first given on line 1",
    ]
    assert tree(text).data() == {"a": "1", "b": {"c": "2"}}


def test_what_has_no_value_is_a_mistake() -> None:
    assert said("a:\nb: [x, ~]\nc: {d: null}\n") == [
        "1:1 'a' has no value",
        "2:8 this item has no value",
        "3:5 'd' has no value",
    ]


def test_what_has_no_value_is_left_out_and_indices_stay_true() -> None:
    assert tree("a:\nb: [~, x]\n").data() == {"b": [None, "x"]}


def test_a_tag_is_one_mistake() -> None:
    assert said("triton: !=3.4\n") == [
        "1:9 '!=3.4' reads as a YAML tag, which has no meaning here; text that begins with ! needs quotes"
    ]
    assert len(said("a: !!python/object:os.system [x]\n")) == 1


def test_merge_keys_fill_in_and_never_win() -> None:
    text = "one: &one {a: 1, b: 2}\ntwo: &two {b: 3, c: 4}\nall:\n  c: 5\n  <<: [*one, *two]\n"
    assert tree(text).data()["all"] == {"a": "1", "b": "2", "c": "5"}
    assert tree(text).find(("all", "b")).place.line == 1
    assert said("a:\n  <<: [x]\n") == ["2:8 << merges mappings alone"]


def test_a_key_is_a_word() -> None:
    assert said("? [a]\n: b\n") == ["1:3 a key is a single word"]
