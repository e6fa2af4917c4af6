"""Draw the pictures of the pages that explain concepts (docs/images/concept-*.svg).

Every number in them comes from a formula of a channel or from a seeded simulation; colours follow the reader's light
or dark setting.

python docs/make_concept_pictures.py
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent)]

from pictures import privacy, protection, results  # noqa: E402 - they are found beside this file

DRAWN = (
    privacy.draw_pipeline,
    privacy.draw_crowd,
    privacy.draw_belief,
    privacy.draw_levels,
    privacy.draw_trust,
    privacy.draw_threats,
    privacy.draw_app,
    protection.draw_hidden,
    protection.draw_budgets,
    protection.draw_sets,
    protection.draw_numbers,
    protection.draw_mechanisms,
    protection.draw_fusing,
    results.draw_intervals,
    results.draw_people,
    results.draw_rounds,
)


def draw_all() -> None:
    """Draw every picture."""
    for draw in DRAWN:
        draw()


if __name__ == "__main__":
    draw_all()
