"""`pldp completion`: verbs, actions and options for the completion of shells."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from pldp.cli import VERBS, make_parser
from pldp.cli.parser import Parser

_BASH: Final = """_pldp() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" words="" action=""
    if [ "$COMP_CWORD" -gt 2 ]; then action="${{COMP_WORDS[2]}}"; fi
    case "${{COMP_WORDS[1]}} $action" in
{cases}
    esac
    case "${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD-1]}}" in
{values}
    esac
    if [ "$COMP_CWORD" -eq 1 ]; then words="{verbs}"; fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _pldp pldp
"""

_ZSH: Final = """whence compdef >/dev/null || {{ autoload -U +X compinit && compinit; }}
autoload -U +X bashcompinit && bashcompinit
{bash}"""

_SEEN: Final = "(commandline -opc)"  # what fish has before the word that is completed
Lines = Callable[[Parser], str]


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the argument."""
    parser.add_argument("shell", choices=list(SHELLS), help="the shell that you use")
    parser.epilog = (
        'bash: add eval "$(pldp completion bash)" to ~/.bashrc. zsh: add eval "$(pldp completion zsh)" to ~/.zshrc. '
        "fish: add pldp completion fish | source to ~/.config/fish/config.fish. Then open a new shell."
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    sys.stdout.write(SHELLS[args.shell](make_parser(*VERBS)))


def _commands(parser: Parser) -> Iterator[tuple[str, str, Parser]]:
    """Yield every verb and action with its parser; the action is empty for the verb itself."""
    for verb in parser.actions:
        below = make_parser(verb).actions[verb]
        for action, own in below.actions.items():
            yield verb, action, own
        yield verb, "", below


def _following(parser: Parser) -> list[str]:
    """Return what may follow: actions, or the values of an argument and options."""
    return sorted(parser.actions) or [*parser.values.get("", ()), *sorted(parser.options)]


def _bash(parser: Parser) -> str:
    # The first case that fits counts, and actions come before their verb.
    commands = [*_commands(parser)]
    cases = [
        f'        "{verb} {action}"{"" if action else "*"}) words="{" ".join(_following(own))}" ;;'
        for verb, action, own in commands
    ]
    values = [
        f'        "{verb} {option}") words="{" ".join(allowed)}" ;;'
        for verb, _, own in commands
        for option, allowed in own.values.items()
        if option
    ]
    return _BASH.format(cases="\n".join(cases), values="\n".join(values), verbs=" ".join(parser.actions))


def _zsh(parser: Parser) -> str:
    return _ZSH.format(bash=_bash(parser))


def _fish(parser: Parser) -> str:
    lines = [
        f"complete -c pldp -n __fish_use_subcommand -f -a {verb} -d '{words.replace(chr(39), chr(92) + chr(39))}'"
        for verb, words in VERBS.items()
    ]
    for verb, action, own in _commands(parser):
        # The verb is the second word and the action the third: the same word can be both, as tally is.
        seen = f"contains -- {verb} {_SEEN}[2]"
        if action:
            seen += f"; and contains -- {action} {_SEEN}[3]"
        elif own.actions:
            seen += f"; and test (count {_SEEN}) -eq 2"
        lines += [f"complete -c pldp -n '{seen}' {_fish_word(own, word)}" for word in _following(own)]
    return "\n".join(lines) + "\n"


def _fish_word(parser: Parser, word: str) -> str:
    """Say what to complete: an option, with its values where they are known, or a word."""
    if not word.startswith("--"):
        return f"-f -a {word}"
    allowed = parser.values.get(word)
    return f"-l {word.removeprefix('--')}" + (f" -x -a '{' '.join(allowed)}'" if allowed else "")


SHELLS: Final[Mapping[str, Lines]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
