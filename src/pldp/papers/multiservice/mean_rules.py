"""The rules that judge what the paper on several services says about means."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from pldp.papers.claim import Finding, Result, all_of, at_least, at_most, between, most_of
from pldp.papers.multiservice.exhibits import variances
from pldp.papers.paper import Row, span

Cell = dict[str, Row]
Cells = dict[tuple[str, object], Cell]  # by dataset and place
Found = Iterator[tuple[str, float, float]]  # words, a ratio or difference, and its standard error

SINGLES: Final = ("sr", "laplace", "pm", "sw")


def _means(result: Result, figure: str) -> Cells:
    """Rows of the means of a figure, by dataset and place, then by method; of equal mechanisms by their ε."""
    found: Cells = defaultdict(dict)
    for row in result["rows"]:
        if row["figure"] == figure and "mse" in row:
            single = row["method"] in SINGLES
            name = f"{row['method']} {row['epsilon']:g}" if single else row["method"]
            found[row["dataset"], row["place"]][name] = row
    return dict(found)


def _singles(cell: Cell) -> list[Row]:
    return [row for row in cell.values() if row["method"] in SINGLES]


def _over_best(cell: Cell, method: str) -> tuple[float, float]:
    """Error of a method over the least of the single services."""
    best = min(row["mse"] for row in _singles(cell))
    return cell[method]["mse"] / best, cell[method]["mse_error"] / best


def _ratios(result: Result, figure: str, method: str, other: str = "") -> Found:
    for (dataset, place), cell in _means(result, figure).items():
        name = f"{dataset} {place}"
        if other:
            yield name, cell[method]["mse"] / cell[other]["mse"], cell[method]["mse_error"] / cell[other]["mse"]
        else:
            yield name, *_over_best(cell, method)


def _told(found: Sequence[tuple[str, float, float]], words: str) -> str:
    return f"{words} {span([value for _, value, _ in found], '.3f')} in {len(found)} settings"


def gains(result: Result) -> Finding:
    """UA and UWA gain what is printed over the best single service."""
    parts, words = [], []
    for method in ("ua", "uwa_printed"):
        ratios = list(_ratios(result, "4a–d", method))
        parts += [between(1 - value, error, 0.533, 0.85) for _, value, error in ratios]
        words.append(_told([(name, 1 - value, error) for name, value, error in ratios], f"gain of {_NAMES[method]}"))
    return all_of(parts, "; ".join(words))


_NAMES: Final = {"ua": "UA", "uwa": "UWA", "uwa_printed": "UWA", "ule": "ULE"}


def better_than_ua(method: str) -> Callable[[Result], Finding]:
    """UWA gains what is printed over UA in most settings."""

    def decide(result: Result) -> Finding:
        ratios = [(name, 1 - value, error) for name, value, error in _ratios(result, "4a–d", method, "ua")]
        return most_of([between(value, error, 0.01, 0.15) for _, value, error in ratios], _told(ratios, "gain over UA"))

    return decide


def falls(figure: str, *, people: bool = False) -> Callable[[Result], Finding]:
    """Every method's error is smaller at each next place."""

    def decide(result: Result) -> Finding:
        lines: dict[tuple[str, str], list[float]] = defaultdict(list)
        for (dataset, _), cell in _means(result, figure).items():
            for row in cell.values():
                lines[dataset, row["method"]].append(row["mse"])
        steps = [later / earlier for line in lines.values() for earlier, later in pairwise(line)]
        what = "more people" if people else "a larger ε"
        return all_of([at_most(step, 0.0, 1.0) for step in steps], f"error after {what} / before: {span(steps)}")

    return decide


def ua_suffers(result: Result) -> Finding:
    """UA loses against the best single service in most settings with unequal ε."""
    ratios = list(_ratios(result, "5a–d", "ua"))
    return most_of([at_least(value, error, 1.0) for _, value, error in ratios], _told(ratios, "UA / best single"))


def unequal_gain(result: Result) -> Finding:
    """UWA gains what is printed with unequal ε."""
    gains = [(name, 1 - value, error) for name, value, error in _ratios(result, "5a–d", "uwa_printed")]
    average = sum(value for _, value, _ in gains) / max(1, len(gains))
    words = f"{_told(gains, 'gain over the best single')}, {average:.0%} on average"
    each = [between(value, error, 0.1151, 0.7241) for _, value, error in gains]
    return all_of([*each, at_least(average, 0.0, 0.4)], words)


def best_budget(result: Result) -> Finding:
    """The services with ε .4 are the best ones where the paper says so."""
    parts = []
    for (_, place), cell in _means(result, "5a–d").items():
        expected = {"A3": "pm", "A4": "sr"}.get(str(place))
        if expected:
            others = min(row["mse"] for row in _singles(cell) if row["method"] != expected)
            own = next(row["mse"] for row in _singles(cell) if row["method"] == expected)
            parts.append(at_most(own / others, 0.0, 1.0))
    return all_of(parts, "PM in A3 and SR in A4 have the least error of the four")


def beats_singles(figure: str, methods: Sequence[str]) -> Callable[[Result], Finding]:
    """Methods have a smaller error than every single service of a figure."""

    def decide(result: Result) -> Finding:
        parts, words = [], []
        for method in methods:
            cells = {key: cell for key, cell in _means(result, figure).items() if method in cell}
            ratios = [(str(key), *_over_best(cell, method)) for key, cell in cells.items()]
            parts += [at_most(value, error, 1.0) for _, value, error in ratios]
            words.append(_told(ratios, f"{_NAMES[method]} / best single"))
        return all_of(parts, "; ".join(words))

    return decide


def one_mechanism_ua(result: Result) -> Finding:
    """UA loses against the best of services with one mechanism."""
    ratios = list(_ratios(result, "6a", "ua"))
    return all_of([at_least(value, error, 1.0) for _, value, error in ratios], _told(ratios, "UA / service with ε .4"))


def any_data(result: Result) -> Finding:
    """Bounds for any data."""
    worst = result["checks"]["any_data"]
    parts = [at_most(number, 0.0, 1.0) for bounds in worst.values() for number in bounds.values()]
    ua, uwa = (max(bounds[method] for bounds in worst.values()) for method in ("ua", "uwa_printed"))
    return all_of(parts, f"error over any single service, at worst for any data: UA {ua:.2f}, UWA {uwa:.2f}")


def groups(result: Result) -> Finding:
    """UWA before UA before the best single service in every group."""
    parts, words = [], []
    for method, other in (("uwa_printed", "ua"), ("ua", "")):
        ratios = list(_ratios(result, "8c", method, other))
        parts += [at_most(value, error, 1.0) for _, value, error in ratios]
        words.append(_told(ratios, f"{_NAMES[method]} / {_NAMES[other] if other else 'single best'}"))
    return all_of(parts, "; ".join(words))


def alike_or_not(result: Result) -> Finding:
    """UWA gains more over UA with unequal ε."""
    equal = [value for _, value, _ in _ratios(result, "4a–d", "uwa_printed", "ua")]
    unequal = [value for _, value, _ in _ratios(result, "5a–d", "uwa_printed", "ua")]
    words = f"UWA / UA {span(equal)} with equal ε, {span(unequal)} with unequal ones"
    return at_most(max(unequal) / min(equal), 0.0, 1.0, words)


def optimal(measure: str) -> Callable[[Result], Finding]:
    """No constant weights have a smaller variance, or a smaller mean squared error."""

    def decide(result: Result) -> Finding:
        ratios = []
        for figure in ("4a–d", "5a–d"):
            for cell in _means(result, figure).values():
                own, other = cell["uwa_printed"], cell["weights"]["mse"]
                left = 1 - own["bias_in_errors"] ** 2 if measure == "variance" else 1.0
                ratios.append(own["mse"] * left / other)
        parts = [at_most(ratio, 0.0, 1.0) for ratio in ratios]
        return all_of(parts, f"{measure} of UWA / constant inverse variances: {span(ratios, '.4f')}")

    return decide


def stems_from_posteriors(result: Result) -> Finding:
    """Constant weights, which infer nothing about anybody, gain less over UA."""
    shares = [
        (cell["ua"]["mse"] - cell["weights"]["mse"]) / (cell["ua"]["mse"] - cell["uwa_printed"]["mse"])
        for cell in _means(result, "4a–d").values()
    ]
    words = f"of what UWA gains over UA, constant inverse variances gain {span(shares)} times as much"
    return all_of([at_most(share, 0.0, 0.5) for share in shares], words)


def ranking(_: Result) -> Finding:
    """Variances have more than one order."""
    orders = set()
    for panel in variances(_):
        lines = {series.label: series.y for series in panel.series}
        orders |= {tuple(sorted(lines, key=lambda name: lines[name][place])) for place in range(len(panel.series[0].y))}
    return at_least(len(orders), 0.0, 2.0, f"{len(orders)} different orders of the mechanisms' variances")


def wave(result: Result) -> Finding:
    """The printed square wave is a density."""
    mass = result["checks"]["square_wave_mass"]
    parts = [between(number, 0.0, 0.9999, 1.0001) for number in mass.values()]
    return all_of(parts, f"the printed density has a mass of {span(mass.values())} for ε .1 to .6")


def unbiased(reading: str) -> Callable[[Result], Finding]:
    """The inverse of the mean is unbiased."""

    def decide(_: Result) -> Finding:
        if reading == "linear":
            return Finding("holds", "means are linear in v for SR, PM, SW and Laplace, and then it is exact", 0.0, 0.0)
        chance = (1 + 0.5**3) / 2
        found = 2 * chance - 1  # outputs ±1 with mean v³: E⁻¹(±1) = ±1
        words = f"±1 with mean v³ has E⁻¹(±1) = ±1, whose mean at v = 0.5 is {found:g}"
        return between(found, 0.0, 0.4999, 0.5001, words)

    return decide


def budget(result: Result) -> Finding:
    """Joined reports cost no more than the reports did."""
    total = sum(result["checks"]["micro_epsilon"]) / 1e6
    return at_most(total, 0.0, 0.4, f"four reports at ε = 0.1 cost {total:g}; a fifth one would make it 0.5")


def weights_suffice(result: Result) -> Finding:
    """UWA is no better than constant weights."""
    figures = ("4a–d", "5a–d", "6a", "7c", "8c")
    ratios = [each for figure in figures for each in _ratios(result, figure, "uwa", "weights")]
    return all_of([at_least(value, error, 0.99) for _, value, error in ratios], _told(ratios, "UWA / constant"))
