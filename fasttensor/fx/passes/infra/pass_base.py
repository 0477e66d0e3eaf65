"""`PassBase`: a change of graphs with conditions before and after."""
import abc
import typing

__all__ = ["PassResult", "PassBase"]


class PassResult(typing.NamedTuple):
    """The module after a pass, and whether the pass changed it."""
    graph_module: typing.Any
    modified: bool


class PassBase(abc.ABC):
    """A pass: `call` changes a module; `requires` and `ensures` raise where it may not be called or has failed."""

    def __call__(self, graph_module):
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module):
        """Change the module; returns a `PassResult`, or None."""

    def requires(self, graph_module):
        """Raises where the module is not what the pass needs."""
        return

    def ensures(self, graph_module):
        """Raises where the module is not what the pass promises."""
        return
