"""python -m hk.cli"""

import sys

from . import main

sys.exit(main())
