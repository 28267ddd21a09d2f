from jobferry.dispatch import lacks
from jobferry.kinds import references
from jobferry.kinds.references import Reference
from jobferry.kube.events import LONGEST_MESSAGE
from jobferry.workers.looking import Missing

PIPELINE = Missing(Reference("tekton.dev", "Pipeline", "build"), is_kind=True)


def test_it_is_told_what_is_missing_where_and_what_to_do() -> None:
    said = lacks.text("east", "ml", [Missing(references.config_map("settings")), PIPELINE])

    assert said == (
        "Worker east lacks what it refers to: ConfigMap settings,"
        " Pipeline.tekton.dev build (no such kind there)."
        " It is sent there all the same, and waits for it;"
        " create it there, in namespace ml where it is in one."
    )


def test_of_much_that_is_missing_the_rest_is_counted() -> None:
    many = [Missing(references.secret(f"secret-{number}-" + "x" * 200)) for number in range(32)]

    said = lacks.text("east" * 15, "n" * 63, many)

    assert "secret-0-" in said
    assert "and 30 more" in said
    assert len(said) < LONGEST_MESSAGE


def test_a_name_that_is_too_long_is_cut() -> None:
    said = lacks.text("east", "ml", [Missing(references.secret("x" * 5000))])

    assert len(said) < LONGEST_MESSAGE
