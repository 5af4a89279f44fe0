"""A limit on the memory of a process."""

import os
import resource


def memory(most: int) -> None:
    """Lets the process have so many bytes of addresses at most.

    AddressSanitizer maps terabytes that it never touches, so with it the size of one array is limited instead.
    """
    if "ASAN_OPTIONS" not in os.environ:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
