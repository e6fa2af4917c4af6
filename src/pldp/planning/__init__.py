"""The error to expect before anybody is asked: mechanisms, designs, people needed, the cost of hiding levels."""

from pldp.planning.designs import Design
from pldp.planning.hiding import compare_hiding, hiding_words
from pldp.planning.levels import Threshold
from pldp.planning.plan import Plan, plan
from pldp.planning.question import LevelPlan, PeopleNeeded, QuestionPlan, reach_of
from pldp.planning.worst import Worst

__all__ = [
    "Design", "LevelPlan", "PeopleNeeded", "Plan", "QuestionPlan", "Threshold", "Worst", "compare_hiding",
    "hiding_words", "plan", "reach_of",
]  # fmt: skip
