"""Benchmarks: speed, memory and accuracy beside the libraries that a user would pick instead. See README.md."""
