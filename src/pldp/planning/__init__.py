"""The error to expect before anybody is asked: mechanisms, designs, people needed, the cost of hiding levels."""

from pldp.planning.designs import Design
from pldp.planning.plan import LevelPlan, Plan, QuestionPlan, plan

__all__ = ["Design", "LevelPlan", "Plan", "QuestionPlan", "plan"]
