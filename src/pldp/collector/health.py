"""`python -m pldp.collector.health`: exit with 0 if the collector with these settings is ready, for container engines.

It asks `/readyz` on the port for operations (`PLDP_METRICS_PORT`), where no name of a host is checked.
"""

import http.client
import os
import sys
from collections.abc import Mapping

from pldp.collector.settings import Settings
from pldp.errors import PldpError


def check(environment: Mapping[str, str] = os.environ) -> str:
    """Return what is wrong, or nothing."""
    settings = Settings.read({}, environment)
    if not settings.metrics_port:
        return "metrics_port is 0: set PLDP_METRICS_PORT to the port that the collector has for operations"
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.metrics_host, settings.metrics_host)  # noqa: S104
    connection = http.client.HTTPConnection(host, settings.metrics_port, timeout=4)
    try:
        connection.request("GET", "/readyz")
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return f"{host}:{settings.metrics_port} does not answer ({type(error).__name__})"
    finally:
        connection.close()
    return "" if status == http.client.OK else f"not ready: {status}"


if __name__ == "__main__":
    try:
        found = check()
    except PldpError as wrong:
        found = str(wrong)
    if found:
        sys.stderr.write(f"pldp: {found}\n")
    sys.exit(1 if found else 0)
