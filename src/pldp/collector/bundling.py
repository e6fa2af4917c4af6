"""One script from many modules: fewer requests, the same code, and nothing to install or build.

A page's modules are joined as text when a collector starts. Each becomes a function with a scope of its own that
returns its exports; only import and export statements are rewritten. A module that is loaded when a survey needs it
stays a file of its own, together with what no other module needs (decision 32).
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from posixpath import dirname, join, normpath, relpath
from typing import Final

_IMPORT: Final = re.compile(r'^import (?:\{([^}]*)\}|\* as (\w+)) from "(\.[^"]+)";$', re.MULTILINE)
_PASSED_ON: Final = re.compile(r'^export \{([^}]*)\} from "(\.[^"]+)";$', re.MULTILINE)
_LIST: Final = re.compile(r"^export \{([^}]*)\};$", re.MULTILINE)
_DECLARED: Final = re.compile(r"^export (?=(?:const|class) (\w+)|const \[([^\]]*)\] =)", re.MULTILINE)
_LATER: Final = re.compile(r'\bimport\("(\.[^"]+)"\)')
_OWN_ADDRESS: Final = "import.meta.url"
_OTHER_FORM: Final = re.compile(r"^\s*(?:import|export)\b|\bimport[(.]|\$modules|\$load", re.MULTILINE)

_START: Final = """\
export const $modules = {};
const $load = async (name) => {
	if (!(name in $modules)) await import(`./${name}`);
	return $modules[name];
};
"""


def bundle(sources: Mapping[str, str], entry: str, folder: str) -> dict[str, str]:
    r"""Join `entry` and all that it imports; return the scripts by name, those that are loaded later beside it.

    They are served in `folder`, below that of the modules, where addresses relative to a module must stay the same.

    >>> sources = {"a.js": 'import { one } from "./b.js";\nconsole.log(one);', "b.js": "export const one = 1;\n"}
    >>> print(bundle(sources, "a.js", "bundle")["a.js"].split("};\n", 2)[2])
    /* b.js */
    $modules["b.js"] = (() => {
    const one = 1;
    return { one };
    })();
    /* a.js */
    $modules["a.js"] = (() => {
    const { one } = $modules["b.js"];
    console.log(one);
    return {  };
    })();
    <BLANKLINE>
    """
    with_entry = _needed(sources, entry)
    later = {target: _needed(sources, target) for target in _loaded_later(sources, entry)}
    uses = Counter(name for names in later.values() for name in names)
    # What two scripts need must exist once: a second copy would be another class, another cache.
    first = dict.fromkeys((*(name for name in uses if uses[name] > 1), *with_entry))
    order = dict.fromkeys(name for root in first for name in _needed(sources, root))
    scripts = {entry: _START + "".join(_wrapped(sources, name, folder) for name in order)}
    for target, names in later.items():
        if target not in order:
            root = relpath(entry, dirname(target) or ".")
            own = "".join(_wrapped(sources, name, folder) for name in names if name not in order)
            scripts[target] = f'import {{ $modules }} from "./{root}";\n{own}'
    return scripts


def _needed(sources: Mapping[str, str], name: str) -> list[str]:
    """Return a module and all that it imports, each after what it needs itself."""
    found: dict[str, None] = {}

    def visit(each: str, above: tuple[str, ...]) -> None:
        if each in above:
            raise ValueError(f"{each} imports itself, by way of {', '.join(above)}")
        for target in _imported(sources[each], each):
            if target not in found:
                visit(target, (*above, each))
        found[each] = None

    visit(name, ())
    return list(found)


def _imported(text: str, name: str) -> Iterator[str]:
    for path in (*(found[3] for found in _IMPORT.finditer(text)), *(found[2] for found in _PASSED_ON.finditer(text))):
        yield _name_of(path, name)


def _loaded_later(sources: Mapping[str, str], entry: str) -> list[str]:
    """Return what some module loads when it needs it."""
    seen: dict[str, None] = {}
    waiting, targets = [entry], dict[str, None]()
    while waiting:
        name = waiting.pop()
        for each in (other for other in _needed(sources, name) if other not in seen):
            seen[each] = None
            found = [_name_of(match[1], each) for match in _LATER.finditer(sources[each])]
            targets |= dict.fromkeys(found)
            waiting += found
    return sorted(targets)


def _name_of(path: str, name: str) -> str:
    return normpath(join(dirname(name), path))


def _wrapped(sources: Mapping[str, str], name: str, folder: str) -> str:
    """Return one module as a function that gives its exports."""
    text, exports = sources[name], list[str]()
    _check_forms(text, name)

    def take(found: re.Match[str]) -> str:
        pairs = ", ".join(own if own == local else f"{own}: {local}" for own, local in _renamed(found[1] or ""))
        return f'const {found[2] or f"{{ {pairs} }}"} = $modules["{_name_of(found[3], name)}"];'

    def pass_on(found: re.Match[str]) -> str:
        source = f'$modules["{_name_of(found[2], name)}"]'
        exports.extend(f"{public}: {source}.{own}" for own, public in _renamed(found[1]))
        return ""

    def give(found: re.Match[str]) -> str:
        exports.extend(own if own == public else f"{public}: {own}" for own, public in _renamed(found[1]))
        return ""

    def declare(found: re.Match[str]) -> str:
        exports.extend(own for own, _ in _renamed(found[1] or found[2]))
        return ""

    for pattern, write in ((_IMPORT, take), (_PASSED_ON, pass_on), (_LIST, give), (_DECLARED, declare)):
        text = pattern.sub(write, text)
    text = _LATER.sub(lambda found: f'$load("{_name_of(found[1], name)}")', text)
    text = text.replace(_OWN_ADDRESS, f'new URL("{relpath(name, folder)}", {_OWN_ADDRESS})')
    given = f"return {{ {', '.join(exports)} }};"
    return f'/* {name} */\n$modules["{name}"] = (() => {{\n{text.strip()}\n{given}\n}})();\n'


def _renamed(names: str) -> list[tuple[str, str]]:
    """Read `a, b as c` as pairs of names.

    >>> _renamed("a, b as c")
    [('a', 'a'), ('b', 'c')]
    """
    pairs = (each.strip().partition(" as ") for each in names.split(","))
    return [(first, second or first) for first, _, second in pairs if first]


def _check_forms(text: str, name: str) -> None:
    """Refuse a module whose imports and exports have another form than those that are rewritten."""
    for pattern in (_IMPORT, _PASSED_ON, _LIST, _DECLARED, _LATER):
        text = pattern.sub("", text)
    other = _OTHER_FORM.search(text.replace(_OWN_ADDRESS, ""))
    if other is not None:
        raise ValueError(f"{name} cannot be joined with other modules: it has {other[0].strip()!r} in an unknown form")
