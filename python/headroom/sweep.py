"""python -m headroom.sweep config.yaml; see _sweep/command.py.

To Python headroom.sweep is the function: this file is run, by its path, and is no module to import.
"""

import sys

if __name__ == "__main__":
    from headroom._sweep.command import main

    sys.exit(main())

# An import, `import headroom.sweep`, would put the module in the function's place: it finds the function.
from headroom._sweep.sweep import sweep

sys.modules[__name__] = sweep  # type: ignore[assignment]
