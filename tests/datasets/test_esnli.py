import gzip
from pathlib import Path

import pytest

from explainers.datasets import text_sets
from explainers.datasets.entailment import LABELS, detokenised
from explainers.datasets.example import Example
from explainers.datasets.text_sets import (
    DEV,
    ESNLIVE,
    REVISED,
    TEST,
    image_sentences,
    letters,
    read_esnli,
)
from explainers.errors import DataUnavailable

SHARED = Path(__file__).parents[3] / "shared" / "data" / "esnli"
HEADER = "unique_key\tlabel\tpremise\thypothesis\texplanation1\texplanation2\texplanation3"
RELATED = "a man in a red hat runs over the bridge"  # the test premise


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(lines).encode()))


def dev(image: int) -> list[str]:
    """Two pairs about one image."""
    about = f"picture {image} shows a dog ."
    return [
        f"{image}.jpg#0r1e\tentailment\t{about}\tan animal {image} .\tA dog is an animal .\tDogs are .\tYes .",
        f"{image}.jpg#0r1c\tcontradiction\t{about}\ta cat {image} .\tA dog is no cat .\t\t",
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "esnli"
    write(path / DEV, HEADER, *(line for image in range(10) for line in dev(image)))
    write(
        path / TEST, HEADER, f"99.jpg#1r1n\tneutral\t{RELATED} .\tHe is late .\tHe may like it .\tWho knows .\tMaybe ."
    )
    return path


def texts(part: tuple[Example, ...]) -> set[str]:
    return {pair.text for pair in part}


@pytest.mark.parametrize("seed", range(4))
def test_no_image_is_in_two_parts(folder: Path, seed: int) -> None:
    parts = read_esnli(folder, validation=4, seed=seed)
    assert (len(parts.train), len(parts.validation), len(parts.test)) == (16, 4, 1)  # two pairs an image
    assert not texts(parts.train) & texts(parts.validation)
    assert len(texts(parts.validation)) == 2


def test_another_seed_holds_out_other_images_and_the_same_seed_the_same(folder: Path) -> None:
    result = [texts(read_esnli(folder, validation=4, seed=seed).validation) for seed in (0, 0, 1, 2, 3)]
    assert result[0] == result[1]
    assert any(part != result[0] for part in result[2:])


def test_a_pair_comes_with_its_label_and_all_explanations(folder: Path) -> None:
    pairs = {pair.pair: pair for pair in read_esnli(folder, validation=0).train}
    assert pairs["an animal 3."] == Example(
        "picture 3 shows a dog.", "an animal 3.", 0, ("A dog is an animal.", "Dogs are.", "Yes.")
    )
    assert pairs["a cat 3."].explanations == ("A dog is no cat.",)  # the other cells are empty
    assert pairs["a cat 3."].label == LABELS.index("contradiction")


@pytest.mark.parametrize(
    ("premise", "taken"),
    [
        (RELATED, False),
        ("A man in a red hat runs, over the bridge!", False),  # another tokenisation of it
        ("we see a red hat runs over the bridge here", False),  # seven in a row: a red hat runs over the bridge
        ("we see red hat runs over the bridge here", True),  # six
        ("bridge the over runs hat red a in man a", True),
    ],
)
def test_revised_pairs_related_to_a_test_premise_are_left_out(folder: Path, premise: str, taken: bool) -> None:
    write(folder.parent / REVISED[0], "sentence1\tsentence2\tgold_label", f"{premise}\tsomething\tneutral")
    assert (premise in texts(read_esnli(folder, validation=0).train)) == taken


def test_of_the_revised_pairs_the_test_part_is_not_read(folder: Path) -> None:
    for name in (*REVISED, "cad_nli/test.tsv.gz"):
        write(folder.parent / name, "sentence1\tsentence2\tgold_label", f"{name}\tx\tneutral")
    assert {text for text in texts(read_esnli(folder, validation=0).train) if "cad" in text} == set(REVISED)


def images(folder: Path, *lines: str) -> None:
    write(folder.parent / ESNLIVE[0], "pairID,Flickr30kID,hypothesis,gold_label,explanation", *lines)


def test_pairs_of_images_are_new_and_of_training_images_only(folder: Path) -> None:
    held_out = {text.split()[1] for text in texts(read_esnli(folder, validation=4).validation)}
    every = [f'p,{number}.jpg,"A wolf, {number}.",neutral,Who knows .' for number in (*range(10), 99)]
    images(folder, *every, "p,0.jpg,An animal 0,entailment,It is known", "p,1.jpg,No label,,why")
    result = read_esnli(folder, validation=4).explainer
    assert {pair.pair for pair in result} == {f"A wolf, {n}." for n in range(10) if str(n) not in held_out}
    assert all(pair.explanations == ("Who knows.",) for pair in result)


def test_a_pair_of_an_image_without_an_explanation_has_none(folder: Path) -> None:
    images(folder, "p,0.jpg,A wolf,neutral,")
    (pair,) = read_esnli(folder, validation=0).explainer
    assert pair == Example("picture 0 shows a dog.", "A wolf", 1, ())


def test_no_sentence_about_a_test_image_warms_the_language_model_up(folder: Path) -> None:
    images(folder, "p,99.jpg,Of the test,neutral,And why", "p,98.jpg,A wolf .,neutral,Who knows", "p,97.jpg,B,neutral,")
    assert list(image_sentences(folder)) == ["A wolf.", "Who knows", "B"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Two dogs , a cat .", "Two dogs, a cat."),
        ("They do n't run ; it 's hot !", "They don't run; it's hot!"),
        ("`` Yes '' , we 're here ( now ) .", '" Yes ", we\'re here (now).'),
        ("-LRB- late -RRB- ?", "(late)?"),
        (" as people write ", "as people write"),
    ],
)
def test_marks_stand_where_people_put_them(text: str, expected: str) -> None:
    assert detokenised(text) == expected


@pytest.mark.parametrize("name", [DEV, TEST])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(DataUnavailable, match=rf"holds no {name}"):
        read_esnli(folder)


def test_without_a_folder_there_is_a_sentence() -> None:
    with pytest.raises(DataUnavailable, match=r"needs a folder that holds dev\.tsv\.gz and test_a\.tsv\.gz"):
        read_esnli(None)


@pytest.mark.parametrize(
    "row",
    ["1.jpg#0\tmaybe\ta\tb", "1.jpg#0\tneutral\t\tb", "1.jpg#0\tneutral\ta\t", "1.jpg#0", "1.jpg#0\t-\ta\tb"],
)
def test_a_row_that_is_wrong_is_named_by_its_line(folder: Path, row: str) -> None:
    write(folder / DEV, HEADER, *dev(0), row)
    with pytest.raises(DataUnavailable, match=r"dev\.tsv\.gz, line 4: expected premise, hypothesis and label \(entail"):
        read_esnli(folder)


@pytest.mark.parametrize("key", ["", "1.jpg", "#0r1n"])
def test_a_pair_without_an_image_is_named_by_its_line(folder: Path, key: str) -> None:
    write(folder / DEV, HEADER, *dev(0), f"{key}\tneutral\ta\tb")
    with pytest.raises(DataUnavailable, match=r"line 4: expected a unique_key such as 12\.jpg#0r1n"):
        read_esnli(folder)


needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason="the data are not here")


@pytest.mark.slow
@needs_data
def test_the_published_files_make_disjoint_parts() -> None:
    parts = read_esnli(SHARED)
    train, validation, test = (
        {letters(text) for text in texts(part)} for part in (parts.train, parts.validation, parts.test)
    )
    assert (len(parts.validation), len(parts.test)) == (500, 4900)
    assert train & test == {"adogcatchingafrisbee"}  # a caption of two images, in the authors' dev and test files
    assert not validation & test
    assert not texts(parts.explainer) & texts(parts.test)
    assert not {letters(pair.text) for pair in parts.train if pair.explanations} & validation
    assert all(len(pair.explanations) == 3 for pair in parts.test)


@needs_data
def test_labels_are_as_frequent_as_in_the_file() -> None:
    pairs = [pair for _, pair in text_sets.explained_pairs(SHARED / TEST)]
    assert [sum(pair.label == label for pair in pairs) for label in range(3)] == [
        1692,
        1579,
        1629,
    ]  # as cut and uniq count them
