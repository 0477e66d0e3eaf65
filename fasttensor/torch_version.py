"""The type of ``torch.__version__``: text that compares as a version."""

__all__ = ["TorchVersion"]

# https://packaging.python.org/en/latest/specifications/version-specifiers/
VERSION = (r"v?(?:\d+!)?(\d+(?:\.\d+)*)[-_.]?(?:(a|alpha|b|beta|c|rc|pre|preview)[-_.]?(\d*))?"
           r"(?:(?:[-_.]?(?:post|rev|r)[-_.]?|-)(\d*))?(?:[-_.]?dev[-_.]?(\d*))?(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?")
STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}


def key(text):
    """What orders versions: release, pre-release, post-release, development release, local label."""
    import re           # when versions are compared: it takes as long as all that importing fasttensor needs
    match = re.fullmatch(VERSION, text.strip(), re.I)
    if match is None:
        raise ValueError(f"Invalid version: {text!r}")
    release, stage, number, post, dev, local = match.groups()
    numbers = [int(n) for n in release.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    pre = (STAGES[stage.lower()], int(number or 0)) if stage else (-1, 0) if dev is not None and post is None else (3, 0)
    label = tuple((1, int(p), "") if p.isdigit() else (0, 0, p.lower()) for p in re.split("[-_.]", local)) if local else ()
    return (tuple(numbers), pre, -1 if post is None else int(post or 0), (1, 0) if dev is None else (0, int(dev or 0)), label)


class TorchVersion(str):
    """Text that compares as a version: with text, with other version objects, and with sequences of numbers.

    >>> TorchVersion("2.13.0") > "2.9" and TorchVersion("2.13.0") >= (2, 13)
    True
    """

    def _ordered(self, other, compare, fallback):
        if not isinstance(other, str):
            other = ".".join(map(str, other)) if hasattr(other, "__iter__") else str(other)
        try:
            return compare(key(str(self)), key(other))
        except ValueError:          # no version: compare as text
            return fallback(str(self), other)

    def __lt__(self, other):
        return self._ordered(other, tuple.__lt__, str.__lt__)

    def __le__(self, other):
        return self._ordered(other, tuple.__le__, str.__le__)

    def __gt__(self, other):
        return self._ordered(other, tuple.__gt__, str.__gt__)

    def __ge__(self, other):
        return self._ordered(other, tuple.__ge__, str.__ge__)

    def __eq__(self, other):
        return self._ordered(other, tuple.__eq__, str.__eq__)

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__
