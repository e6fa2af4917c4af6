"""Write a survey and see at once what it reveals, costs and is worth: the engine behind `pldp new`."""

from typing import TYPE_CHECKING

from pldp.lazy import lazy_exports

if TYPE_CHECKING:
    from pldp.design.app import Designer
    from pldp.design.checking import Trouble, check_document
    from pldp.design.draft import ChangedError, Draft
    from pldp.design.fields import (
        DECIMAL,
        GROUP,
        INTEGER,
        KIND_WORDS,
        LINE,
        LINES,
        ONE_OF,
        PASSAGE,
        SWITCH,
        Field,
        kept_keys,
        question_fields,
        survey_fields,
    )  # fmt: skip
    from pldp.design.summary import change_design, look, proofs, summarise

__all__ = [
    "DECIMAL", "GROUP", "INTEGER", "KIND_WORDS", "LINE", "LINES", "ONE_OF", "PASSAGE", "SWITCH", "ChangedError",
    "Designer", "Draft", "Field", "Trouble", "change_design", "check_document", "kept_keys", "look", "proofs",
    "question_fields", "summarise", "survey_fields",
]  # fmt: skip

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "pldp.design.app": ("Designer",),
        "pldp.design.checking": ("Trouble", "check_document"),
        "pldp.design.draft": ("ChangedError", "Draft"),
        "pldp.design.fields": (
            "DECIMAL",
            "GROUP",
            "INTEGER",
            "KIND_WORDS",
            "LINE",
            "LINES",
            "ONE_OF",
            "PASSAGE",
            "SWITCH",
            "Field",
            "kept_keys",
            "question_fields",
            "survey_fields",
        ),
        "pldp.design.summary": ("change_design", "look", "proofs", "summarise"),
    },
)
