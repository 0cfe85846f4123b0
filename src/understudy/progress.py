"""What is being done, told on stderr while it is being done."""

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console


@contextlib.contextmanager
def told_steps(*, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """A function that tells a step: a line each, with a sign of life on a terminal.

    No times are told and no amounts of work, for they may depend on rows.
    """
    if quiet:
        yield lambda _: None
        return
    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        yield lambda step: console.print(f"{step} …", soft_wrap=True)
        return
    with console.status("Starting", spinner="dots") as status:

        def tell(step: str) -> None:
            console.print(f"{step} …")
            status.update("Working")

        yield tell
