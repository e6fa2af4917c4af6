"""What the paper on several services claims, quoted, with the rule that judges each claim."""

from collections.abc import Callable, Iterator
from typing import Final

from pldp.papers.claim import Claim, Finding, Result
from pldp.papers.multiservice import mean_rules as means
from pldp.papers.multiservice import shape_rules as shapes
from pldp.papers.multiservice.elements import ELEMENTS
from pldp.papers.multiservice.exhibits import EXHIBITS
from pldp.papers.multiservice.experiment import REAL, run
from pldp.papers.paper import Paper

_EXACT: Final = "the paper's people and ε; expected errors, computed; values in 32 buckets; unbounded Laplace noise"
_DATA: Final = "Beta+Sin by a formula of ours, Taxi of 2015-2019, Retirement of 2011-2014"
_SAMPLED: Final = (
    "64 buckets for numbers and 24 for outputs (the authors' program: 1,024), 50 runs (quick: 10, of more than three "
    "services 5)"
)
_PRINTED: Final = "EM as printed, single services and ULE alike"
_SMOOTHED: Final = "with the smoothing of the authors' program, single services and ULE alike"
_READINGS: Final = {"em": _PRINTED, "ems": _SMOOTHED}


def _by_estimator(
    where: str, quote: str, rule: str, decide: Callable[[str], Callable[[Result], Finding]], setting: str = ""
) -> Iterator[Claim]:
    for estimator, reading in _READINGS.items():
        fair = f"{rule}; what fails on stand-ins for the paper's data or settings only is undecided"
        yield Claim(where, quote, f"{setting or _DATA}; {_SAMPLED}", fair, decide(estimator), reading)


_RANGES_4: Final = {"sr": (0.211, 0.81), "pm": (0.033, 0.369), "sw": (0.048, 0.361)}
_RANGES_5: Final = {"sr": (0.2365, 0.9256), "pm": (0.0015, 0.7342), "sw": (0.0002, 0.7332)}
_RANGE_7: Final = dict.fromkeys(means.SINGLES, (0.0024, 0.2604))
_GROUPS: Final = "9,000 people per group (the paper: less than 10,000), ε = 0.3 (not printed)"

CLAIMS: Final = (
    Claim(
        "Section 2.5",
        "The conditional probability density function of the SW, denoted as ρ(A_sw(v) = x|v), is given by …",
        "the printed b, p and q",
        "the density has mass 1",
        means.wave,
    ),
    *(
        Claim(
            "Section 4.1",
            "Assume that the function E_A(v) is invertible … Then, E_A⁻¹(y) is an unbiased estimation of the original "
            "input v.",
            setting,
            "the mean of E⁻¹(output) is v",
            means.unbiased(key),
            reading,
        )
        for key, reading, setting in (
            ("linear", "for the paper's mechanisms, whose means are linear in v", "SR, Laplace, PM, SW"),
            ("any", "for every mechanism with an invertible mean, as it is stated", "an example: ±1 with mean v³"),
        )
    ),
    Claim(
        "Figure 3, Section 4.2",
        "the relative ranking of variances among different mechanisms shifts under different parameter settings",
        "v from −1 to 1 at ε = 1; ε from 0.25 to 4 at v = 1; the mechanisms' own densities",
        "there are at least two orders",
        means.ranking,
    ),
    *(
        Claim(
            "Section 4.2",
            "This inference enables us to assign optimal weights to different perturbed results, ultimately leading to "
            "a minimal variance for more accurate mean estimation.",
            f"Figures 4 and 5: {_EXACT}; {_DATA}",
            f"the {measure} is at most that of constant inverse variances, in every setting",
            means.optimal(measure),
            reading,
        )
        for measure, reading in (
            ("variance", "the variance of the mean"),
            ("mean squared error", "its mean squared error: weights that depend on the noise are biased"),
        )
    ),
    Claim(
        "Section 4.3",
        "While UWA and UA perform similarly when services have comparable estimation performance, UWA demonstrates "
        "significant advantages in scenarios when different services exhibit varying estimation performance.",
        f"Figures 4 and 5: {_EXACT}",
        "UWA / UA is smaller in every setting with unequal ε than in any with equal ε",
        means.alike_or_not,
    ),
    Claim(
        "Figure 4a–d, Section 6.2",
        "As ε increases, the MSE of all methods decreases.",
        f"{_EXACT}; {_DATA}",
        "every step of every method",
        means.falls("4a–d"),
    ),
    Claim(
        "Figure 4a–d, Section 6.2",
        "Our proposed methods, UA and UWA, demonstrate significant performance improvements of 53.3%-85.0% compared to "
        "the best results from any single mechanism.",
        f"{_EXACT}; {_DATA}",
        "1 − MSE / that of the best single service is in the printed range, for both methods in every setting",
        means.gains,
    ),
    *(
        Claim(
            "Figure 4a–d, Section 6.2",
            "UWA consistently outperforms UA in most scenarios, with improvements typically ranging from 1% to 15% "
            "across different privacy budgets.",
            f"{_EXACT}; {_DATA}",
            "1 − MSE of UWA / UA is in the printed range in more than half of the settings",
            means.better_than_ua(method),
            reading,
        )
        for method, reading in (
            ("uwa_printed", "Laplace reports weighed as printed"),
            ("uwa", "Laplace reports weighed by their likelihood"),
        )
    ),
    Claim(
        "Figure 4a–d, Section 6.4",
        "UWA's slight advantage stems from its Bayesian inference approach.",
        f"{_EXACT}; {_DATA}",
        "constant inverse variances, without any inference, gain at most half as much over UA",
        means.stems_from_posteriors,
    ),
    Claim(
        "Figure 5a–d, Section 6.2",
        "Each mechanism's performance directly correlates with its privacy budget, as demonstrated by the superior "
        "performance of mechanisms with a 0.4 budget (PM in A3 and SR in A4).",
        f"{_EXACT}; {_DATA}",
        "PM in A3 and SR in A4 have the least MSE of the four services",
        means.best_budget,
    ),
    Claim(
        "Figure 5a–d, Section 6.2",
        "UA's uniform weighting scheme gives excessive influence to highly perturbed results, leading to performance "
        "worse than some single mechanisms.",
        f"{_EXACT}; {_DATA}",
        "UA has a larger MSE than the best single service in more than half of the settings",
        means.ua_suffers,
    ),
    Claim(
        "Figure 5a–d, Section 6.2",
        "UWA leverages Bayesian approaches to determine appropriate weights, thus consistently achieving superior "
        "performance, surpassing the best single mechanism by 11.51% to 72.41%, with an average improvement exceeding "
        "40%.",
        f"{_EXACT}; {_DATA}",
        "the gain is in the printed range in every setting, and above 40 % on average",
        means.unequal_gain,
    ),
    *_by_estimator(
        "Figure 4e–h, Section 6.2",
        "The JS divergence of all methods decreases correspondingly with increasing ε.",
        "every step of every method",
        lambda estimator: shapes.shape_falls("4e–h", estimator),
    ),
    *_by_estimator(
        "Figure 4e–h, Section 6.2",
        "SR exhibits the worst performance due to significant information loss from discretizing.",
        "SR has a larger divergence than PM and SW in every setting",
        shapes.sr_worst,
    ),
    *_by_estimator(
        "Figure 4e–h, Section 6.2",
        "our proposed ULE consistently achieves superior performance across various datasets compared to any single "
        "service",
        "ULE's mean divergence is smaller than that of every single service in every setting, same reports",
        lambda estimator: shapes.ule_wins("4e–h", estimator),
    ),
    *_by_estimator(
        "Figure 4e–h, Section 6.2",
        "demonstrating improvements of 21.1%-81.0% over SR, 3.3%-36.9% over PM, and 4.8%-36.10% over SW",
        "every improvement is in its range",
        lambda estimator: shapes.ule_range("4e–h", estimator, _RANGES_4),
    ),
    *_by_estimator(
        "Figure 5e–h, Section 6.2",
        "Between PM and SW, the mechanism with budget 0.3 achieves better results, as shown by SW in C1/C4 and PM in "
        "C2.",
        "it has the smaller divergence in each of these settings",
        lambda estimator: shapes.larger_budget_wins(estimator, modest=False),
    ),
    *_by_estimator(
        "Figure 5e–h, Section 6.2",
        "Our proposed ULE consistently outperforms existing individual mechanisms across all four datasets",
        "ULE's mean divergence is smaller than that of every single service in every setting, same reports",
        lambda estimator: shapes.ule_wins("5e–h", estimator),
    ),
    *_by_estimator(
        "Figure 5e–h, Section 6.2",
        "achieving improvements of 23.65%-92.56% over SR, 0.15%-73.42% over PM, and 0.02%-73.32% over SW",
        "every improvement is in its range",
        lambda estimator: shapes.ule_range("5e–h", estimator, _RANGES_5),
    ),
    *_by_estimator(
        "Figure 5e–h, Section 6.2",
        "ULE achieves only modest improvements over SW and PM in configurations C1/C4 and C2 respectively.",
        "it gains less over the one of PM and SW with ε = 0.3 than over the other",
        lambda estimator: shapes.larger_budget_wins(estimator, modest=True),
    ),
    Claim(
        "Figure 6a, Section 6.3",
        "UA performs worse than the single service with privacy budget ε = 0.4.",
        f"Beta(2, 5): {_EXACT}",
        "for each of the four mechanisms",
        means.one_mechanism_ua,
    ),
    Claim(
        "Figure 6a, Section 6.3",
        "In contrast, UWA maintains the lowest MSE across all settings, demonstrating superior estimation accuracy "
        "regardless of mechanism type.",
        f"Beta(2, 5): {_EXACT}",
        "UWA has a smaller MSE than every service, for each of the four mechanisms",
        means.beats_singles("6a", ("uwa_printed",)),
    ),
    *_by_estimator(
        "Figure 6b, Section 6.3",
        "ULE consistently achieves the lowest JS divergence across all settings.",
        "ULE's mean divergence is smaller than that of every single service",
        lambda estimator: shapes.ule_wins("6b", estimator),
        "Beta(2, 5), the paper names no dataset; 12 buckets for outputs of three PM or SW",
    ),
    Claim(
        "Figure 6c, Section 6.3",
        "our UA and UWA methods maintain superior performance in mean estimation compared to individual services "
        "(Figure 6(c))",
        "Taobao is not here; bounds for any data, ε = 0.3 (not printed), 1,172,556 people split over 10 to 60 "
        "dimensions",
        "the MSE is smaller than that of any single service, whatever numbers people have",
        means.any_data,
    ),
    *_by_estimator(
        "Figure 6d, Section 6.3",
        "with ULE showing better distribution estimation performance (Figure 6(d))",
        "on Taobao",
        shapes.taobao,
        "Taobao is not here",
    ),
    Claim(
        "Figure 7a, Section 6.3",
        "both UWA and UA demonstrate significant utility improvements over single-mechanism approaches",
        f"Beta+Sin: {_EXACT}; UWA with more than four services: 50 runs (quick: 5) of 20,000 people, brought to a "
        "million by bias² + variance/n",
        "smaller MSE than the best single service with 4, 8, 12 and 16 services",
        means.beats_singles("7a", ("ua", "uwa")),
    ),
    *_by_estimator(
        "Figure 7b, Section 6.3",
        "The results demonstrate that ULE achieves improvements of 0.24% to 26.04% over any single service.",
        "every improvement is in the range",
        lambda estimator: shapes.ule_range("7b", estimator, _RANGE_7),
        "Beta+Sin, 10,000 people (the paper: 1,000,000)",
    ),
    *_by_estimator(
        "Figure 7b, Section 6.3",
        "ULE's performance gains scale with the number of services, as more services provide richer information for "
        "distribution estimation.",
        "the divergence with 15 services is smaller than with 3",
        shapes.scales,
        "Beta+Sin, 10,000 people (the paper: 1,000,000)",
    ),
    Claim(
        "Figure 7c, Section 6.3",
        "As the user count increases, we observe a consistent decrease in both MSE and JS divergence across all "
        "methods.",
        f"Beta+Sin: {_EXACT}",
        "every step of every method's MSE",
        means.falls("7c", people=True),
        "the MSE",
    ),
    *_by_estimator(
        "Figure 7d, Section 6.3",
        "As the user count increases, we observe a consistent decrease in both MSE and JS divergence across all "
        "methods.",
        "every step of every method's divergence",
        lambda estimator: shapes.shape_falls("7d", estimator),
        "Beta+Sin",
    ),
    Claim(
        "Figure 7c, Section 6.3",
        "Our proposed methods - UA, UWA, and ULE - demonstrate superior performance compared to single perturbation "
        "mechanisms.",
        f"Beta+Sin: {_EXACT}",
        "UA and UWA have a smaller MSE than the best single service for every number of people",
        means.beats_singles("7c", ("ua", "uwa_printed")),
        "UA and UWA",
    ),
    *_by_estimator(
        "Figure 7d, Section 6.3",
        "Our proposed methods - UA, UWA, and ULE - demonstrate superior performance compared to single perturbation "
        "mechanisms.",
        "ULE's mean divergence is smaller than that of every single service for every number of people",
        lambda estimator: shapes.ule_wins("7d", estimator),
        "Beta+Sin",
    ),
    Claim(
        "Table 1, Section 6.4",
        "With n fixed at 1M, UWA exhibits linear growth from 3.45s to 13.16s as m increases from 4 to 16, while ULE "
        "maintains relatively stable performance (131.85s to 141.16s)",
        "our program on one core, theirs on a GPU",
        "not judged",
        shapes.seconds,
    ),
    Claim(
        "Figure 8a, Section 6.4",
        "When aggregating information from all services without additional queries, the total privacy budget remains "
        "at 0.4.",
        "SR, Laplace, PM and SW at ε = 0.1",
        "the sum of the channels' exact ε is at most 0.4",
        means.budget,
    ),
    Claim(
        "Figure 8a, Section 6.4",
        "The data collector using UWA and UA strategies achieves lower MSE compared to direct collection, regardless "
        "of the perturbation mechanism.",
        f"Beta+Sin with ε = 0.1: {_EXACT}",
        "UA and UWA have a smaller MSE than one more collection by any of the mechanisms",
        means.beats_singles("7c", ("ua", "uwa_printed")),
    ),
    *_by_estimator(
        "Figure 8b, Section 6.4",
        "in distribution estimation, the ULE method maintains the lowest JS divergence compared to direct collection, "
        "without any additional privacy budget consumption",
        "ULE's mean divergence is smaller than that of one more collection by any of the mechanisms",
        lambda estimator: shapes.ule_wins("7d", estimator),
        "Beta+Sin with ε = 0.1",
    ),
    Claim(
        "Figure 8c, Section 6.4",
        "UWA (i.e., the red area) consistently achieves the lowest MSE across all groups, followed by UA (i.e., the "
        "orange area), while Single best (i.e., the yellow area) shows higher MSE.",
        f"Beta(2, 5), {_GROUPS}",
        "UWA < UA < best single service in each of G1 to G11",
        means.groups,
    ),
    *_by_estimator(
        "Figure 8d, Section 6.4",
        "with ULE showing better performance in most cases",
        "better than every single service in more than half of the groups",
        lambda estimator: shapes.ule_wins("8d", estimator, most=True),
        f"Beta(2, 5), {_GROUPS}; the fourth service has SW",
    ),
    *_by_estimator(
        "Figure 8d, Section 6.4",
        "When m = 2, some groups show minimal improvement due to the limited information provided by each group",
        "in at least one group of two services ULE gains less than 10 % over one of them",
        shapes.minimal_gain,
        f"Beta(2, 5), {_GROUPS}; the fourth service has SW",
    ),
    Claim(
        "Figure 4a–d, Section 6.2",
        "Constant inverse variances are as good as weights from each person's posterior (within 1 % of the MSE), and "
        "unbiased.",
        f"Figures 4 to 8: {_EXACT}",
        "UWA with the right likelihood has at least 0.99 times their MSE in every setting",
        means.weights_suffice,
        ours=True,
    ),
    Claim(
        "Figure 4e–h, Section 6.2",
        "The smooth density (our default) is at least as accurate as EMS.",
        f"ε = 0.3; {_DATA}; {_SAMPLED}",
        "smaller mean divergence on each of the four datasets",
        shapes.smooth_wins,
        ours=True,
    ),
)

PAPER: Final = Paper(
    name="multiservice",
    citation="Du, Fu, Ye, Hu. Privacy for Free: Leveraging Local Differential Privacy Perturbed Data from Multiple "
    "Services",
    datasets=tuple(REAL.values()),
    run=run,
    claims=CLAIMS,
    exhibits=EXHIBITS,
    elements=ELEMENTS,
    notes=lambda result: [
        *(f"Not at hand: {text}" for text in result["missing"]),
        "Mean squared errors are expectations, computed over all reports that the services can get; the paper has "
        "means of 50 runs, each of which is off by about 20 %.",
        "The authors' program smooths after each step of EM and the paper does not say so: both are run, the same for "
        "single services and for ULE.",
    ],
)
