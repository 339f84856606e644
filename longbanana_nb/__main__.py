"""`python -m longbanana_nb` is the command line."""

import sys

from longbanana_nb.cli import main

sys.exit(main())
