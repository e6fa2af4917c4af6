"""What is released and how it is run: versions from tags, the same bytes twice, containers, workflows."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
import yaml

from helpers.modules import load_script
from helpers.releases import release
from pldp.collector import Settings

ROOT = Path(__file__).parent.parent.parent
SURVEY = ROOT / "clients/js/test/surveys/commute.signed.json"


def git(folder: Path, *words: str) -> None:
    who = (
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@example.org",
        "-c",
        "commit.gpgsign=false",
        "-c",
        "tag.gpgsign=false",
    )
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


def test_the_version_is_that_of_the_tag_or_follows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLDP_BUILD_VERSION", raising=False)
    version = load_script(ROOT / ".ci/version.py").version
    assert version(tmp_path, "0.3.0") == "0.3.0.dev0"  # no repository
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message=one")
    assert re.fullmatch(r"0\.3\.0\.dev1\+g[0-9a-f]{8}", version(tmp_path, "0.3.0"))
    git(tmp_path, "tag", "v0.3.0rc1")
    assert version(tmp_path) == "0.3.0rc1"
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message=two")
    assert version(tmp_path).startswith("0.3.0.dev1+g")
    git(tmp_path, "tag", "v0.3.0")
    assert version(tmp_path) == "0.3.0"
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message=three")
    assert version(tmp_path).startswith("0.3.1.dev1+g")
    (tmp_path / "below").mkdir()
    assert version(tmp_path / "below", "1.0.0") == "1.0.0.dev0"  # unpacked in another project's repository
    git(tmp_path, "tag", "v1-old")
    with pytest.raises(ValueError, match="is no version"):
        version(tmp_path)
    monkeypatch.setenv("PLDP_BUILD_VERSION", "2.0.0")
    assert version(tmp_path) == "2.0.0"
    monkeypatch.setenv("PLDP_BUILD_VERSION", "latest")
    with pytest.raises(ValueError, match="must be a version"):
        version(tmp_path)


def test_npm_gets_the_same_version_in_its_own_form() -> None:
    semantic = load_script(ROOT / ".ci/dist.py").semantic
    forms = {"0.2.0": "0.2.0", "0.2.0rc1": "0.2.0-rc.1", "0.2.1.dev7+g1a2b3c4d": "0.2.1-dev.7+g1a2b3c4d"}
    assert {number: semantic(number) for number in forms} == forms


def sums(built: Path) -> dict[str, str]:
    """The hash of every file; those that the release states are the same."""
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in built.iterdir()}
    told = (built / "SHA256SUMS").read_text()
    assert all(f"{digest}  {name}\n" in told for name, digest in found.items() if name != "SHA256SUMS")
    return found


@pytest.mark.xdist_group("release")
def test_the_same_files_give_the_same_bytes(released: Path, tmp_path: Path) -> None:
    """In another folder, with other times of files and another umask."""
    first, second = sums(released), sums(release(tmp_path / "two", 1_650_000_000, 0o077))
    assert first == second
    assert sorted(name.rpartition(".")[2] for name in first) == ["SHA256SUMS", "gz", "tgz", "whl"]
    (package,) = released.glob("*.tgz")
    with tarfile.open(package) as tar:
        names = set(tar.getnames())
    wanted = ("package.json", "README.md", "LICENSE", "dist/index.js", "dist/index.d.ts", "dist/integrity.json")
    assert {f"package/{name}" for name in (*wanted, "dist/pldp-device.min.js", "src/index.js")} <= names


@pytest.mark.parametrize(("file", "language"), [("nginx.conf", "nginx"), ("pldp.service", "ini")])
def test_the_files_to_deploy_are_those_of_the_guide(file: str, language: str) -> None:
    page = (ROOT / "docs/production.md").read_text(encoding="utf-8")
    shown, *_ = re.findall(rf"^```{language}\n(.+?)^```$", page, re.MULTILINE | re.DOTALL)
    assert (ROOT / "deploy" / file).read_text(encoding="utf-8") == shown


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n\s*", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def test_the_image_has_two_stages_no_shell_and_a_user_of_its_own() -> None:
    found = instructions()
    assert [words.partition(" AS ")[2] for name, words in found if name == "FROM"] == ["build", ""]
    assert all(words.startswith("[") for name, words in found if name in {"RUN", "ENTRYPOINT", "CMD"})
    final = found[[name for name, _ in found].index("FROM", 3) :]
    assert ("USER", "10001:10001") in final
    assert not [words for name, words in final if name == "COPY" and not words.startswith("--from=build ")]
    (variables,) = [words for name, words in final if name == "ENV"]
    settings = {f"PLDP_{name.upper()}" for name in Settings.__dataclass_fields__}
    assert set(re.findall(r"PLDP_\w+", variables)) <= settings


def test_everything_that_the_image_copies_is_sent_to_the_engine() -> None:
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    sent = {line[1:] for line in ignored if line.startswith("!")}
    copied = {
        source
        for name, words in instructions()
        if name == "COPY" and not words.startswith("--from")
        for source in words.split()[:-1]
    }
    assert copied == sent
    assert not [source for source in copied if not (ROOT / source).exists()]


def test_the_installation_takes_wheels_with_hashes_only() -> None:
    text = (ROOT / "deploy/install.sh").read_text(encoding="utf-8")
    installs = re.findall(r"pip .*?install (?:[^\n\\]|\\\n)*", text)
    assert len(installs) == 2
    assert all("--only-binary :all: --require-hashes" in each or "--no-deps --no-index" in each for each in installs)
    assert "--hash=sha256:" in (ROOT / ".ci/build.lock").read_text(encoding="utf-8")


def test_the_services_cannot_write_cannot_gain_rights_and_have_health_checks() -> None:
    described = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    services = described["services"]
    assert set(services) == {"database", "collector", "proxy"}
    for name, service in services.items():
        assert service["read_only"] is True, name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert "healthcheck" in service or "build" in service, name  # the collector's is in its image
    assert services["collector"]["cap_drop"] == ["ALL"]
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert described["networks"]["inside"]["internal"] is True
    settings = {f"PLDP_{name.upper()}" for name in Settings.__dataclass_fields__}
    assert {name.removesuffix("_FILE") for name in services["collector"]["environment"]} <= settings
    address = services["proxy"]["networks"]["inside"]["ipv4_address"]
    assert services["collector"]["environment"]["PLDP_TRUSTED_PROXY"] == address
    assert not re.search(r"postgresql://\w+:\w+@", (ROOT / "compose.yaml").read_text(encoding="utf-8"))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl on this machine")
def test_preparing_twice_keeps_the_secrets_and_a_bad_name_is_refused(tmp_path: Path) -> None:
    site = tmp_path / "site"
    command = [str(ROOT / "deploy/prepare.sh"), "poll.example.net", str(SURVEY), str(site)]
    subprocess.run(command, check=True, capture_output=True)
    secrets = {path.name: path.read_bytes() for path in site.iterdir()}
    subprocess.run(command, check=True, capture_output=True)
    assert secrets == {path.name: path.read_bytes() for path in site.iterdir()}
    assert site.stat().st_mode & 0o777 == 0o700
    assert secrets["database_password"].decode() in secrets["database_address"].decode()
    proxy = secrets["nginx.conf"].decode()
    assert "server_name poll.example.net;" in proxy
    assert "server collector:8300;" in proxy
    assert "example.org" not in proxy
    for name in ("a b", "x;reboot", ""):
        refused = subprocess.run([command[0], name, *command[2:]], capture_output=True, text=True, check=False)
        assert refused.returncode == 2
        assert len(refused.stderr.splitlines()) == 1


@pytest.mark.skipif(not (ROOT / ".github").exists(), reason="workflows are not part of a source archive")
def test_the_workflows_run_what_ci_runs_on_every_python_and_every_action_is_pinned() -> None:
    workflows = {path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / ".github/workflows").glob("*.yml")}
    test = workflows["ci"]["jobs"]["test"]
    assert ".ci/run" in [step.get("run") for step in test["steps"]]
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    supported = [each.rpartition(" ")[2] for each in listed if re.search(r":: 3\.\d+$", each)]
    assert test["strategy"]["matrix"]["python"] == supported
    for workflow in workflows.values():
        assert workflow["permissions"] == {}
        for job in workflow["jobs"].values():
            used = [step["uses"] for step in job["steps"] if "uses" in step]
            assert not [each for each in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", each)]
    publishing = {name for name, job in workflows["release"]["jobs"].items() if "id-token" in job["permissions"]}
    assert publishing == {"python", "npm"}


@pytest.mark.skipif(not os.environ.get("PLDP_LONG"), reason="builds the image's steps: PLDP_LONG=1, as root")
def test_from_nothing_to_the_first_report_by_the_steps_of_the_files() -> None:
    assert os.geteuid() == 0, "deploy/rehearse.py needs root"
    command = [sys.executable, str(ROOT / "deploy/rehearse.py"), str(SURVEY)]
    found = yaml.safe_load(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert found["accepted"] == 1
    assert found["user"] == {"Uid": "10001", "CapEff": "0" * 16, "NoNewPrivs": "1"}
    assert found["read_only"]
    assert set(found["exit"].values()) == {0}
