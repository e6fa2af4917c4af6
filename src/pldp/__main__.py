"""`python -m pldp`."""

import sys

from pldp.cli import main

sys.exit(main())
