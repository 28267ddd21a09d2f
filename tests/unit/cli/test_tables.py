from jobferry.cli import tables
from jobferry.cli.redraw import fit
from jobferry.cli.tables import Column

COLUMNS = (Column("NAME"), Column("AGE"), Column("WHY", wide=True))


def test_columns_are_as_wide_as_what_is_in_them() -> None:
    shown = tables.text(COLUMNS, [("a", "3s", "x"), ("longer", "", "y")])

    assert shown == "NAME     AGE\na        3s\nlonger   <none>\n"


def test_wide_columns_are_shown_on_demand() -> None:
    assert tables.lines(COLUMNS, [("a", 0, None)], wide=True)[1].split() == ["a", "0", "<none>"]


def test_what_others_wrote_cannot_move_the_cursor() -> None:
    assert tables.cell("a\x1b[2Jb\nc\td") == "a [2Jb c d"


def test_a_screen_leaves_out_what_does_not_fit_and_says_so() -> None:
    assert fit(["1", "2", "3", "4", "5"], 80, 4) == ["1", "2", "and 3 more"]
    assert fit(["12345"], 3, 10) == ["123"]
    assert fit(["1", "2", "3"], 80, 4) == ["1", "2", "3"]
