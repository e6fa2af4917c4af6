"""`pldp completion`: verbs, actions and options for the completion of shells."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from pldp.cli import VERBS, make_parser
from pldp.cli.parser import Parser

_BASH: Final = """_pldp() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" words=""
    case "${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}" in
{cases}
    esac
    if [ "$COMP_CWORD" -eq 1 ]; then words="{verbs}"; fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _pldp pldp
"""

Lines = Callable[[Parser], str]


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the argument."""
    words = 'add to your shell\'s start file: eval "$(pldp completion bash)"; fish: pldp completion fish | source'
    parser.add_argument("shell", choices=list(SHELLS), help=words)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    sys.stdout.write(SHELLS[args.shell](make_parser(*VERBS)))


def _commands(parser: Parser) -> Iterator[tuple[str, str, list[str]]]:
    """Yield every verb and action with what may follow it; the action is empty for the verb itself."""
    for verb in parser.actions:
        below = make_parser(verb).actions[verb]
        for action in below.actions:
            yield verb, action, sorted(below.options)
        yield verb, "", sorted([*below.actions] or below.options)


def _bash(parser: Parser) -> str:
    # The first case that fits counts, and actions come before their verb.
    cases = [f'        "{verb} {action}"*) words="{" ".join(words)}" ;;' for verb, action, words in _commands(parser)]
    return _BASH.format(cases="\n".join(cases), verbs=" ".join(parser.actions))


def _zsh(parser: Parser) -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash(parser)


def _fish(parser: Parser) -> str:
    lines = [
        f"complete -c pldp -n __fish_use_subcommand -f -a {verb} -d '{words.replace(chr(39), chr(92) + chr(39))}'"
        for verb, words in VERBS.items()
    ]
    for verb, action, words in _commands(parser):
        seen = f"'__fish_seen_subcommand_from {verb}'" if not action else f"'__fish_seen_subcommand_from {action}'"
        for word in words:
            what = f"-l {word.removeprefix('--')}" if word.startswith("--") else f"-f -a {word}"
            lines.append(f"complete -c pldp -n {seen} {what}")
    return "\n".join(dict.fromkeys(lines)) + "\n"


SHELLS: Final[Mapping[str, Lines]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
