"""Parsing what a box or a tower has, one condition after the other: "two blue items and a circle touching a wall"."""

from functools import partial

from explainers.datasets.scenes.arrangements import base_and_top, coloured_end, end_is, level, relation, stacked
from explainers.datasets.scenes.colours import number_of_colours, of_colours, only, only_colours, several_colours
from explainers.datasets.scenes.conditions import Has, Kind, Next, Number
from explainers.datasets.scenes.descriptions import RELATIONS, Conditions, description, within
from explainers.datasets.scenes.parser import NONE, SOME, ParseFailure, StatementParser

JOINTS = (
    "and with", ", and", ", with", "and there is", "and also", "and", ",", "but with", "but", "with", "including",
    "where", "that", "which",
)  # fmt: skip


def conditions(parser: StatementParser) -> Conditions:
    """One or several, until nothing more can be read."""
    parsed = condition(parser)
    while not parser.done:
        start = parser.at
        joint = parser.accept(*JOINTS)
        more = parser.attempt(
            *(partial(form, parser, parsed) for form in (of_which, further_description, upon_it)),
            *((partial(condition, parser),) if joint else ()),
        )
        if more is None:
            parser.at = start
            return parsed
        parsed += more
    return parsed


def condition(parser: StatementParser) -> Conditions:
    parsed = parser.attempt(*(partial(form, parser) for form in FORMS))
    if parsed is None:
        raise ParseFailure
    parser.accept("in it", "inside it", "inside")
    return parsed


def counted(parser: StatementParser) -> Conditions:
    number = parser.number() or SOME
    start = parser.at
    described = parser.attempt(lambda: of_all(parser))
    if described:
        how_many, general, kind = described
        if how_many == NONE and number != Number("exactly", 1):
            raise ParseFailure
        return Has(general, number), Has(kind, how_many or number)
    parser.at = start
    kind = parser.kind()
    if kind.location == "peak" and number.n > 1:
        raise ParseFailure
    parser.accept("each")
    return (Has(kind, number),)


def of_all(parser: StatementParser) -> tuple[Number | None, Kind, Kind]:
    """ "Items all of which are blue", "an item that is not blue": how many match, what is counted, and what matches."""
    shape = parser.shape()
    parser.accept("all")
    parser.expect("of which is", "which is", "that is")
    denied = parser.accept("not")
    parser.accept("all", "of", "in")
    parser.accept("a")
    narrowed = description(parser)
    if narrowed.location:
        raise ParseFailure
    return NONE if denied else None, Kind(shape=shape), within(Kind(shape=shape), narrowed)


def of_which(parser: StatementParser, previous: Conditions) -> Conditions:
    """ "(Three items) of which two are black and one is a circle"."""
    last = previous[0]
    if not isinstance(last, Has) or last.number == NONE:
        raise ParseFailure
    before = parser.words[parser.at - 1]
    which = parser.accept("of which", "where", "the")
    more = part(parser, last.kind, named=which is None and before != "the")
    while parser.accept("and"):
        more += part(parser, last.kind)
    return more


def part(parser: StatementParser, kind: Kind, *, named: bool = False) -> Conditions:
    """ "Two are black"; with `named` it must name the things: "one of which is black", "one is black"."""
    parser.accept("there is", "the")
    number = parser.number()
    if number is None or number == NONE:
        raise ParseFailure
    of = parser.accept("of which", "of them", "of the thing", "thing")
    verb = parser.accept("is", "with")
    if named and (not verb or of == "thing"):
        raise ParseFailure
    parser.accept("of", "in", "a", "both", "all")
    narrowed = description(parser)
    return (Has(within(kind, narrowed), number),)


def further_description(parser: StatementParser, previous: Conditions) -> Conditions:
    """ "(One item) and it is black"."""
    last = previous[-1]
    if not isinstance(last, Has) or last.number == NONE:
        raise ParseFailure
    if not parser.accept("it is", "they is all", "they is both", "they is", "all is", "the colour is", "both is"):
        parser.expect("is")
    denied = parser.accept("not")
    parser.accept("a")
    narrowed = parser.attempt(parser.location) if denied else None
    if narrowed:
        raise ParseFailure
    kind = within(last.kind, description(parser))
    if denied and last.number != Number("exactly", 1):
        raise ParseFailure
    return (Has(kind, NONE if denied else last.number),)


def upon_it(parser: StatementParser, previous: Conditions) -> Conditions:
    """ "(A black item touching the wall) and a blue one on top of it"."""
    last = previous[-1]
    number = SOME if parser.accept("another", "a other") else parser.number()
    kind = parser.kind()
    relation = RELATIONS[parser.expect(*RELATIONS)]
    parser.expect("it")
    if not isinstance(last, Has) or number != SOME:
        raise ParseFailure
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
