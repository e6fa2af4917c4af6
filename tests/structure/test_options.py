"""Options of estimates are stated once, and the command line has the flags that are stated."""

from __future__ import annotations

from typing import Any

import pytest

from pldp.cli import make_parser
from pldp.cli.options import add_estimate_options
from pldp.cli.parser import Parser
from pldp.estimates import Options
from pldp.survey import KINDS

FLAGLESS = {"progress"}
FORMER = "--pool"
"""What was an option once, and is refused in a line that names what is one now."""

VERBS = {"estimate": False, "fuse": True}
"""Verbs of the command that take options of estimates, and whether they are about joined reports."""

OF_ESTIMATE = {
    *("--rounds", "--overlap", "--groups", "--question", "--pair", "--html", "--plot", "--json", "--details", "--help"),
}
OF_FUSE = {
    *("--key", "--survey", "--question", "--accept-epsilon", "--mechanism", "--epsilon", "--labels", "--bounds"),
    *("--buckets", "--html", "--json", "--details", "--help"),
}
OWN = {"estimate": OF_ESTIMATE, "fuse": OF_FUSE}
"""The flags of a verb that are about other things than how a question is estimated."""


class Recorder(Parser):
    """A parser that keeps what was said of every flag."""

    def __init__(self) -> None:
        self.said: dict[str, dict[str, Any]] = {}
        super().__init__(add_help=False)

    def add_argument(self, *names: Any, **named: Any) -> Any:
        self.said[names[0]] = named
        return super().add_argument(*names, **named)


@pytest.mark.parametrize("name", Options.stated())
def test_every_option_says_what_it_does_who_takes_it_and_its_flag(name: str) -> None:
    option = Options.stated()[name]
    assert option.help
    assert "{" not in option.help
    assert set(option.kinds or ()) <= set(KINDS)
    assert option.kinds != () or option.tables
    assert option.flag == ("" if name in FLAGLESS else f"--{name.replace('_', '-')}")
    assert name in (Options.__doc__ or "")


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_exactly_the_flags_that_are_stated(verb: str) -> None:
    stated = {option.flag for option in Options.stated().values() if option.flag and (option.joined or not VERBS[verb])}
    assert make_parser(verb).actions[verb].options - OWN[verb] == stated


@pytest.mark.parametrize("joined", VERBS.values())
def test_flags_have_the_help_and_the_choices_that_are_stated_and_no_default_of_their_own(joined: bool) -> None:
    parser = Recorder()
    add_estimate_options(parser, joined=joined)
    by_flag = {option.flag: option for option in Options.stated().values()}
    for flag, named in parser.said.items():
        assert named["help"] == by_flag[flag].help
        assert named["choices"] == by_flag[flag].choices
        assert "default" not in named


@pytest.mark.parametrize("verb", VERBS)
def test_the_former_option_is_refused_in_a_line_that_names_what_is_one_now(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for given in ((FORMER, "size"), (f"{FORMER}=precision",)):
        with pytest.raises(SystemExit):
            make_parser(verb).read([verb, "x", *given])
        said = capsys.readouterr().err.splitlines()[-1]
        assert "pool is no option any more" in said
        assert "--differ 0" in said
