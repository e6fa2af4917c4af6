"""What an observer of the batch can count: classes of outputs of a person and of others who hold something else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt

from pldp.mechanisms import Channel, Contrast
from pldp.shuffling.events import View
from pldp.shuffling.laws import matrix_of

FloatArray = npt.NDArray[np.float64]

MOST_CLASSES = 20_000
"""Classes of outputs at most."""

MOST_TRIED = 17
"""Values that are compared with each other, evenly spread."""

Crowded = Sequence[tuple[int, Channel]]
"""So many others with each of these channels, all of one form."""


def views_of(channel: Channel, others: Crowded) -> Iterator[View]:
    """Yield views of one report; none where outputs of other levels cannot be put into the same classes."""
    contrasts = channel.contrasts()
    if contrasts:
        yield from _from_contrasts(channel, others, len(contrasts))
        return
    matrix = matrix_of(channel)
    if matrix is None:
        return
    rows = [(people, matrix if each is channel else matrix_of(each)) for people, each in others]
    for one, two, third in _far_apart(matrix):
        yield View(matrix[:, one], matrix[:, two], [(n, m[:, third]) for n, m in rows if m is not None])


def _far_apart(matrix: FloatArray) -> list[tuple[int, int, int]]:
    """Return x, x' and z with the largest Σ (Q(y|x) − Q(y|x'))²/Q(y|z): the best two, in either order."""
    size = matrix.shape[1]
    tried = np.unique(np.linspace(0, size - 1, min(size, MOST_TRIED)).astype(int))
    columns = matrix[:, tried]
    found = []
    for third, column in zip(tried, columns.T, strict=True):
        weight = 1 / np.maximum(column, 1e-300)
        products = columns.T @ (columns * weight[:, None])
        square = np.diag(products)
        distance = square[:, None] + square[None, :] - 2 * products
        one, two = divmod(int(np.argmax(distance)), len(tried))
        found.append((-float(distance[one, two]), int(tried[one]), int(tried[two]), int(third)))
    best = sorted(found)[:2]
    return [way for _, one, two, third in best for way in ((one, two, third), (two, one, third))]


def _from_contrasts(channel: Channel, others: Crowded, count: int) -> Iterator[View]:
    alone = all(each is channel for _, each in others)
    for place in range(count):
        parts = channel.contrasts()[place]
        if not alone and not (len(parts) == 1 and parts[0].aligned):
            continue
        for column in ("third", "two"):
            if alone:
                one, two, third = _joined(parts, column)
                yield View(one, two, [(people, third) for people, _ in others])
            else:
                held = [(people, _array(getattr(each.contrasts()[place][0], column))) for people, each in others]
                yield View(_array(parts[0].one), _array(parts[0].two), held)
            if all(part.third == part.two for part in parts):
                break


def _array(column: Sequence[object]) -> FloatArray:
    return np.array([float(each) for each in column])  # type: ignore[arg-type]


def _joined(parts: Sequence[Contrast], column: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the probabilities of the classes of all parts together."""
    tables = [np.stack([_array(part.one), _array(part.two), _array(getattr(part, column))]) for part in parts]
    one, two, third = reduce(join, tables)
    return one, two, third


def join(first: FloatArray, second: FloatArray) -> FloatArray:
    """Join classes of two independent parts, columns × classes; those of equal ratios are one."""
    found = (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)
    found = found[:, found.max(axis=0) > 0]
    with np.errstate(divide="ignore"):
        ratios = np.round(np.nan_to_num(np.log(found[:-1] / found[-1:]), posinf=1e3, neginf=-1e3), 9)
    if found.shape[1] > MOST_CLASSES:
        ratios = np.round(ratios, 1)  # an event need not tell everything apart
    _, place = np.unique(ratios, axis=1, return_inverse=True)
    return np.stack([np.bincount(place.ravel(), row) for row in found])


def joined_view(views: Sequence[View]) -> View | None:
    """Join the views of several questions that the same people answer."""
    counts = {tuple(people for people, _ in view.others) for view in views}
    if len(counts) != 1:
        return None
    tables = [np.stack([view.one, view.two, *(law for _, law in view.others)]) for view in views]
    one, two, *others = reduce(join, tables)
    return View(one, two, list(zip(counts.pop(), others, strict=True)))


def labelled(view: View, own: FloatArray, labels: Sequence[FloatArray]) -> View:
    """Add a label to every output: with these probabilities that of the person, and of each group of others."""
    others = [(people, np.outer(label, law).ravel()) for (people, law), label in zip(view.others, labels, strict=True)]
    return View(np.outer(own, view.one).ravel(), np.outer(own, view.two).ravel(), others)
