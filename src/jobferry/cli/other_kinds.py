"""Workloads of other kinds than Jobs, as `jobferry jobs`, `describe` and `why` show them with --kind."""

import argparse
import os
from collections.abc import Sequence
from datetime import datetime

from jobferry import settings
from jobferry.cli import documents, job_events, options, render, tables
from jobferry.cli.arguments import Parser
from jobferry.cli.explanation import Explanation
from jobferry.cli.hub import Hub, NotThere, kind_missing
from jobferry.cli.job_facts import QUEUE_LABEL, plural
from jobferry.cli.picture import Picture, read
from jobferry.cli.tables import Column
from jobferry.cli.workload_facts import Workload
from jobferry.core.placement_object import RESOURCE as PLACEMENTS
from jobferry.core.view import Policy
from jobferry.dispatch import switches
from jobferry.errors import BadInput
from jobferry.kinds.adapter import Adapter
from jobferry.kube import errors
from jobferry.kube.resources import JOBS
from jobferry.localkube.apiserver.printing import durations
from jobferry.objects import Obj
from jobferry.workers.resource import WORKERS

COLUMNS = (
    Column("NAME"),
    Column("STATUS"),
    Column("WORKER"),
    Column("ATTEMPT"),
    Column("AGE"),
    Column("QUEUE", wide=True),
    Column("MESSAGE", wide=True),
)
