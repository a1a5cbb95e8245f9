"""Whether anybody still looks at a run: its page renews the lease with every look."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

GONE = 10.0  # seconds without a look, from a tab that is closed or disconnected
ELSEWHERE = 150.0  # the same from an open tab: at another page, or hidden, where browsers tick once a minute


@dataclass(eq=False)
class Lease:
    """`connected` tells whether the tab is still there."""

    connected: Callable[[], bool] = lambda: True
    renewed: float = field(default_factory=time.monotonic)

    def renew(self) -> None:
        self.renewed = time.monotonic()

    @property
    def expired(self) -> bool:
        unseen = time.monotonic() - self.renewed
        return unseen > GONE and (unseen > ELSEWHERE or not self.connected())
