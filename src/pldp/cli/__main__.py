"""`python -m pldp.cli`."""

import sys

from pldp.cli import main

sys.exit(main())
