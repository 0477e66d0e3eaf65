"""``torch.hub``: models that a repository describes in its ``hubconf.py``, and files of weights from the web."""
import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import warnings
import zipfile
from urllib.parse import urlparse

__all__ = ["download_url_to_file", "get_dir", "set_dir", "list", "help", "load", "load_state_dict_from_url"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_folder = None


def get_dir():
    """The folder of downloads: what `set_dir` was told, ``$TORCH_HOME/hub``, or ``~/.cache/torch/hub``."""
    if _folder is not None:
        return _folder
    return os.path.join(_get_torch_home(), "hub")


def _get_torch_home():
    return os.path.expanduser(os.environ.get("TORCH_HOME") or os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "torch"))


def set_dir(d):
    """Choose the folder of downloads."""
    global _folder
    _folder = os.path.expanduser(d)


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Download a file; RuntimeError where the start of its SHA-256 is not `hash_prefix`. A broken download leaves nothing."""
    from urllib.request import Request, urlopen
    dst = os.path.expanduser(dst)
    digest = hashlib.sha256()
    part = tempfile.NamedTemporaryFile(dir=os.path.dirname(dst) or ".", suffix=".partial", delete=False)
    try:
        with part, urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as answer:
            size = int(answer.headers.get("Content-Length") or 0)
            done = 0
            while block := answer.read(1 << 17):
                part.write(block)
                digest.update(block)
                done += len(block)
                if progress and sys.stderr.isatty():
                    sys.stderr.write(f"\r{done / 1e6:.1f} MB" + (f" of {size / 1e6:.1f}" if size else ""))
        if progress and sys.stderr.isatty():
            sys.stderr.write("\n")
        if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
        shutil.move(part.name, dst)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(part.name)


def load_state_dict_from_url(url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None, weights_only=False):
    """The object in a file of weights at `url`, which is kept in `model_dir`; see ``torch.load``, which here never runs pickled code.

    ``check_hash=True`` compares with the hash in the file's name (``name-<hash>.ext``).
    """
    from fasttensor import load
    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress)
    return load(path, map_location=map_location)


def _github(repo, force_reload):
    """The folder of a GitHub repository "owner/name[:ref]", downloaded where it is not there."""
    owner_name, _, ref = repo.partition(":")
    if owner_name.count("/") != 1:
        raise ValueError(f"hub: expected a repository as 'owner/name[:ref]', got {repo!r}")
    owner, name = owner_name.split("/")
    base = get_dir()
    os.makedirs(base, exist_ok=True)
    for branch in [ref] if ref else ["main", "master"]:
        folder = os.path.join(base, "_".join((owner, name, branch.replace("/", "_"))))
        if os.path.isdir(folder) and not force_reload:
            return folder
    error = None
    for branch in [ref] if ref else ["main", "master"]:
        folder = os.path.join(base, "_".join((owner, name, branch.replace("/", "_"))))
        with tempfile.TemporaryDirectory(dir=base) as scratch:
            archive = os.path.join(scratch, "repository.zip")
            try:
                download_url_to_file(f"https://github.com/{owner}/{name}/zipball/{branch}", archive, progress=False)
            except OSError as failure:
                error = failure
                continue
            with zipfile.ZipFile(archive) as opened:
                opened.extractall(scratch)
            os.remove(archive)
            top, = os.listdir(scratch)
            shutil.rmtree(folder, ignore_errors=True)
            shutil.move(os.path.join(scratch, top), folder)
            return folder
    raise RuntimeError(f"hub: could not download {repo!r} from GitHub: {error}")


@contextlib.contextmanager
def _hubconf(repo, source, force_reload, trust_repo=None):
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        if trust_repo is None:
            warnings.warn(f"hub runs code of {repo!r}; pass trust_repo=True where you trust it, or source='local' with a folder.", stacklevel=4)
        elif trust_repo is False:
            raise RuntimeError(f"hub: running code of {repo!r} needs trust: pass trust_repo=True")
        repo = _github(repo, force_reload)
    sys.path.insert(0, repo)
    try:
        spec = importlib.util.spec_from_file_location("hubconf", os.path.join(repo, "hubconf.py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        missing = [name for name in getattr(module, "dependencies", ()) if name != "torch" and importlib.util.find_spec(name) is None]
        if missing:
            raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
        yield module
    finally:
        sys.path.remove(repo)


def _entry(module, name):
    found = getattr(module, name, None)
    if not isinstance(name, str) or not callable(found):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")
    return found


def list(github, force_reload=False, skip_validation=False, trust_repo=None, verbose=True, source="github"):
    """The names that a repository's ``hubconf.py`` offers."""
    with _hubconf(github, source, force_reload, trust_repo) as module:
        return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(github, model, force_reload=False, skip_validation=False, trust_repo=None, source="github"):
    """The docstring of one of them."""
    with _hubconf(github, source, force_reload, trust_repo) as module:
        return _entry(module, model).__doc__


def load(repo_or_dir, model, *args, source="github", trust_repo=None, force_reload=False, verbose=True, skip_validation=False, **kwargs):
    """What the function `model` of a repository's ``hubconf.py`` returns; ``source='local'`` takes a folder.

    The repository's code runs, from GitHub only with `trust_repo`. In it ``import torch`` is whatever that means in this process.
    """
    with _hubconf(repo_or_dir, source, force_reload, trust_repo) as module:
        return _entry(module, model)(*args, **kwargs)


