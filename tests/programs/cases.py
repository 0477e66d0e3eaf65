"""Which programs the test runs, with which arguments, and how their output is compared with PyTorch's."""
import math
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
KEPT = FOLDER / "kept"          # what each program prints under PyTorch
CASES = {
    "regression": [], "time_sequence": [], "reinforce": [], "actor_critic": [], "digits_rnn": [], "vae": [], "forward_forward": [],
    "siamese": [], "super_resolution": [], "dcgan": [], "hogwild": [], "gcn": [], "gat": [], "nanogpt": [], "mingpt": [], "mixer": [],
    "summary_hooks": [], "paper_optimizers": [], "paper_layers": [], "lora": [], "own_functions": [], "weight_norm_nets": [],
    "data_pipeline": [], "higher_order": [], "residual_net": [], "translation": [], "style_transfer": [],
    "word_language_model": [], "word_language_model-gru": ["--model", "GRU"], "word_language_model-tanh": ["--model", "RNN_TANH", "--tied"],
    "word_language_model-transformer": ["--model", "Transformer", "--lr", "1"],
}
# Rounding grows in these: Adam divides gradients that are zero but for rounding, policies draw other actions.
LOOSE = {"mingpt": 0.02, "paper_layers": 0.02}
NUMBER = re.compile(r"[-+]?(?:\d+\.\d+(?:e[-+]?\d+)?|\d+)")


def run(case, *python, environment):
    """What a program prints."""
    done = subprocess.run([sys.executable, "-W", "ignore", *python, f"{case.split('-')[0]}.py", *CASES[case]], cwd=FOLDER, env=environment,
                          capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"{case} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def differences(case, printed, kept):
    """Lines whose words differ, or whose numbers differ by more than rounding."""
    tolerance = LOOSE.get(case, 2e-3)
    found = []
    ours, theirs = printed.splitlines(), kept.splitlines()
    for i in range(max(len(ours), len(theirs))):
        a, b = (lines[i] if i < len(lines) else "" for lines in (ours, theirs))
        numbers = list(zip(NUMBER.findall(a), NUMBER.findall(b)))
        if NUMBER.sub("#", a) != NUMBER.sub("#", b) or not all(
                math.isclose(float(x), float(y), rel_tol=tolerance, abs_tol=tolerance / 10 if "." in x else 0) for x, y in numbers):
            found.append(f"line {i + 1}: {a!r} instead of {b!r}")
    return found
