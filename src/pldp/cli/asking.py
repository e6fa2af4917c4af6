"""`pldp new --terminal`: the same survey, line by line. It reads standard input, so that a script can answer."""

import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from decimal import Decimal
from typing import Any, Final

from rich.console import Console

from pldp.cli.summary import show_summary
from pldp.design import (
    DECIMAL,
    GROUP,
    INTEGER,
    KIND_WORDS,
    LINES,
    ONE_OF,
    SWITCH,
    ChangedError,
    Draft,
    Field,
    Trouble,
    change_design,
    check_document,
    kept_keys,
    question_fields,
    summarise,
    survey_fields,
)
from pldp.errors import SurveyError, UsageError
from pldp.survey import KINDS
from pldp.words import suggest, unknown

_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?")
_YES: Final = {"y", "yes"}
_KEEP: Final = "An empty line keeps what is there; a dash empties it."
_ON_PAGE: Final = "One on each line."  # how the page takes a list, whose labels are separated by commas here


def ask_survey(path: str | None, people: int) -> None:
    """Ask for everything, show what it is worth, and write the file."""
    console = Console(highlight=False, markup=False)
    asking = _Asking(console, _open(console, path), people)
    try:
        asking.run()
    except EOFError:
        raise UsageError("standard input ended before the survey was saved; end with save or quit") from None


def _open(console: Console, path: str | None) -> Draft:
    try:
        name = path or console.input("File name [survey.toml]: ", markup=False).strip() or "survey.toml"
    except EOFError:
        raise UsageError("standard input ended before the name of the file") from None
    return Draft.open(name)


class _Asking:
    """One survey that is being written."""

    def __init__(self, console: Console, draft: Draft, people: int) -> None:
        self._console, self._draft, self._people = console, draft, people
        self._document: dict[str, Any] = deepcopy(dict(draft.document))
        self._found: dict[str, Any] | None = None
        self._shown: dict[str, Any] = {}
        self._commands: dict[str, tuple[str, Callable[[str], None]]] = {
            "add": ("add a question", self._add),
            "edit": ("edit NAME: change a question", self._edit),
            "remove": ("remove NAME: take a question out", self._remove),
            "levels": ("name the levels and their ε", self._levels),
            "set": (f"set KEY: {', '.join(field.key for field in survey_fields())}", self._set),
            "people": ("people N: show errors for N people", self._count_people),
            "better": ("take the best of the designs compared", self._better),
            "help": ("say what each of these does", self._help),
            "save": ("write the file, and end", lambda _: None),
            "quit": ("end without saving", lambda _: None),
        }

    def run(self) -> None:
        if not self._draft.seen:
            self._begin()
        elif kept := kept_keys(self._document):
            self._console.print(f"Kept as they are, as no question is asked about them: {', '.join(kept)}.")
        while True:
            self._show()
            word, _, rest = self._ask(f"What next ({', '.join(self._commands)})").partition(" ")
            if word == "quit":
                self._console.print("Nothing was saved.")
                return
            if word == "save" and self._save():
                return
            if not word:
                continue
            if word not in self._commands:
                hint = suggest(word, self._commands) or "; type help for what each word does"
                self._console.print(f"Unknown: {word!r}{hint}", style="red")
                continue
            self._commands[word][1](rest.strip())

    def _help(self, _: str) -> None:
        for name, command in self._commands.items():
            self._console.print(f"  {name:8}{command[0]}")

    def _ask(self, words: str, now: str = "") -> str:
        shown = f"{words} [{now}]: " if now else f"{words}: "
        return self._console.input(shown, markup=False).strip() or now

    def _agree(self, words: str, usual: str = "no") -> bool:
        return self._ask(f"{words} (yes or no)", usual).lower() in _YES

    def _begin(self) -> None:
        """Ask for what every survey needs."""
        for field in survey_fields():
            if field.required or field.key == "collector":
                self._ask_field(field, self._document)
        levels = ", ".join(f"{name} {entry['epsilon']}" for name, entry in self._document["levels"].items())
        if not self._agree(f"Levels {levels}: keep them?", "yes"):
            self._levels("")
        self._add_and_check()
        while self._agree("Another question?"):
            self._add_and_check()

    def _add_and_check(self) -> None:
        """Add a question, and say at once what is wrong with it."""
        self._add("")
        place = len(self._document["questions"]) - 1
        self._tell(each for each in check_document(self._document)[1] if each.where[:2] == ("questions", place))

    def _show(self) -> None:
        state = {"document": deepcopy(self._document), "people": self._people}
        if state == self._shown:
            return
        self._shown = state
        survey, troubles = check_document(self._document)
        self._found = None if survey is None else summarise(survey, self._people)
        if self._found is not None:
            show_summary(self._console, self._found)
        self._tell(troubles)

    def _tell(self, troubles: Iterable[Trouble]) -> None:
        for trouble in troubles:
            self._console.print(trouble.line(self._document), style="bold red")

    def _save(self) -> bool:
        """Write the file; one that has changed meanwhile only after a yes."""
        survey, troubles = check_document(self._document)
        if survey is None and not self._agree("This is not a valid survey yet. Save it anyway?"):
            return False
        try:
            self._draft.save(self._document)
        except ChangedError as error:
            self._console.print(f"{error}.", style="bold red")
            if not self._agree("Overwrite it?"):
                return False
            self._draft.save(self._document, overwrite=True)
        except SurveyError as error:
            self._console.print(f"{error}.", style="bold red")
            return False
        path = self._draft.path
        if troubles:
            words = f"Saved {path} as a draft: this survey cannot be started yet: {troubles[0].line(self._document)}"
            self._console.print(words, style="bold red")
            return True
        self._console.print(f"Saved {path}. Start it with: pldp serve {path} --database {path.with_suffix('.db')}")
        return True

    def _ask_field(self, field: Field, table: dict[str, Any]) -> None:
        """Ask for one key; an empty line keeps what is there, and a dash takes it out."""
        now = table.get(field.key)
        if words := _sentence(field.help):
            self._console.print(words, style="dim")
        if field.form == GROUP:
            inside = dict(now) if isinstance(now, dict) else {}
            for each in field.fields:
                before = inside.get(each.key)
                if each.usual and not inside:
                    inside[each.key] = _number(each.usual)
                self._ask_field(each, inside)
                if each.usual and each.key in inside:
                    if inside[each.key] != before:
                        inside = {each.key: inside[each.key]}
                    break
            _put(table, field.key, inside)
            return
        if isinstance(now, dict):
            self._console.print(f"{field.label}: kept as it is in the file")
            return
        hints = {LINES: " (separated by commas)", SWITCH: " (yes or no)", ONE_OF: f" ({' or '.join(field.options)})"}
        shown = ", ".join(now) if isinstance(now, list) else "" if now is None else str(now)
        text = self._ask(f"{field.label}{hints.get(field.form, '')}", shown)
        if text != shown:
            _put(table, field.key, _read(field, text))

    def _add(self, _: str) -> None:
        kinds = ", ".join(f"{kind} ({KIND_WORDS.get(kind, kind)})" for kind in KINDS)
        first = next(iter(KINDS))
        while (kind := self._ask(f"Kind: {kinds}", first)) not in KINDS:
            self._console.print(f"Unknown kind{suggest(kind, KINDS)}", style="red")
        question: dict[str, Any] = {} if kind == first else {"kind": kind}
        self._document["questions"] = [*self._document.get("questions", ()), question]
        self._ask_question(len(self._document["questions"]) - 1, kind, everything=False)

    def _edit(self, name: str) -> None:
        place = self._find(name)
        if place is not None:
            self._console.print(_KEEP, style="dim")
            question = self._document["questions"][place] = dict(self._document["questions"][place])
            self._ask_question(place, question.get("kind", next(iter(KINDS))), everything=True)

    def _ask_question(self, place: int, kind: str, *, everything: bool) -> None:
        """Ask for the fields of a question: those that every one has, or all."""
        question = self._document["questions"][place]
        fields = question_fields(kind)
        usual = [field for field in fields if field.required or field.key == "text"]
        for field in fields if everything else usual:
            self._ask_field(field, question)

    def _remove(self, name: str) -> None:
        place = self._find(name)
        if place is not None:
            del self._document["questions"][place]

    def _find(self, name: str) -> int | None:
        names = [str(question.get("name", "")) for question in self._document.get("questions", ())]
        if name in names:
            return names.index(name)
        known = ", ".join(filter(None, names)) or "no questions"
        wrong = unknown("question", name, filter(None, names), "this survey") if name else f"Which question? {known}"
        self._console.print(wrong, style="red")
        return None

    def _levels(self, _: str) -> None:
        """Ask for all levels anew, the strictest first; an empty name ends."""
        levels: dict[str, Any] = {}
        before = self._document.get("levels", {})
        while name := self._ask(f"Name of level {len(levels) + 1} (empty: no more)"):
            old = before.get(name)
            own = dict(old) if isinstance(old, dict) else {} if old is None else {"epsilon": old}
            key = "fraction" if "fraction" in own else "epsilon"
            own[key] = _number(self._ask("ε" if key == "epsilon" else "Part of the budget", str(own.get(key, ""))))
            _put(own, "text", self._ask("What people read", own.get("text", "")))
            levels[name] = own
        if levels:
            self._document["levels"] = levels

    def _set(self, key: str) -> None:
        fields = {field.key: field for field in survey_fields()}
        if key not in fields:
            self._console.print(f"There is no key {key!r}{suggest(key, fields)}", style="red")
            return
        self._console.print(_KEEP, style="dim")
        self._ask_field(fields[key], self._document)

    def _count_people(self, text: str) -> None:
        if re.fullmatch(r"[1-9]\d{0,8}", text.replace(",", "")):
            self._people = int(text.replace(",", ""))
        else:
            self._console.print("People must be a whole number of at least 1, as in: people 5000", style="red")

    def _better(self, _: str) -> None:
        better = None if self._found is None else self._found["better"]
        change = None if better is None else better["change"]
        if not change:
            self._console.print("There is no better design to take.", style="red")
            return
        self._document = change_design(self._document, change)


def _read(field: Field, text: str) -> Any:
    if text in {"", "-"}:
        return ""
    if field.form in {INTEGER, DECIMAL}:
        return _number(text)
    if field.form == LINES:
        return [label for each in text.split(",") if (label := each.strip())]
    return text.lower() in _YES if field.form == SWITCH else text


def _sentence(words: str) -> str:
    """Return what the page says about a field as a whole sentence, without what holds only there."""
    own = words.replace(_ON_PAGE, "").strip().removesuffix(".")
    first = own[:1].upper() if own[:1].isascii() else own[:1]
    return f"{first}{own[1:]}." if own else ""


def _number(text: str) -> int | Decimal | str:
    """Return a number where it is one; other text is left to the reader, which says what is wrong."""
    if not _NUMBER.fullmatch(text):
        return text
    return Decimal(text) if "." in text else int(text)


def _put(table: dict[str, Any], key: str, value: Any) -> None:
    """Set a key; what is empty is no key. The number 0 is not empty, although it equals `False`."""
    if value is False or value is None or value in ("", [], {}):
        table.pop(key, None)
    else:
        table[key] = value
