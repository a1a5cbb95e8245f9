"""Parsing what a box or a tower has, one condition after the other: "two blue items and a circle touching a wall".

Parsing statements about the colours in a box: "only black blocks", "three items of two different colours".

Parsing how things are arranged: "a blue block over a black one", "the top is yellow", "stacked together".

Parsing sentences that begin with the towers or their ends: "the base of a tower with four blocks is black".
"""

from dataclasses import replace
from functools import partial

from explainers.datasets.scenes import statements
from explainers.datasets.scenes.parser import (
    NONE,
    RELATIONS,
    SOME,
    Conditions,
    ParseFailure,
    StatementParser,
    description,
    within,
)


def only_colours(parser: StatementParser) -> Conditions:
    """ "Only blue and black items"."""
    first = parser.accept("only")
    one = parser.colour()
    parser.accept("thing")
    parser.expect("and")
    parser.accept("only")
    other = parser.colour()
    parser.expect("thing", "colour thing", "colour")
    if not first:
        parser.expect("only")
    return (statements.Within(frozenset({one, other})),)


def only(parser: StatementParser) -> Conditions:
    """ "Only blue blocks", "blocks of blue colour only"."""
    first = parser.accept("only")
    if parser.accept("thing of"):
        kind = statements.Kind(parser.colour())
        parser.expect("colour")
    else:
        kind = parser.kind()
    if not first:
        parser.expect("only")
    return statements.Has(statements.Kind(), SOME), statements.Only(kind)


def of_colours(parser: StatementParser) -> Conditions:
    """ "Three items of two different colours", "items of blue and black colour", "blocks of the same colour"."""
    number, kind = parser.item()
    link = parser.expect("of", "in", "with")
    parser.accept("exactly" if parser.next_is("exactly 2") else "only")
    has: Conditions = (statements.Has(kind, number),)
    quality = parser.attempt(lambda: same(parser))
    if quality == "colour" and kind == statements.Kind():
        return (*has, statements.Hues(statements.Number("exactly", 1)))
    if quality:
        return (statements.Alike(kind, quality, number),)
    if parser.accept("1 colour"):
        return (*has, statements.Hues(statements.Number("exactly", 1)))
    if parser.accept("all 3 different colour", "all 3 colour", "all the 3 colour", "3 different colour", "3 colour"):
        return (*has, statements.Hues(statements.Number("exactly", 3)))
    if parser.accept("exactly 2 different colour", "2 different colour", "2 colour") or (
        link == "of" and number == statements.Number("exactly", 2) and parser.accept("different colour")
    ):
        return (*has, statements.Hues(statements.Number("exactly", 2)))
    one = parser.colour()
    parser.expect("and")
    other = parser.colour()
    parser.expect("colour")
    parser.accept("only")
    return (*has, statements.Within(frozenset({one, other})))


def same(parser: StatementParser) -> str:
    """The quality that things share."""
    parser.accept("the")
    parser.expect("same")
    return parser.expect("colour", "shape", "size")


def several_colours(parser: StatementParser) -> Conditions:
    """ "Two yellow, three blue and one black item": the noun comes last."""
    colours = [numbered_colour(parser)]
    while parser.accept(", and", ",", "and"):
        colours.append(numbered_colour(parser))
    if len(colours) == 1:
        raise ParseFailure
    parser.accept("colour")
    shape = parser.shape()
    return tuple(statements.Has(statements.Kind(colour, shape), number) for number, colour in colours)


def numbered_colour(parser: StatementParser) -> tuple[statements.Number, str]:
    number = parser.number()
    return SOME if number is None else number, parser.colour()


def number_of_colours(parser: StatementParser) -> Conditions:
    parser.accept("all", "all the")
    number = parser.number()
    if number is None:
        raise ParseFailure
    parser.accept("different")
    parser.expect("colour")
    return statements.Has(statements.Kind(), SOME), statements.Hues(number)


LEVELS = {"base": 1, "first": 1, "second": 2, "third": 3, "middle": 0, "top": -1}


def base_and_top(parser: StatementParser) -> Conditions:
    """ "A yellow block at the base and top"."""
    number, kind = parser.item()
    parser.expect(
        "at the base and top", "at the top and base", "at the top and at the base", "at the base and at the top"
    )
    return statements.Has(replace(kind, location="bottom"), number), statements.Has(
        replace(kind, location="peak"), number
    )


def level(parser: StatementParser) -> Conditions:
    """ "A blue block in the middle"."""
    parser.accept("a", "exactly 1", "1")
    kind = parser.kind()
    if parser.accept("in the middle of it", "in the middle", "as a middle thing"):
        return (statements.Level(0, kind),)
    parser.expect("as the second level", "as the second thing", "as second thing")
    return (statements.Level(2, kind),)


def stacked(parser: StatementParser) -> Conditions:
    number, kind = parser.item()
    parser.expect("stacked together", "attached together", "attached with each other", "attached to each other")
    return (statements.Stacked(kind, number),)


def relation(parser: StatementParser) -> Conditions:
    """ "A blue block over a black one"."""
    number, one = parser.item()
    parser.accept("which is", "that is", "is")
    word = RELATIONS[parser.expect(*RELATIONS)]
    parser.accept("a", "the", "1", "exactly 1", "a other")
    other = (
        statements.Kind(location="bottom")
        if parser.towers and parser.accept("base thing", "base")
        else parser.kind(bare=True)
    )
    if number not in (SOME, statements.Number("exactly", 1)):
        raise ParseFailure
    return (statements.Next(one, word, other),)


def coloured_end(parser: StatementParser) -> Conditions:
    """ "A yellow top", "black base"."""
    parser.accept("a")
    colour = parser.colour()
    end = parser.expect("base", "top")
    return (statements.Has(statements.Kind(colour, location="bottom" if end == "base" else "peak"), SOME),)


def end_is(parser: StatementParser) -> Conditions:
    """ "The top is blue", "the top and base are black", "the second block from the base is yellow"."""
    parser.accept("the colour of the", "the", "a")
    ends = ends_named(parser)
    parser.expect("is")
    parser.accept("both", "all", "of")
    colour = parser.colour()
    parser.accept("in colour", "colour", "thing")
    return tuple(end(word, statements.Kind(colour)) for word in ends)


def ends_named(parser: StatementParser) -> list[str]:
    """ "Base and second block from the base"."""
    words = [parser.expect(*LEVELS)]
    parser.accept("thing")
    while parser.accept("and the", "and"):
        words.append(parser.expect(*LEVELS))
        parser.accept("thing")
    parser.accept("from the base")
    return words


def end(word: str, kind: statements.Kind) -> statements.Condition:
    if word in ("base", "top"):
        return statements.Has(replace(kind, location="bottom" if word == "base" else "peak"), SOME)
    return statements.Level(LEVELS[word], kind)


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
        if how_many == NONE and number != statements.Number("exactly", 1):
            raise ParseFailure
        return statements.Has(general, number), statements.Has(kind, how_many or number)
    parser.at = start
    kind = parser.kind()
    if kind.location == "peak" and number.n > 1:
        raise ParseFailure
    parser.accept("each")
    return (statements.Has(kind, number),)


def of_all(parser: StatementParser) -> tuple[statements.Number | None, statements.Kind, statements.Kind]:
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
    return NONE if denied else None, statements.Kind(shape=shape), within(statements.Kind(shape=shape), narrowed)


def of_which(parser: StatementParser, previous: Conditions) -> Conditions:
    """ "(Three items) of which two are black and one is a circle"."""
    last = previous[0]
    if not isinstance(last, statements.Has) or last.number == NONE:
        raise ParseFailure
    before = parser.words[parser.at - 1]
    which = parser.accept("of which", "where", "the")
    more = part(parser, last.kind, named=which is None and before != "the")
    while parser.accept("and"):
        more += part(parser, last.kind)
    return more


def part(parser: StatementParser, kind: statements.Kind, *, named: bool = False) -> Conditions:
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
    return (statements.Has(within(kind, narrowed), number),)


def further_description(parser: StatementParser, previous: Conditions) -> Conditions:
    """ "(One item) and it is black"."""
    last = previous[-1]
    if not isinstance(last, statements.Has) or last.number == NONE:
        raise ParseFailure
    if not parser.accept("it is", "they is all", "they is both", "they is", "all is", "the colour is", "both is"):
        parser.expect("is")
    denied = parser.accept("not")
    parser.accept("a")
    narrowed = parser.attempt(parser.location) if denied else None
    if narrowed:
        raise ParseFailure
    kind = within(last.kind, description(parser))
    if denied and last.number != statements.Number("exactly", 1):
        raise ParseFailure
    return (statements.Has(kind, NONE if denied else last.number),)


def upon_it(parser: StatementParser, previous: Conditions) -> Conditions:
    """ "(A black item touching the wall) and a blue one on top of it"."""
    last = previous[-1]
    number = SOME if parser.accept("another", "a other") else parser.number()
    kind = parser.kind()
    relation = RELATIONS[parser.expect(*RELATIONS)]
    parser.expect("it")
    if not isinstance(last, statements.Has) or number != SOME:
        raise ParseFailure
    return (statements.Next(kind, relation, last.kind),)


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


ALL = statements.Number("exactly", 3)


def ends_are(parser: StatementParser) -> statements.Statement:
    """ "The second block from the base of a tower with four blocks is black"."""
    parser.accept("the")
    words = ends_named(parser)
    parser.expect("of")
    number, conditions = tower_named(parser)
    parser.expect("is")
    kind = statements.Kind(parser.colour())
    return statements.Boxes((*conditions, *(end(word, kind) for word in words)), number)


def tower_named(parser: StatementParser) -> tuple[statements.Number, Conditions]:
    number = ALL if parser.accept("all the 3", "all the", "all", "the 3") else parser.number()
    parser.expect("tower")
    height = (parser.number(), parser.expect("thing")) if parser.accept("with") else (None, "")
    parser.accept("from the base", "and")
    return SOME if number is None else number, (statements.Has(statements.Kind(), height[0]),) if height[0] else ()


def towers_are(parser: StatementParser) -> statements.Statement:
    """ "One of the three towers is blue", "two towers are yellow"."""
    number = ALL if parser.accept("all the 3", "all the", "all") else parser.number()
    parser.accept("of the 3", "of the")
    parser.expect("tower is")
    kind = statements.Kind(parser.colour())
    return statements.Boxes(
        (statements.Has(statements.Kind(), SOME), statements.Only(kind)), SOME if number is None else number
    )
