"""A profile as text."""

__all__ = ["format_memory", "format_time", "table"]


def format_time(us, unit=None):
    """Microseconds as text: in the unit that fits, or in "us", "ms" or "s".

    >>> format_time(1234.5)
    '1.234ms'
    """
    for name, size in (("s", 1e6), ("ms", 1e3)):
        if unit == name or (unit is None and us >= size):
            return f"{us / size:.3f}{name}"
    return f"{us:.3f}us"


def format_memory(nbytes):
    """Bytes as text.

    >>> format_memory(-2048)
    '-2.00 KB'
    """
    for name, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {name}"
    return f"{nbytes} B"


def _share(part, whole):
    return f"{part * 100 / whole:.2f}%" if whole else "NaN"


def _flops(count):
    return f"{count:.3f}" if count else "--"


def _cut(text, width):
    return text if width is None or width < 4 or len(text) <= width else text[:width - 3] + "..."


def table(events, total, row_limit, src_width, name_width, shapes_width, header, memory, flops, unit):
    """The table of `events`; `total`: the time, in microseconds, that 100 % is."""
    if not events:
        return ""
    shown = events if row_limit < 0 else events[:row_limit]
    stacks = any(event.stack for event in shown)
    shapes = any(event.input_shapes for event in shown)
    columns = [("Name", [_cut(event.key, name_width) for event in shown]),
               ("Self CPU %", [_share(event.self_cpu_time_total, total) for event in shown]),
               ("Self CPU", [format_time(event.self_cpu_time_total, unit) for event in shown]),
               ("CPU total %", [_share(event.cpu_time_total, total) for event in shown]),
               ("CPU total", [format_time(event.cpu_time_total, unit) for event in shown]),
               ("CPU time avg", [format_time(event.cpu_time, unit) for event in shown])]
    if memory:
        columns += [("CPU Mem", [format_memory(event.cpu_memory_usage) for event in shown]),
                    ("Self CPU Mem", [format_memory(event.self_cpu_memory_usage) for event in shown])]
    columns.append(("# of Calls", [str(event.count) for event in shown]))
    if shapes:
        columns.append(("Input Shapes", [_cut(str(event.input_shapes), shapes_width) for event in shown]))
    if stacks:
        columns.append(("Source Location", [_cut(event.stack[0], src_width) if event.stack else "" for event in shown]))
    if flops:
        columns.append(("Total FLOPs", [_flops(event.flops) for event in shown]))
    widths = [max(12, len(title), *(len(cell) for cell in cells)) for title, cells in columns]
    rule = "  ".join("-" * width for width in widths) + "  "
    lines = [rule]
    if header:
        lines = ["=" * len(rule), header, "-" * len(rule), rule]
    lines.append("  ".join(title.rjust(width) for (title, _), width in zip(columns, widths)) + "  ")
    lines.append(rule)
    for row in range(len(shown)):
        lines.append("  ".join(cells[row].rjust(width) for (_, cells), width in zip(columns, widths)) + "  ")
        if stacks:
            for frame in shown[row].stack[1:5]:
                lines.append("  ".join((_cut(frame, src_width) if title == "Source Location" else "").rjust(width)
                                       for (title, _), width in zip(columns, widths)) + "  ")
    lines += [rule, f"Self CPU time total: {format_time(total, unit)}", ""]
    return "\n".join(lines)
