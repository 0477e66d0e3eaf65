"""The example trains to its accuracy, resumes, and says what is missing."""
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fasttensor as torch

ROOT = Path(__file__).resolve().parents[1]


def run(*arguments, name="digits"):
    import os
    env = dict(os.environ, PYTHONPATH=str(Path(torch.__file__).parents[1]))
    return subprocess.run([sys.executable, str(ROOT / "examples" / f"{name}.py"), "--quiet", *map(str, arguments)],
                          capture_output=True, text=True, env=env)


def accuracy(text):
    return float(re.search(r"accuracy +([\d.]+)%", text)[1])


def test_digits(tmp_path):
    done = run("--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert accuracy(done.stdout) >= 99.0
    saved = torch.load(tmp_path / "checkpoint.pt")
    assert len(saved["history"]) == 25 and "conv1.weight" in saved["net"]
    if "no picture" not in done.stdout:     # where matplotlib is installed
        assert (tmp_path / "digits.png").stat().st_size > 10_000


def test_resume(tmp_path):
    first = run("--epochs", 1, "--out", tmp_path)
    assert first.returncode == 0, first.stderr
    second = run("--epochs", 3, "--resume", "--out", tmp_path)
    assert "resumed after epoch 1" in second.stdout
    assert len(torch.load(tmp_path / "checkpoint.pt")["history"]) == 3
    assert accuracy(second.stdout) > accuracy(first.stdout)


def complaint(*arguments, name="digits"):
    """The one line with which the program ends."""
    done = run(*arguments, name=name)
    assert done.returncode == 2 and done.stderr.startswith(f"{name}: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_messages(tmp_path):
    assert "there is no" in complaint("--resume", "--out", tmp_path)
    assert "'0' is not a whole number of at least 1" in complaint("--epochs", 0)
    assert "'-3' is not a whole number from 2 to 1437" in complaint("--batch", -3)
    assert "'nan' is not a number above 0" in complaint("--lr", "nan")
    torch.save({"net": {"other": torch.ones(2)}}, tmp_path / "checkpoint.pt")
    assert "checkpoint.pt is not what this program saves" in complaint("--resume", "--out", tmp_path)
    (tmp_path / "checkpoint.pt").write_text("text")
    assert "checkpoint.pt is not what this program saves" in complaint("--resume", "--out", tmp_path)
    assert "Not a directory" in complaint("--out", tmp_path / "checkpoint.pt" / "runs")
    if not torch.cuda.is_available():
        assert "CUDA device requested, but" in complaint("--device", "cuda", "--out", tmp_path)


def test_messages_of_other_examples(tmp_path):
    (tmp_path / "file").write_text("short")
    for name in ("char_gpt", "lstm_language_model", "vae", "cartpole"):
        assert "'-1' is not a whole number" in complaint("--steps", -1, name=name)
        assert "--out" in complaint("--out", tmp_path / "file", name=name)
    assert "too few" in complaint("--text", tmp_path / "file", name="char_gpt")
    assert "No such file" in complaint("--text", tmp_path / "none", name="char_gpt")
    assert "there is no" in complaint("--sample", 5, "--out", tmp_path, name="char_gpt")
    torch.save(torch.ones(2), tmp_path / "model.pt")
    assert "not what this program saves" in complaint("--sample", 5, "--out", tmp_path, name="char_gpt")


@pytest.mark.parametrize("option", ["--epochs", "--seed", "--out", "--device", "--resume"])
def test_help_names_options(option):
    assert option in run("--help").stdout


@pytest.mark.parametrize("name, steps", [("char_gpt", 2), ("lstm_language_model", 1), ("vae", 2), ("cartpole", 2)])
def test_other_examples_run(tmp_path, name, steps):
    done = run("--steps", steps, "--out", tmp_path, name=name)
    assert done.returncode == 0, done.stderr
    assert torch.load(tmp_path / "model.pt")
    if "no picture" not in done.stdout:
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000


@pytest.mark.slow
def test_cartpole_is_balanced(tmp_path):
    done = run("--out", tmp_path, name="cartpole")
    assert float(re.search(r"balanced +([\d.]+)", done.stdout)[1]) > 400, done.stdout
