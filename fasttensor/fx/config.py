"""Settings of ``torch.fx``."""

__all__ = []

disable_progress = True
verbose_progress = False
do_not_emit_stack_traces = False
