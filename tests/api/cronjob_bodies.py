"""CronJobs, right and wrong, by name. Plain data."""

from collections.abc import Iterator

from jobferry.objects import Obj, merge_patch
from tests.api.job_bodies import SPEC, of_container

CRON: Obj = {"schedule": "0 3 * * *", "jobTemplate": {"spec": SPEC}}
SCHEDULES = (
    *("@daily", "@every 1h30m", "@every x", "@every 1", "@every 1y", "@every", "@nonsense"),
    *("", "*", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *"),
    *("* * * * 7", "a * * * *", "* * * jan sun", "* * * Foo *", "5-1 * * * *", "1-2-3 * * * *"),
    *(
        "*/0 * * * *",
        "*/5/5 * * * *",
        "*/a * * * *",
        "1,2,,3 * * * *",
        ", * * * *",
        "? ? ? ? ?",
    ),
    *("99999999999999999999 * * * *", "+5 * * * *", "-5 * * * *", "TZ=UTC 0 3 * * *"),
    *("TZ=0", "CRON_TZ=Nowhere/At_All 0 3 * * *", "TZ=../x 0 3 * * *", "TZ=UTC @daily"),
    *("5/2 * * * *", "0-59/61 * * * *", "* * * * sun-sat", "@every 1.5h-", "@every .5s"),
)
ZONES = (
    *(
        "Europe/Berlin",
        "Etc/UTC",
        "UTC",
        "",
        "Local",
        "local",
        "Nowhere/At_All",
        "Europe//Berlin",
    ),
    *(
        "../etc",
        "-a/b",
        "Europe/Ber lin",
        "America/Argentina/Buenos_Aires",
        "x" * 15,
        "EST5EDT",
        "<no value>",
    ),
)
CRONS: dict[str, Obj] = {
    **{f"schedule {each!r}": {"schedule": each} for each in SCHEDULES},
    **{f"zone {each!r}": {"timeZone": each} for each in ZONES},
    "zone twice": {"schedule": "TZ=UTC 0 3 * * *", "timeZone": "Etc/UTC"},
    "numbers below zero": {
        "startingDeadlineSeconds": -1,
        "successfulJobsHistoryLimit": -1,
        "failedJobsHistoryLimit": -1,
    },
    "policy": {"concurrencyPolicy": "Never"},
    "selector": {
        "jobTemplate": {
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "manualSelector": True}
        }
    },
    "bad Jobs": {
        "jobTemplate": {
            "spec": {"parallelism": -1, "managedBy": "x", **of_container({"image": ""})}
        }
    },
    "managed Jobs": {"jobTemplate": {"spec": {"managedBy": "example.com/a"}}},
    "success without completions": {
        "jobTemplate": {"spec": {"successPolicy": {"rules": [{"succeededCount": 1}]}}}
    },
}
"""Changes of a CronJob's spec."""


CRON_UPDATES: dict[str, tuple[Obj, Obj]] = {
    "schedule": ({}, {"spec": {"schedule": "@hourly"}}),
    "bad schedule": ({}, {"spec": {"schedule": "now"}}),
    "zone in the schedule": ({}, {"spec": {"schedule": "TZ=UTC 1 * * * *"}}),
    "zone": ({"timeZone": "Etc/UTC"}, {"spec": {"timeZone": "Nowhere"}}),
    "suspend": ({}, {"spec": {"suspend": True}, "metadata": {"labels": {"a": "b c"}}}),
    "template": ({}, {"spec": {"jobTemplate": {"spec": of_container({"image": "b"})}}}),
    "bad template": ({}, {"spec": {"jobTemplate": {"spec": {"backoffLimit": -1}}}}),
}
"""Changes (merge patches) of a CronJob whose spec is given likewise."""


def cronjobs() -> Iterator[tuple[str, Obj]]:
    """Yield CronJobs by name."""
    for name, changes in CRONS.items():
        yield name, {"metadata": {}, "spec": merge_patch.apply(CRON, changes)}
