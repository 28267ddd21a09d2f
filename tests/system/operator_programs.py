"""How the operators of other projects start as plain processes, several on one machine, and who asks their webhooks."""

import json
import shutil
from pathlib import Path

from jobferry.kube.resources import SECRETS
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.testing.component import free_port
from jobferry.testing.control_plane import ControlPlane
from jobferry.testing.programs import ADDRESS
from tests.system import dashboard
from tests.system.operators import SERVICES, Call, Operator
from tests.system.webhooks import HOME, REFUSED, Sign, Webhooks, by_service
from tests.workloads.examples import ADAPTERS

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
SERVING = Path("k8s-webhook-server") / "serving-certs"
"""Where most look for the certificate of their webhooks, in the folder for temporary files."""


def _port() -> int:
    return free_port(ADDRESS)


def _address() -> str:
    return f"{ADDRESS}:{_port()}"


def _file(plane: ControlPlane, name: str, content: Obj) -> Path:
    file = plane.folder / name
    file.write_text(json.dumps(content))
    return file


def _scratch(plane: ControlPlane, operator: str) -> Path:
    """Return a folder for temporary files that has the certificate for webhooks."""
    scratch = plane.folder / f"{operator}-tmp"
    folder = scratch / SERVING
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("crt", "key"):
        shutil.copyfile(plane.folder / f"server.{part}", folder / f"tls.{part}")
    return scratch


def _in_home(resource: Resource, name: str, data: Obj) -> tuple[Resource, Obj]:
    return resource, {"metadata": {"name": name, "namespace": HOME}, "data": data}


def _sign(kind: str, says: str, **spec: object) -> Sign:
    return Sign(ADAPTERS[kind].resource, {"metadata": {"name": "sign"}, "spec": spec}, says)


def _job_set(plane: ControlPlane, port: int) -> Call:
    config = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "internalCertManagement": {"enable": False},
        "leaderElection": {"leaderElect": False},
        "webhook": {
            "host": ADDRESS,
            "port": port,
            "certDir": str(_scratch(plane, "jobset") / SERVING),
        },
    }
    flags = (
        f"--config={_file(plane, 'jobset.json', config)}",
        "--metrics-bind-address=0",
        f"--health-probe-bind-address={_address()}",
    )
    return Call(flags)


JOB_SET = Operator(
    "jobset",
    _job_set,
    webhooks=Webhooks(
        _sign("JobSet.jobset.x-k8s.io", "publishNotReadyAddresses", replicatedJobs=[]),
        _sign("JobSet.jobset.x-k8s.io", REFUSED, replicatedJobs=[], managedBy="nonsense"),
    ),
)


def _await_certificate() -> None:
    """Put a file where some operators wait for it, wherever their webhooks then look for theirs."""
    waited_for = Path("/tmp") / SERVING / "tls.crt"
    waited_for.parent.mkdir(parents=True, exist_ok=True)
    waited_for.touch()


def _training(plane: ControlPlane, port: int) -> Call:
    _await_certificate()
    flags = (
        f"--webhook-server-port={port}",
        "--metrics-bind-address=0",
        f"--health-probe-bind-address={_address()}",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
    )
    scratch = str(_scratch(plane, "training-operator"))
    return Call(flags, {"MY_POD_NAMESPACE": HOME, "TMPDIR": scratch})


TRAINING = Operator(
    "training-operator",
    _training,
    needs=(_in_home(SECRETS, "training-operator-webhook-cert", {}),),
)


def _mpi(plane: ControlPlane, port: int) -> Call:
    return Call((f"--lock-namespace={HOME}", "--kube-api-qps=200", "--kube-api-burst=400"))


MPI = Operator("mpi-operator", _mpi, fixed_port=8080)

_WRAPPING: Obj = {
    "webhooksEnabled": False,
    "controllerManager": {"metrics": {"bindAddress": "0"}, "health": {"bindAddress": "0"}},
    # It tries again in a moment, and only once.
    "appwrapper": {
        "faultTolerance": {"failureGracePeriod": 1, "resetPause": 1, "retryLimit": 1}
    },
}


def _wrapping(config: Obj) -> tuple[Resource, Obj]:
    data = {"config.yaml": json.dumps(config)}
    return _in_home(CONFIG_MAPS, "appwrapper-operator-config", data)


APP_WRAPPER = Operator(
    "appwrapper",
    lambda *_: Call((), {"NAMESPACE": HOME}),
    needs=(_wrapping(_WRAPPING),),
)
"""Without its webhooks, so that there can be several on a machine."""


def _app_wrapper(plane: ControlPlane, _: int) -> Call:
    _await_certificate()
    return Call((), {"NAMESPACE": HOME, "TMPDIR": str(_scratch(plane, "appwrapper"))})


_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "sign"},
    "spec": {"containers": []},
}

APP_WRAPPER_WITH_WEBHOOKS = Operator(
    "appwrapper",
    _app_wrapper,
    needs=(
        # It would have them ask by a certificate of its own.
        _wrapping(
            {
                **_WRAPPING,
                "webhooksEnabled": True,
                "certManagement": {
                    "mutatingWebhookConfigName": "none",
                    "validatingWebhookConfigName": "none",
                },
            }
        ),
        _in_home(SECRETS, "appwrapper-webhook-server-cert", {}),
    ),
    webhooks=Webhooks(
        _sign(
            "AppWrapper.workload.codeflare.dev",
            "workload.codeflare.dev/user",
            components=[{"template": _POD}],
        ),
        _sign("AppWrapper.workload.codeflare.dev", REFUSED, components=[]),
    ),
    fixed_port=9443,
)


def _trainer(plane: ControlPlane, port: int) -> Call:
    config = {
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        "kind": "Configuration",
        "certManagement": {"enable": False},
        "leaderElection": {"leaderElect": False},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": _address()},
        "webhook": {"host": ADDRESS, "port": port},
    }
    flags = (f"--config={_file(plane, 'trainer.json', config)}",)
    return Call(flags, {"TMPDIR": str(_scratch(plane, "trainer"))})


TRAINER = Operator(
    "trainer",
    _trainer,
    webhooks=Webhooks(
        # What it fills in, it does not before there is a runtime: it is told to API servers first.
        _sign("TrainJob.trainer.kubeflow.org", REFUSED, runtimeRef={"name": "none"}),
    ),
)


def _ray(plane: ControlPlane, port: int) -> Call:
    flags = (
        "--metrics-addr=0",
        f"--health-probe-bind-address={_address()}",
        "--enable-leader-election=false",
    )
    # What it asks the dashboard of a RayCluster, whose name nobody resolves here, comes to ours.
    return Call(flags, {"HTTP_PROXY": dashboard.url()})


RAY = Operator("kuberay", _ray, program="ray-operator")

_TEKTON_MAPS = (
    "config-defaults",
    "config-events",
    "config-leader-election-controller",
    "config-logging",
    "config-observability",
    "config-spire",
    "config-tracing",
    "config-wait-exponential-backoff",
    "feature-flags",
)
_TEKTON_IMAGES = (
    "entrypoint",
    "nop",
    "shell",
    "shell-image-win",
    "sidecarlogresults",
    "workingdirinit",
)


def _tekton_variables(program: str) -> dict[str, str]:
    ports = ("PROBES_PORT", "PROFILING_PORT", "METRICS_PROMETHEUS_PORT")
    return {
        "SYSTEM_NAMESPACE": HOME,
        "CONFIG_LEADERELECTION_NAME": f"config-leader-election-{program}",
        "CONFIG_FEATURE_FLAGS_NAME": "feature-flags",
        "METRICS_DOMAIN": "tekton.dev/pipeline",
        **{each: str(_port()) for each in ports},
    }


def _tekton(plane: ControlPlane, port: int) -> Call:
    images = (
        f"-{each if each.endswith('win') else f'{each}-image'}=none" for each in _TEKTON_IMAGES
    )
    return Call(("-disable-ha", *images), _tekton_variables("controller"))


def _tekton_webhook(plane: ControlPlane, port: int) -> Call:
    variables = {**_tekton_variables("webhook"), "WEBHOOK_PORT": str(port)}
    return Call(("-disable-ha",), variables)


TEKTON = Operator(
    "tekton",
    _tekton,
    program="tekton-controller",
    needs=tuple(_in_home(CONFIG_MAPS, each, {}) for each in _TEKTON_MAPS),
)
"""What runs the runs."""

_TEKTON_SERVICE = "tekton-pipelines-webhook"

TEKTON_WEBHOOK = Operator(
    "tekton",
    _tekton_webhook,
    program="tekton-webhook",
    needs=(
        _in_home(CONFIG_MAPS, "config-leader-election-webhook", {}),
        _in_home(SECRETS, "webhook-certs", {}),
        (
            SERVICES,
            {
                "metadata": {"name": _TEKTON_SERVICE, "namespace": HOME},
                "spec": {"type": "ExternalName", "externalName": ADDRESS},
            },
        ),
    ),
    webhooks=Webhooks(
        _sign("PipelineRun.tekton.dev", "timeouts", pipelineRef={"name": "none"}),
        _sign("PipelineRun.tekton.dev", REFUSED),
        leads=by_service,
    ),
    is_beside=True,
)
"""What fills in and checks them: a program of its own."""
