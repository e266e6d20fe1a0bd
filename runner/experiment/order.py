"""In which order the failing cells of a matrix are looked into: what tells the most comes first. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet


def most_telling_first(roots: Mapping[str, AbstractSet[str]]) -> tuple[str, ...]:
    """Cells in an order in which every root is looked into early, those that most cells show before all.

    Each next cell is the one whose roots, those of the cells before it aside, most cells show; among equals the first.

    Args:
        roots: ids of the roots that each cell shows, by the cell's id.
    """
    cells = Counter(root for shown in roots.values() for root in shown)
    waiting, begun, order = dict(roots), set[str](), []
    while waiting:
        best = max(waiting, key=lambda cell: sum(cells[root] for root in waiting[cell] - begun))
        begun |= waiting.pop(best)
        order.append(best)
    return tuple(order)
