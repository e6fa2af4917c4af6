"""The version that is built: that of the tag, or of the commit after it.

The build backend asks this file (`[tool.hatch.version]` in pyproject.toml), with the standard library only. A commit
tagged `v0.2.0` is 0.2.0. Another commit is a pre-release of the version that follows: `0.2.1.dev7+g1a2b3c4d` is the
seventh commit after that tag. Without Git or without a tag, as in an unpacked archive, it is `NEXT` as a pre-release;
`PLDP_BUILD_VERSION` says it where Git cannot, as in an image that is built.
"""

import os
import re
import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
NEXT: Final = "0.1.0"
"""The version that is worked on: that of the next tag."""

_GIVEN: Final = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?(\.dev\d+)?(\+[a-z0-9.]+)?")
_TAG: Final = re.compile(r"v(\d+)\.(\d+)\.(\d+)((?:a|b|rc)\d+)?")


def version(root: Path = ROOT, following: str = NEXT) -> str:
    """Return the version of the files below a folder; refuse a tag that is no version."""
    given = os.environ.get("PLDP_BUILD_VERSION", "")
    if given:
        if not _GIVEN.fullmatch(given):
            raise ValueError(f"PLDP_BUILD_VERSION must be a version such as 0.2.0, not {given[:40]!r}")
        return given
    described = _git(root, "describe", "--tags", "--long", "--always", "--abbrev=8", "--match", "v[0-9]*")
    if not described or _git(root, "rev-parse", "--show-prefix"):  # a folder in another project's repository
        return f"{following}.dev0"
    tag, _, rest = described.rpartition("-g")[0].rpartition("-")
    if not tag:
        return f"{following}.dev{_git(root, 'rev-list', '--count', 'HEAD')}+g{described}"
    found = _TAG.fullmatch(tag)
    if found is None:
        raise ValueError(f"tag {tag!r} is no version; tags are v0.2.0 or v0.2.0rc1")
    if rest == "0":
        return tag[1:]
    major, minor, patch, early = found.groups()
    after = f"{major}.{minor}.{patch if early else int(patch) + 1}"
    return f"{after}.dev{rest}+g{described.rpartition('-g')[2]}"


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True)  # noqa: S603, S607
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


if __name__ == "__main__":
    print(version())  # noqa: T201
