"""Jobferry as it is by default: where the server can, the first state comes as events (WatchList)."""

from functools import partial

from bench.contenders import jobferry

open_ = partial(jobferry.open_, initial_events=True)
