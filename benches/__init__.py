"""Benchmarks: every operation of the table and whole training steps, against PyTorch where it is installed.

    python -m benches                         # everything; prints, writes runs/benches/
    python -m benches --only 'op/exp|step/'   # names matching a pattern
    python -m benches --compare               # ratios against benches/baseline.json
    python -m benches --memory                # peak resident memory of the training steps
    python -m benches --scaling               # cost per element by size, and what a second thread gives
"""
