"""``SummaryWriter`` with PyTorch's arguments; what it writes is made by tensorboardX, or by `events` over tensorboard."""

import os
import time
from importlib.util import find_spec

import fasttensor as ft

__all__ = ["SummaryWriter", "FileWriter", "backend_name"]

MISSING = ("torch.utils.tensorboard needs a package that writes TensorBoard's files: pip install 'fasttensor[tensorboard]' (tensorboardX), or"
           " pip install tensorboard, which has the viewer too and serves scalars, histograms, images, figures, text and graphs")


def backend_name():
    """"tensorboardX" or "tensorboard", the first that is installed; ImportError that says what to install without both."""
    for name in ("tensorboardX", "tensorboard"):
        try:
            if find_spec(name) is not None:
                return name
        except ValueError:      # named in sys.modules, but blocked
            continue
    raise ImportError(MISSING)


def plain(value):
    """`value` with numpy arrays in place of tensors."""
    if isinstance(value, ft.Tensor):
        value = value.detach().cpu()
        return (value.float() if value.dtype in (ft.bfloat16, ft.float16) else value).numpy()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value) if not hasattr(value, "_fields") else tuple(plain(item) for item in value)
    return value


def number(value):
    """A tensor of one element, or a number, as a float."""
    if isinstance(value, ft.Tensor):
        if value.numel() != 1:
            raise ValueError(f"add_scalar: expected one number, got a tensor of shape {list(value.shape)}: reduce it first, for example"
                             " with .mean()")
        return float(value.item())
    return value if isinstance(value, str) else float(value)


class SummaryWriter:
    """Writes what TensorBoard shows: scalars, histograms, images, text, graphs and more, into files in `log_dir`.

    log_dir: by default runs/DATE_HOST and `comment`. purge_step: hide what earlier runs logged from this step on. Tensors on any
    device, arrays and numbers are taken. `add_` methods that neither package offers raise NotImplementedError.

        writer = SummaryWriter("runs/first")
        writer.add_scalar("loss/train", loss, step)
        writer.close()
    """

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""):
        if not log_dir:
            import socket
            log_dir = os.path.join("runs", time.strftime("%b%d_%H-%M-%S") + f"_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self.purge_step, self.max_queue, self.flush_secs, self.filename_suffix = purge_step, max_queue, flush_secs, filename_suffix
        if backend_name() == "tensorboardX":
            import tensorboardX
            self._backend = tensorboardX.SummaryWriter(logdir=self.log_dir, purge_step=purge_step, max_queue=max_queue, flush_secs=flush_secs,
                                                       filename_suffix=filename_suffix)
        else:
            from .events import EventWriter
            self._backend = EventWriter(self.log_dir, purge_step, max_queue, flush_secs, filename_suffix)

    def _write(self, method, *args, **kwargs):
        function = getattr(self._backend, method, None)
        if function is None:
            raise NotImplementedError(f"{method}: the tensorboard package alone does not offer it; pip install tensorboardX")
        function(*plain(args), **plain(kwargs))

    def get_logdir(self):
        """The folder of the files."""
        return self.log_dir

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        """One number, for example a loss."""
        self._write("add_scalar", tag, number(scalar_value), global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Several numbers in one chart: {name: number}."""
        self._write("add_scalars", main_tag, {tag: number(value) for tag, value in tag_scalar_dict.items()}, global_step, walltime)

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None):
        """How values are distributed, for example a layer's weights."""
        self._write("add_histogram", tag, values, global_step, bins, walltime, max_bins)

    def add_histogram_raw(self, tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts, global_step=None, walltime=None):
        """A histogram that was counted elsewhere."""
        self._write("add_histogram_raw", tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts, global_step, walltime)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """An image: floats in 0..1, or bytes."""
        self._write("add_image", tag, img_tensor, global_step, walltime, dataformats)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """A batch of images, laid out in a grid."""
        self._write("add_images", tag, img_tensor, global_step, walltime, dataformats)

    def add_image_with_boxes(self, tag, img_tensor, box_tensor, global_step=None, walltime=None, rescale=1, dataformats="CHW", labels=None):
        """An image with rectangles (x1, y1, x2, y2) on it."""
        self._write("add_image_with_boxes", tag, img_tensor, box_tensor, global_step, walltime, dataformats, labels)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """A matplotlib figure, or several."""
        self._write("add_figure", tag, figure, global_step, close, walltime)

    def add_video(self, tag, vid_tensor, global_step=None, fps=4, walltime=None):
        """A video of shape (N, T, C, H, W); needs the moviepy package."""
        self._write("add_video", tag, vid_tensor, global_step, fps, walltime)

    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        """A sound of shape (1, samples), in -1..1; needs the soundfile package."""
        self._write("add_audio", tag, snd_tensor, global_step, sample_rate, walltime)

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """A text, in Markdown."""
        self._write("add_text", tag, text_string, global_step, walltime)

    def add_embedding(self, mat, metadata=None, label_img=None, global_step=None, tag="default", metadata_header=None):
        """Vectors, one a row, for the projector."""
        self._write("add_embedding", mat, metadata, label_img, global_step, tag, metadata_header)

    def add_pr_curve(self, tag, labels, predictions, global_step=None, num_thresholds=127, weights=None, walltime=None):
        """A precision and recall curve of binary labels and predictions."""
        self._write("add_pr_curve", tag, labels, predictions, global_step, num_thresholds, weights, walltime)

    def add_pr_curve_raw(self, tag, true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision,
                         recall, global_step=None, num_thresholds=127, weights=None, walltime=None):
        """A precision and recall curve that was counted elsewhere."""
        self._write("add_pr_curve_raw", tag, true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts,
                    precision, recall, global_step, num_thresholds, weights, walltime)

    def add_custom_scalars(self, layout):
        """Charts of several tags: {category: {title: [kind, tags]}}."""
        self._write("add_custom_scalars", layout)

    def add_custom_scalars_multilinechart(self, tags, category="default", title="untitled"):
        """One chart with a line for each tag."""
        self._write("add_custom_scalars_multilinechart", tags, category, title)

    def add_custom_scalars_marginchart(self, tags, category="default", title="untitled"):
        """One chart with a line and the margin around it, from three tags."""
        self._write("add_custom_scalars_marginchart", tags, category, title)

    def add_mesh(self, tag, vertices, colors=None, faces=None, config_dict=None, global_step=None, walltime=None):
        """A three-dimensional mesh or cloud of points."""
        self._write("add_mesh", tag, vertices, colors, faces, config_dict, global_step, walltime)

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None):
        """What a run was started with, and what it reached."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError(f"add_hparams: hparam_dict and metric_dict must be dicts, got {type(hparam_dict).__name__} and"
                            f" {type(metric_dict).__name__}")
        self._write("add_hparams", hparam_dict, {name: number(value) for name, value in metric_dict.items()}, run_name, global_step)

    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """The recorded graph of a model for these inputs (a tensor, or a tuple of them), and its table as text."""
        from .events import graph_event
        event = graph_event(model, input_to_model, backend_name())
        writer = self._backend.file_writer if hasattr(self._backend, "file_writer") else self._backend
        writer.event_writer.add_event(event)
        self.add_text("model", "```\n" + str(ft.summary(model, input_to_model)) + "\n```")

    def flush(self):
        """Write what waits."""
        self._backend.flush()

    def close(self):
        """Write what waits, and end."""
        self._backend.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


class FileWriter(SummaryWriter):
    """`SummaryWriter` under the name of its lower layer."""
