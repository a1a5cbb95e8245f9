"""The headers of every answer over HTTP."""

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

import streamlit

INDEX = Path(streamlit.__file__).parent / "static" / "index.html"
INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


@cache
def security_headers() -> dict[str, str]:
    """By name. The policy is the strictest with which Streamlit's pages, plots and components work."""
    policy = {
        "default-src": "'none'",
        # Components are loaded from blob: addresses that the page itself makes.
        "script-src": f"'self' blob: {' '.join(inline_scripts())}".strip(),
        "style-src": "'self' 'unsafe-inline'",  # Streamlit styles with elements made at run time
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",  # formulas bring theirs along
        "connect-src": "'self'",
        "manifest-src": "'self'",
        "frame-ancestors": "'none'",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {sources}" for name, sources in policy.items()),
        "X-Frame-Options": "DENY",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",  # the address of a page contains typed texts
        "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


def inline_scripts() -> tuple[str, ...]:
    """The hashes by which the policy allows the scripts in Streamlit's own page, and no others."""
    digests = (hashlib.sha256(script).digest() for script in INLINE_SCRIPT.findall(INDEX.read_bytes()))
    return tuple(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
