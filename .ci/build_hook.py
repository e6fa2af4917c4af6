"""Write the version into what is built: `pldp/_version.py` is in the wheel, never in the source tree."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class VersionHook(BuildHookInterface):
    """An editable installation has no such file: there the version would be that of the day it was installed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the file to a wheel."""
        if version == "editable":
            return
        self._written = Path(self.directory) / ".version" / "_version.py"
        self._written.parent.mkdir(parents=True, exist_ok=True)
        self._written.write_text(f'__version__ = "{self.metadata.version}"\n', encoding="utf-8")
        build_data["force_include"][str(self._written)] = "pldp/_version.py"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what was written beside the wheel."""
        if version != "editable":
            self._written.unlink()
            self._written.parent.rmdir()
