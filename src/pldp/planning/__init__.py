"""The error to expect before anybody is asked: mechanisms, designs, people needed, the cost of hiding levels."""

from pldp.planning.designs import Design
from pldp.planning.levels import Threshold
from pldp.planning.plan import Plan, plan
from pldp.planning.question import LevelPlan, PeopleNeeded, QuestionPlan
from pldp.planning.worst import Worst

__all__ = ["Design", "LevelPlan", "PeopleNeeded", "Plan", "QuestionPlan", "Threshold", "Worst", "plan"]
