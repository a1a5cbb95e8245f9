"""What runs in a process of its own. In a peer's environment only its packages are there, so its module imports no
part of the program that needs more."""
