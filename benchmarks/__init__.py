"""What Reverie claims, measured: `python -m benchmarks engine`."""
