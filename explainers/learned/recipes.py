"""Every method that learns, and the variants that are shipped for each embedded model."""

from typing import Any

from explainers.learned.aml import Aml
from explainers.learned.cimi import Cimi

RECIPES: dict[str, Any] = {"aml": Aml, "cimi": Cimi}

SHIPPED: dict[str, dict[str, dict[str, Any]]] = {
    "aml": {
        "difference": {"select": "difference"},
        "comp": {"select": "comp"},
        "suff": {"select": "suff"},
    },
    "cimi": {"zero": {}},
}
