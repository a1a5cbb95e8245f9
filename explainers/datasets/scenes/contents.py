"""Reading what a box or a tower has, one condition after the other: "two blue items and a circle touching a wall"."""

from functools import partial

from explainers.datasets.scenes.arrangements import base_and_top, coloured_end, end_is, level, relation, stacked
from explainers.datasets.scenes.colours import number_of_colours, of_colours, only, only_colours, several_colours
from explainers.datasets.scenes.descriptions import RELATIONS, Conditions, description, within
from explainers.datasets.scenes.phrases import NONE, SOME, Reader, Unclear
from explainers.datasets.scenes.statements import Has, Kind, Next, Number

JOINTS = (
    "and with", ", and", ", with", "and there is", "and also", "and", ",", "but with", "but", "with", "including",
    "where", "that", "which",
)  # fmt: skip


def conditions(reader: Reader) -> Conditions:
    """One or several, until nothing more can be read."""
    found = condition(reader)
    while not reader.done:
        start = reader.at
        joint = reader.takes(*JOINTS)
        more = reader.tries(
            *(partial(form, reader, found) for form in (of_which, said_of_them, upon_it)),
            *((partial(condition, reader),) if joint else ()),
        )
        if more is None:
            reader.at = start
            return found
        found += more
    return found


def condition(reader: Reader) -> Conditions:
    found = reader.tries(*(partial(form, reader) for form in FORMS))
    if found is None:
        raise Unclear
    reader.takes("in it", "inside it", "inside")
    return found


def counted(reader: Reader) -> Conditions:
    number = reader.number() or SOME
    start = reader.at
    described = reader.tries(lambda: of_all(reader))
    if described:
        how_many, general, kind = described
        if how_many == NONE and number != Number("exactly", 1):
            raise Unclear
        return Has(general, number), Has(kind, how_many or number)
    reader.at = start
    kind = reader.kind()
    if kind.place == "peak" and number.n > 1:
        raise Unclear
    reader.takes("each")
    return (Has(kind, number),)


def of_all(reader: Reader) -> tuple[Number | None, Kind, Kind]:
    """ "Items all of which are blue", "an item that is not blue": what is counted, how many of it are so, and how."""
    shape = reader.shape()
    reader.takes("all")
    reader.needs("of which is", "which is", "that is")
    denied = reader.takes("not")
    reader.takes("all", "of", "in")
    reader.takes("a")
    narrowed = description(reader)
    if narrowed.place:
        raise Unclear
    return NONE if denied else None, Kind(shape=shape), within(Kind(shape=shape), narrowed)


def of_which(reader: Reader, found: Conditions) -> Conditions:
    """ "(Three items) of which two are black and one is a circle"."""
    last = found[0]
    if not isinstance(last, Has) or last.number == NONE:
        raise Unclear
    before = reader.words[reader.at - 1]
    which = reader.takes("of which", "where", "the")
    more = part(reader, last.kind, named=which is None and before != "the")
    while reader.takes("and"):
        more += part(reader, last.kind)
    return more


def part(reader: Reader, kind: Kind, *, named: bool = False) -> Conditions:
    """ "Two are black"; if `named`, it must say of what: "one of which is black", "one is black"."""
    reader.takes("there is", "the")
    number = reader.number()
    if number is None or number == NONE:
        raise Unclear
    of = reader.takes("of which", "of them", "of the thing", "thing")
    verb = reader.takes("is", "with")
    if named and (not verb or of == "thing"):
        raise Unclear
    reader.takes("of", "in", "a", "both", "all")
    narrowed = description(reader)
    return (Has(within(kind, narrowed), number),)


def said_of_them(reader: Reader, found: Conditions) -> Conditions:
    """ "(One item) and it is black"."""
    last = found[-1]
    if not isinstance(last, Has) or last.number == NONE:
        raise Unclear
    if not reader.takes("it is", "they is all", "they is both", "they is", "all is", "the colour is", "both is"):
        reader.needs("is")
    denied = reader.takes("not")
    reader.takes("a")
    narrowed = reader.tries(reader.place) if denied else None
    if narrowed:
        raise Unclear
    kind = within(last.kind, description(reader))
    if denied and last.number != Number("exactly", 1):
        raise Unclear
    return (Has(kind, NONE if denied else last.number),)


def upon_it(reader: Reader, found: Conditions) -> Conditions:
    """ "(A black item touching the wall) and a blue one on top of it"."""
    last = found[-1]
    number = SOME if reader.takes("another", "a other") else reader.number()
    kind = reader.kind()
    relation = RELATIONS[reader.needs(*RELATIONS)]
    reader.needs("it")
    if not isinstance(last, Has) or number != SOME:
        raise Unclear
    return (Next(kind, relation, last.kind),)


FORMS = (
    only_colours,
    only,
    end_is,
    of_colours,
    base_and_top,
    level,
    stacked,
    relation,
    several_colours,
    number_of_colours,
    counted,
    coloured_end,
)
