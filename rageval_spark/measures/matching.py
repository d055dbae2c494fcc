"""Matching the calls that were made with those that were expected, each at most once."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import numpy as np

Order = Literal["any", "ordered", "sequence"]
Pairs = list[tuple[int, int]]
"""Row and column of each match, in the order of the rows."""
Credits = Sequence[Sequence[Fraction]]
"""What each row is worth as a match of each column, from 0 to 1; rows of equal length."""


def matched(credits: Credits, order: Order, columns: int) -> Pairs:
    """The matches of most credit in all: in any order, in the order of both sides, or of both sides as a whole."""
    if order == "sequence":
        whole = len(credits) == columns and all(row[place] == 1 for place, row in enumerate(credits))
        return [(place, place) for place in range(columns)] if whole else []
    if not credits or not columns:
        return []
    pairs = assigned(credits) if order == "any" else aligned(credits)
    return [(row, column) for row, column in pairs if credits[row][column] > 0]


def assigned(credits: Credits) -> Pairs:
    """A one-to-one assignment of the largest sum: the Hungarian method by shortest augmenting paths, O(n³)."""
    weights = np.array([[float(one) for one in row] for row in credits])
    turned = weights.shape[0] > weights.shape[1]
    costs = 1.0 - (weights.T if turned else weights)
    rows, columns = costs.shape
    of_row, of_column = np.zeros(rows), np.zeros(columns)
    row_at = np.full(columns + 1, -1)  # the last column is where a path starts
    for row in range(rows):
        row_at[columns] = row
        at, seen = columns, np.zeros(columns, dtype=bool)
        shortest, came_from = np.full(columns, np.inf), np.full(columns, columns)
        path: list[int] = [columns]
        while row_at[at] >= 0:
            here = row_at[at]
            reached = costs[here] - of_row[here] - of_column
            nearer = ~seen & (reached < shortest)
            shortest[nearer], came_from[nearer] = reached[nearer], at
            nearest = int(np.argmin(np.where(seen, np.inf, shortest)))
            step = shortest[nearest]
            of_row[row_at[path]] += step
            of_column[seen] -= step
            shortest[~seen] -= step
            seen[nearest] = True
            at = nearest
            path.append(at)
        while at != columns:
            row_at[at] = row_at[came_from[at]]
            at = int(came_from[at])
    pairs = [(int(row_at[column]), column) for column in range(columns) if row_at[column] >= 0]
    return sorted((column, row) if turned else (row, column) for row, column in pairs)


def aligned(credits: Credits) -> Pairs:
    """A common subsequence of the largest sum: matches that cross no other."""
    rows, columns = len(credits), len(credits[0])
    best = [[Fraction(0)] * (columns + 1) for _ in range(rows + 1)]
    for row in reversed(range(rows)):
        for column in reversed(range(columns)):
            best[row][column] = max(credits[row][column] + best[row + 1][column + 1], best[row + 1][column],
                                    best[row][column + 1])
    pairs, row, column = [], 0, 0
    while row < rows and column < columns:
        if best[row][column] == credits[row][column] + best[row + 1][column + 1]:
            pairs.append((row, column))
            row, column = row + 1, column + 1
        elif best[row][column] == best[row + 1][column]:
            row += 1
        else:
            column += 1
    return pairs
