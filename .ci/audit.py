"""Look up known vulnerabilities of the versions in a lock file; say so where no index could be asked."""

import json
import subprocess
import sys
from pathlib import Path


def main(lock: str) -> int:
    """Return 1 if a locked version has a known vulnerability, 0 otherwise."""
    program = Path(sys.executable).with_name("pip-audit")
    command = [program, "--require-hashes", "--disable-pip", "--progress-spinner", "off", "-f", "json", "-r", lock]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)  # noqa: S603
        found = json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError):
        found = []
    # pip-audit itself says "no known vulnerabilities" where it could look up nothing at all.
    known = [each for each in found if "skip_reason" not in each]
    if not known:
        _write("dependency audit skipped: no index with vulnerabilities answers here")
        return 0
    bad = [(each["name"], each["version"], each["vulns"]) for each in known if each["vulns"]]
    for name, version, vulnerabilities in bad:
        _write(f"{name} {version}: {', '.join(each['id'] for each in vulnerabilities)}")
    _write(f"dependency audit: {len(known)} of {len(found)} packages looked up, {len(bad)} with known vulnerabilities")
    return 1 if bad else 0


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
