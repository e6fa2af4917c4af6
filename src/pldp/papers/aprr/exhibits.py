"""The tables and figures of the paper on scores and levels, made again."""

from operator import itemgetter
from typing import Final

from pldp.papers.claim import Result
from pldp.papers.paper import ILLUSTRATION, Curves, Exhibit, Table, words

MINERS: Final = {"aprr": "LDP-APRR", "gr_ppfm": "GR-PPFM", "mask": "MASK"}
_SIZES: Final = {1: "single items", 3: "sets of up to three items"}


def _kept_bits(result: Result) -> Table:
    kept = [head for bit in (0, 1) for head in (f"keeps {bit}: printed", "computed")]
    heads = ("level", "items", *kept, 'budget of a "1"', "true ε")
    names = ("level", "items", "printed_zero", "aprr_zero", "printed_one", "aprr_one", "budget_one", "aprr_epsilon_one")
    computed = {"aprr_zero", "aprr_one"}
    rows = [[f"{row[name]:.3f}" if name in computed else row[name] for name in names] for row in result["table_2"]]
    return Table(heads, [[0, 4, 1, "1.000", 1, "1.000", "none", "inf"], *rows])


def _privacy(result: Result) -> Table:
    """All rows of the table; the paper's own beside ours."""
    found = result["table_3"]
    heads = ("", *(f"{text}: {kind}" for text in MINERS.values() for kind in ("printed", "here")))
    rows = []
    for name in ("minimum", "maximum", "average", "overall"):
        cells = []
        for method in MINERS:
            printed, computed = (found[method][kind].get(name) for kind in ("printed", "computed"))
            cells += ["–" if number is None else f"{100 * number:.1f}" for number in (printed, computed)]
        rows.append([f"{words(name)} privacy, %", *cells])
    own = found["aprr"]["with_own_q"]
    rows += [
        [f"{name} privacy with its own q, %", "–", f"{100 * own[name]:.1f}", *"––––"] for name in ("maximum", "average")
    ]
    for name in ("attributes", "values"):
        cells = []
        for method in MINERS:
            cells += ["✓" if method == "aprr" else "×", "✓" if found[method]["qualities"][name] else "×"]
        rows.append([f"personalised {name}", *cells])
    epsilons = [found[method]["qualities"]["epsilon"] for method in MINERS]
    rows.append(["LDP (here: ε of a report)", "✓", epsilons[0], "×", epsilons[1], "×", epsilons[2]])
    exposed = ("D, ε", "D, (p₁, ρ₁) … (p₅, ρ₅)", "D, p")
    needed = [found[method]["qualities"]["rebuild"] for method in MINERS]
    rows.append(["exposed information", *(cell for pair in zip(exposed, needed, strict=True) for cell in pair)])
    return Table(heads, rows)


EXHIBITS: Final = (
    Exhibit("Table 1", "the algorithm", reason="it is `pldp.papers.aprr`"),
    Exhibit("Figure 1", "the mining process", reason=ILLUSTRATION),
    Exhibit("Figure 2", "the channel with three values", reason=ILLUSTRATION),
    Exhibit(
        "Table 2",
        "Probabilities to keep a bit, and what they really promise.",
        _kept_bits,
        differs="the total ε is not printed; 9 gives these probabilities",
    ),
    Exhibit(
        "Table 3",
        "The paper's measures of privacy, as printed and by its formulas.",
        _privacy,
        differs="the shares of GR-PPFM's groups are not printed; 30, 20, 20, 20 and 10 % give both its mean "
        "probability and its average privacy",
    ),
    Exhibit(
        "Figure 3",
        "Sets overestimated (θ⁺) and underestimated (θ⁻), in percent of the frequent ones.",
        Curves(
            itemgetter("min_support"),
            "least support",
            {"theta_plus": "θ⁺ in %", "theta_minus": "θ⁻ in %"},
            MINERS,
            {"aprr_safe": "APRR that keeps its budgets"},
            lambda row: _SIZES[row["largest"]],
            log=False,
        ),
        differs="the least supports are not printed; without Basket there is nothing to draw",
    ),
)
