"""Tables of text, as the package ``tabulate`` writes simple ones."""

__all__ = []


def _cells(rows):
    return [["" if x is None else str(x) for x in row] for row in rows]


def table(rows, headers):
    """Rows below headers: columns are as wide as their widest line and two spaces apart.

    >>> print(table([["a", 1], ["bcd", 22]], ["x", "yyy"]))
    x      yyy
    ---  -----
    a        1
    bcd     22
    """
    try:
        from tabulate import tabulate
        return tabulate(rows, headers=headers)
    except ImportError:
        pass
    numeric = [bool(rows) and all(type(row[i]) in (int, float) for row in rows) for i in range(len(headers))]
    text = _cells(rows)
    widths = [max([len(h) + 2, *(len(line) for row in text for line in row[i].split("\n"))]) for i, h in enumerate(headers)]

    def line(cells):
        put = [cell.rjust(width) if number else cell.ljust(width) for cell, width, number in zip(cells, widths, numeric)]
        return "  ".join(put).rstrip()
    out = [line(headers), "  ".join("-" * width for width in widths)]
    for row in text:
        parts = [cell.split("\n") for cell in row]
        for i in range(max(map(len, parts))):
            out.append(line([p[i] if i < len(p) else "" for p in parts]))
    return "\n".join(out)
