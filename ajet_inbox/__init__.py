"""Drop an experiment blueprint into a folder; find results and a truthful finish.flag in the morning."""

__version__ = "0.1.0"
