"""TensorBoard's records over the tensorboard package: scalars, histograms, images, figures, text; and graphs for both packages."""

import io
import os
import re
import struct
import time
import zlib
from importlib import import_module

import fasttensor as ft

__all__ = ["EventWriter", "graph_event"]

PROTOS = {"tensorboardX": "tensorboardX.proto", "tensorboard": "tensorboard.compat.proto"}


def _proto(name, backend="tensorboard"):
    return import_module(f"{PROTOS[backend]}.{name}_pb2")


def _png(pixels):
    """An (H, W, C) array of bytes as a PNG file. Source: the PNG specification, second edition, sections 5 and 11."""
    height, width, channels = pixels.shape
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    rows = b"".join(b"\0" + pixels[y].tobytes() for y in range(height))

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def _pixels(image, formats):
    """An image of any layout as (H, W, C) bytes."""
    import numpy as np
    image = np.asarray(image)
    if len(formats) != image.ndim or set(formats) - set("NCHW") or not {"H", "W"} <= set(formats):
        raise ValueError(f"add_image: dataformats {formats!r} does not fit an array of shape {list(image.shape)}")
    if "N" in formats:
        image = np.moveaxis(image, formats.index("N"), 0)
        rest = formats.replace("N", "")
        parts = [_pixels(part, rest) for part in image]
        across = int(np.ceil(np.sqrt(len(parts))))
        parts += [np.zeros_like(parts[0])] * (-len(parts) % across)
        return np.concatenate([np.concatenate(parts[row:row + across], 1) for row in range(0, len(parts), across)], 0)
    if "C" not in formats:
        image, formats = image[..., None], formats + "C"
    image = image.transpose([formats.index(letter) for letter in "HWC"])
    if image.dtype != np.uint8:
        image = (np.clip(image, 0, 1) * 255).astype(np.uint8)
    return np.ascontiguousarray(image)


class EventWriter:
    """The common `add_` methods over tensorboard's own file writer."""

    def __init__(self, log_dir, purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""):
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
        os.makedirs(log_dir, exist_ok=True)
        self.log_dir, self.parts = log_dir, {}
        self.options = {"max_queue": max_queue, "flush_secs": flush_secs, "filename_suffix": filename_suffix}
        self.event_writer = EventFileWriter(log_dir, max_queue, flush_secs, filename_suffix)
        if purge_step is not None:
            event = _proto("event")
            self.event_writer.add_event(event.Event(wall_time=time.time(), step=int(purge_step), file_version="brain.Event:2"))
            self.event_writer.add_event(event.Event(wall_time=time.time(), step=int(purge_step),
                                                    session_log=event.SessionLog(status=event.SessionLog.START)))

    def _add(self, value, step, walltime):
        event = _proto("event").Event(summary=_proto("summary").Summary(value=[value]), wall_time=walltime or time.time())
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def _value(self, **fields):
        return _proto("summary").Summary.Value(**fields)

    def add_scalar(self, tag, value, step=None, walltime=None):
        self._add(self._value(tag=tag, simple_value=float(value)), step, walltime)

    def add_scalars(self, main_tag, values, step=None, walltime=None):
        # one chart shows several runs, so each name is a run of its own
        for name, value in values.items():
            key = f"{main_tag}/{name}"
            if key not in self.parts:
                self.parts[key] = EventWriter(os.path.join(self.log_dir, key.replace("/", "_").replace(" ", "_")), **self.options)
            self.parts[key].add_scalar(main_tag, value, step, walltime)

    def add_histogram(self, tag, values, step=None, bins="tensorflow", walltime=None, max_bins=None):
        import numpy as np
        values = np.asarray(values, dtype=np.float64).reshape(-1)
        if values.size == 0:
            raise ValueError(f"add_histogram: {tag!r} has no values")
        if not np.isfinite(values).all():
            raise ValueError(f"add_histogram: {tag!r} holds infinite values or NaN")
        edges = _tensorflow_edges() if bins == "tensorflow" else bins
        counts, limits = np.histogram(values, bins=edges)
        used = np.nonzero(counts)[0]
        first, last = used[0], used[-1] + 1
        self.add_histogram_raw(tag, values.min(), values.max(), values.size, values.sum(), values.dot(values), limits[first + 1:last + 1],
                               counts[first:last], step, walltime)

    def add_histogram_raw(self, tag, low, high, number, total, squares, limits, counts, step=None, walltime=None):
        made = _proto("summary").HistogramProto(min=low, max=high, num=number, sum=total, sum_squares=squares, bucket_limit=list(limits),
                                                bucket=list(counts))
        self._add(self._value(tag=tag, histo=made), step, walltime)

    def add_image(self, tag, image, step=None, walltime=None, dataformats="CHW"):
        pixels = _pixels(image, dataformats)
        made = _proto("summary").Summary.Image(height=pixels.shape[0], width=pixels.shape[1], colorspace=pixels.shape[2],
                                               encoded_image_string=_png(pixels))
        self._add(self._value(tag=tag, image=made), step, walltime)

    add_images = add_image

    def add_figure(self, tag, figure, step=None, close=True, walltime=None):
        import numpy as np
        for one in figure if isinstance(figure, (list, tuple)) else [figure]:
            content = io.BytesIO()
            one.savefig(content, format="raw")
            width, height = (int(n) for n in one.canvas.get_width_height())
            self.add_image(tag, np.frombuffer(content.getvalue(), np.uint8).reshape(height, width, -1), step, walltime, "HWC")
            if close:
                import_module("matplotlib.pyplot").close(one)

    def add_text(self, tag, text, step=None, walltime=None):
        summary, tensor = _proto("summary"), _proto("tensor")
        data = summary.SummaryMetadata.PluginData(plugin_name="text")
        shape = _proto("tensor_shape").TensorShapeProto(dim=[_proto("tensor_shape").TensorShapeProto.Dim(size=1)])
        value = tensor.TensorProto(dtype="DT_STRING", string_val=[str(text).encode()], tensor_shape=shape)
        self._add(self._value(tag=tag + "/text_summary", metadata=summary.SummaryMetadata(plugin_data=data), tensor=value), step, walltime)

    def flush(self):
        for writer in (self, *self.parts.values()):
            writer.event_writer.flush()

    def close(self):
        for writer in (*self.parts.values(), self):
            writer.event_writer.flush()
            writer.event_writer.close()


def _tensorflow_edges():
    """Edges that grow by a tenth from 1e-12 on, in both directions."""
    edges, edge = [], 1e-12
    while edge < 1e20:
        edges.append(edge)
        edge *= 1.1
    return [-e for e in reversed(edges)] + [0] + edges


def graph_event(model, inputs, backend):
    """An event with the recorded graph of ``model(*inputs)`` as TensorFlow's GraphDef."""
    if inputs is None:
        raise ValueError("add_graph: pass the inputs as well, since the graph is recorded while the model runs")
    graph, attributes = _proto("graph", backend), _proto("attr_value", backend)
    inputs = tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)
    with ft.enable_grad():
        # inputs that require grad show in the graph even where the model has no parameters
        result = model(*(x.detach().clone().requires_grad_(x.is_floating_point()) if isinstance(x, ft.Tensor) else x for x in inputs))
    picture = ft.graph(result, params=model)
    nodes, sources = {}, {}
    for line in str(picture).splitlines():
        edge = re.match(r"  (n\d+) -> (n\d+)", line)
        label = re.match(r'  (n\d+) \[label="((?:[^"\\]|\\.)*)"', line)
        if edge:
            sources.setdefault(edge[2], []).append(edge[1])
        elif label:
            nodes[label[1]] = label[2].split("\\n")
    names = {key: f"{re.sub(r'[^A-Za-z0-9_.]', '_', parts[0])}_{key}" for key, parts in nodes.items()}
    made = []
    for key, parts in nodes.items():
        node = _proto("node_def", backend).NodeDef(name=names[key], op=parts[0], input=[names[source] for source in sources.get(key, ())])
        if len(parts) > 1:
            node.attr["shape"].CopyFrom(attributes.AttrValue(s=parts[1].encode()))
        made.append(node)
    content = graph.GraphDef(node=made, versions=_proto("versions", backend).VersionDef(producer=22))
    return _proto("event", backend).Event(wall_time=time.time(), graph_def=content.SerializeToString())
