"""Go from nothing to the first report by the steps of Dockerfile and compose.yaml, without a container engine.

    sudo python deploy/rehearse.py commute.json

The steps of the Dockerfile run in root file systems of their own (an overlay over this machine's instead of the base
image), the services of compose.yaml in a network of their own, with the addresses, ports, users, read-only roots,
secrets, health checks and stop signals that the files name. PostgreSQL and nginx are this machine's. What takes how
long is printed as JSON. It needs Linux, root, PyYAML, nginx, PostgreSQL and openssl, and leaves nothing behind.
"""

import ctypes
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).resolve().parent.parent
NAME: Final = "survey.example.org"
ADDRESSES: Final = {"collector": "172.30.83.3", "database": "172.30.83.4", NAME: "172.30.83.2"}
TOOLS: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CLONE_NEWNET: Final = 0x40000000
BUILD, FINAL, PROXY = "build", "final", "proxy"  # root file systems
KEPT: Final = (
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_CERT",
)  # how this machine reaches an index


def run(*words: str | Path, **more: Any) -> None:
    subprocess.run([str(word) for word in words], check=True, **more)


class Timer:
    """Seconds on the clock and on processors of each step."""

    def __init__(self) -> None:
        self.steps: dict[str, dict[str, float]] = {}

    def step(self, name: str, work: Callable[[], object]) -> None:
        start, before = time.monotonic(), self._cpu()
        work()
        self.steps[name] = {"seconds": round(time.monotonic() - start, 1), "cpu": round(self._cpu() - before, 1)}
        sys.stderr.write(f"{name}: {self.steps[name]}\n")

    @staticmethod
    def _cpu() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime


class Roots:
    """Root file systems over this machine's; what is written stays below `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def mount(self, name: str, *, read_only: bool = False, temporary: tuple[str, ...] = ()) -> Path:
        upper, work, root = (self.folder / name / part for part in ("upper", "work", "root"))
        for path in (upper, work, root):
            path.mkdir(parents=True, exist_ok=True)
        for path in (*temporary, "/proc", "/dev"):
            (upper / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
        run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir=/,upperdir={upper},workdir={work}", root)
        if read_only:
            run("mount", "-o", "remount,ro", root)
        run("mount", "--bind", "/dev", root / "dev")
        run("mount", "--bind", "/proc", root / "proc")
        for path in temporary:
            run("mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", root / path.lstrip("/"))
        return root

    def put(self, name: str, path: str, content: bytes) -> None:
        """Write a file that the root has from its start."""
        target = self.folder / name / "upper" / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def dockerfile() -> list[tuple[str, str]]:
    """Return instructions and what they say, lines joined; comments are left out."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    text = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in text.splitlines() if line.strip()]


class Image:
    """Runs the instructions of the Dockerfile, all of which have the form without a shell."""

    def __init__(self, roots: Roots) -> None:
        self.roots = roots
        self.environment = {"PATH": TOOLS}
        self.user, self.folder, self.command, self.health = "0:0", "/", [""], [""]
        self._stage = ""

    def build(self) -> None:
        for instruction, words in dockerfile():
            getattr(self, f"_{instruction.lower()}", lambda _: None)(words)

    def _from(self, words: str) -> None:
        self._stage = BUILD if words.endswith(f"AS {BUILD}") else FINAL
        self._root = self.roots.mount(self._stage)
        self.environment, self.folder = {"PATH": TOOLS}, "/"

    def _workdir(self, words: str) -> None:
        self.folder = words
        (self._root / words.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def _copy(self, words: str) -> None:
        *sources, target = words.split()
        if sources[0] == f"--from={BUILD}":  # the same files, not a copy of them: that would only take time
            place = self._root / target.lstrip("/")
            place.mkdir(parents=True, exist_ok=True)
            run("mount", "--bind", self.roots.folder / BUILD / "root" / sources[1].lstrip("/"), place)
            return
        place = self._root / self.folder.lstrip("/") / target
        for source in sources:
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / source, place)

    def _run(self, words: str) -> None:
        inside = ["env", "-i", *self._variables(), "chroot", str(self._root), "env", "-C", self.folder]
        run(*inside, *json.loads(words))

    def _variables(self) -> list[str]:
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        return [f"{name}={text}" for name, text in (kept | self.environment).items()]

    def _env(self, words: str) -> None:
        for pair in shlex.split(words):
            name, _, text = pair.partition("=")
            text = text.replace("${VERSION}", os.environ.get("PLDP_BUILD_VERSION", ""))
            self.environment[name] = text.replace("$PATH", self.environment["PATH"])

    def _user(self, words: str) -> None:
        self.user = words

    def _healthcheck(self, words: str) -> None:
        self.health = json.loads(words.split("CMD ", 1)[1])

    def _entrypoint(self, words: str) -> None:
        self.command = json.loads(words)


def compose(site: Path) -> dict[str, Any]:
    """Return the services, variables filled in."""
    given = dict(line.split("=", 1) for line in (site / "environment").read_text().splitlines())
    text = (ROOT / "compose.yaml").read_text()
    text = re.sub(r"\$\{(\w+)(?::-(\w*)|:\?[^}]*)?\}", lambda found: given.get(found[1], found[2] or ""), text)
    return dict(yaml.safe_load(text)["services"])


def until_healthy(name: str, command: list[str], process: subprocess.Popen[bytes], **more: Any) -> None:
    deadline = time.monotonic() + 120
    while subprocess.run(command, check=False, capture_output=True, **more).returncode:
        if process.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"{name} is not healthy")
        time.sleep(0.1)


class Services:
    """The services of compose.yaml in a network of their own."""

    def __init__(self, roots: Roots, image: Image, site: Path) -> None:
        self.roots, self.image, self.site = roots, image, site
        self.described = compose(site)
        self.started: dict[str, subprocess.Popen[bytes]] = {}
        self._secrets = {
            f"/run/secrets/{path.name}": path.read_bytes()
            for path in site.iterdir()
            if path.name.startswith("database_")
        }

    def network(self) -> None:
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
            sys.exit(f"a network of its own: {os.strerror(ctypes.get_errno())}")
        run("ip", "link", "set", "lo", "up")
        for address in ADDRESSES.values():
            run("ip", "address", "add", f"{address}/24", "dev", "lo")
        # The collector sees the proxy come from the proxy's address.
        where = ADDRESSES["collector"]
        run("ip", "route", "replace", "local", where, "dev", "lo", "table", "local", "src", ADDRESSES[NAME])
        hosts = "".join(f"{address} {name}\n" for name, address in {"localhost": "127.0.0.1", **ADDRESSES}.items())
        for name in (FINAL, PROXY):
            self.roots.put(name, "/etc/hosts", hosts.encode())

    def database(self) -> None:
        """Do what the entry point of the database's image does with these variables, with this machine's PostgreSQL."""
        described = self.described["database"]
        told = described["environment"]
        data = self.roots.folder / "data"
        data.mkdir()
        shutil.chown(data, "postgres", "postgres")
        programs = max(Path("/usr/lib/postgresql").iterdir(), key=lambda path: int(path.name)) / "bin"
        password = self.roots.folder / "password"
        password.write_bytes(self._secrets[told["POSTGRES_PASSWORD_FILE"]])
        shutil.chown(password, "postgres", "postgres")
        as_owner = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "env", "-C", "/"]
        who = f"--username={told['POSTGRES_USER']}"
        options = (*told["POSTGRES_INITDB_ARGS"].split(), who, f"--pwfile={password}", "--auth-host=scram-sha-256")
        run(*as_owner, programs / "initdb", "--auth-local=trust", *options, "-D", data, stdout=subprocess.DEVNULL)
        with (data / "pg_hba.conf").open("a") as file:
            file.write("host all all all scram-sha-256\n")
        where = ["-c", "listen_addresses=*", "-c", f"unix_socket_directories={data}"]
        self._start("database", [*as_owner, str(programs / "postgres"), "-D", str(data), *where])
        check = described["healthcheck"]["test"][1:]
        until_healthy("database", [f"{programs}/{check[0]}", *check[1:]], self.started["database"])
        run(*as_owner, programs / "createdb", "--no-password", who, f"--host={data}", told["POSTGRES_DB"])

    def collector(self) -> None:
        described = self.described["collector"]
        for path, content in self._secrets.items():
            if path.rpartition("/")[2] in described["secrets"]:
                self.roots.put(FINAL, path, content)
        self.roots.put(FINAL, "/etc/pldp/survey.json", (self.site / "survey.json").read_bytes())
        root = self.roots.mount(FINAL, read_only=described["read_only"], temporary=tuple(described["tmpfs"]))
        run("mount", "--bind", self.roots.folder / BUILD / "root" / "opt/pldp", root / "opt/pldp")
        run("mount", "-t", "tmpfs", "-o", "uid=10001,gid=10001,mode=700", "tmpfs", root / "var/lib/pldp")
        self._start("collector", self.inside(*self.image.command, *described["command"]))
        until_healthy("collector", self.inside(*self.image.health), self.started["collector"])

    def inside(self, *words: str) -> list[str]:
        """Return the command that runs in the collector's container, as its user and without capabilities."""
        user, _, group = self.image.user.partition(":")
        variables = self.image.environment | self.described["collector"]["environment"]
        limits = ("--clear-groups", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all")
        return [
            *("env", "-i", *(f"{name}={text}" for name, text in variables.items())),
            *("chroot", str(self.roots.folder / FINAL / "root"), "/usr/bin/setpriv", f"--reuid={user}"),
            *(f"--regid={group}", *limits, "env", "-C", self.image.folder, *words),
        ]

    def proxy(self) -> None:
        described = self.described["proxy"]
        for volume in described["volumes"]:
            source, target, _ = volume.split(":")
            self.roots.put(PROXY, target, (self.site / Path(source).name).read_bytes())
        main = (
            "worker_processes 1; events { worker_connections 1024; } http { include /etc/nginx/conf.d/default.conf; }"
        )
        self.roots.put(PROXY, "/etc/nginx/nginx.conf", main.encode())
        root = self.roots.mount(PROXY, read_only=described["read_only"], temporary=tuple(described["tmpfs"]))
        run("mount", "-t", "tmpfs", "tmpfs", root / "var/log/nginx")
        run("mount", "-t", "tmpfs", "tmpfs", root / "var/lib/nginx")  # where Debian's nginx has its temporary files
        nginx = ["chroot", str(root), "env", f"PATH={TOOLS}", "nginx"]
        run(*nginx, "-t", "-q")
        self._start("proxy", [*nginx, "-g", "daemon off;"])
        check = ["chroot", str(root), "env", f"PATH={TOOLS}", *described["healthcheck"]["test"][1:]]
        until_healthy("proxy", check, self.started["proxy"])

    def first_report(self) -> None:
        """Send a report as anybody would: by the name, over TLS, with the certificate checked."""
        trusted = "SSL_CERT_FILE=/etc/pldp/certificate.pem"
        people = ("simulate", "/etc/pldp/survey.json", "--people", "1")
        self.sent = json.loads(self._say(trusted, "pldp", *people, "--to", f"https://{NAME}", "--json", "-"))

    def _say(self, *words: str) -> str:
        done = subprocess.run(self.inside("env", *words), check=False, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{shlex.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def facts(self) -> dict[str, Any]:
        """Return what is true once the first report is in."""
        status = Path(f"/proc/{self._child('collector')}/status").read_text()
        found = dict(re.findall(r"^(Uid|CapEff|NoNewPrivs):\s+(\S+)", status, re.MULTILINE))
        token = self._say("pldp", "store", "token", "ana", "--scope", "read").split()
        touched = subprocess.run(self.inside("touch", "/opt/pldp/x"), check=False, capture_output=True).returncode
        health = self._say("python", "-c", METRICS)
        return {
            "accepted": self.sent["accepted"],
            "user": found,
            "token": len(token) > 0,
            "read_only": touched != 0,
            "metrics": health,
        }

    def _child(self, name: str) -> int:
        return self.started[name].pid  # env, chroot and setpriv each become the next: no process in between

    def stop(self) -> dict[str, int]:
        """End all as an engine does, the last first; return the exit codes."""
        codes = {}
        for name, process in reversed(self.started.items()):
            process.send_signal(signal.SIGINT if name == "database" else signal.SIGTERM)
            codes[name] = process.wait(60)
        return codes

    def _start(self, name: str, command: list[str]) -> None:
        with (self.roots.folder / f"{name}.log").open("wb") as log:
            self.started[name] = subprocess.Popen(command, stdout=log, stderr=log)


METRICS: Final = """
import urllib.request
text = urllib.request.urlopen("http://127.0.0.1:8301/metrics").read().decode()
print(next(line for line in text.splitlines() if line.startswith("pldp_build_info{")))
"""


def main(survey: str, folder: str) -> None:
    """Rehearse inside namespaces of our own."""
    timer, roots, site = Timer(), Roots(Path(folder)), Path(folder) / "site"
    image = Image(roots)
    timer.step("prepare.sh", lambda: run(ROOT / "deploy/prepare.sh", NAME, survey, site, stdout=subprocess.DEVNULL))
    timer.step("build the image", image.build)
    services = Services(roots, image, site)
    roots.put(FINAL, "/etc/pldp/certificate.pem", (site / "certificate.pem").read_bytes())
    try:
        services.network()
        for name in ("database", "collector", "proxy", "first_report"):
            timer.step(name.replace("_", " "), getattr(services, name))
        facts = services.facts()
    finally:
        codes = services.stop()
    log = (roots.folder / "collector.log").read_text().splitlines()
    total = {kind: round(sum(step[kind] for step in timer.steps.values()), 1) for kind in ("seconds", "cpu")}
    found = {"steps": timer.steps, "total": total, **facts, "exit": codes, "log": [json.loads(line) for line in log]}
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        main(*sys.argv[1:])
    elif len(sys.argv) != 2 or os.geteuid():
        sys.exit("run it as root with one survey file: sudo python deploy/rehearse.py commute.json")
    else:
        with tempfile.TemporaryDirectory(prefix="pldp-rehearsal-") as temporary:
            Path(temporary).chmod(0o755)
            words = ["unshare", "--mount", sys.executable, __file__, str(Path(sys.argv[1]).resolve()), temporary]
            sys.exit(subprocess.run(words, check=False).returncode)
