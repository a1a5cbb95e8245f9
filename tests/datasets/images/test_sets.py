import json
import subprocess
import sys
from pathlib import Path

import pytest

from explainers.datasets.images.sets import SETS, ImageSet, image_set
from explainers.errors import DataUnavailable

ROOT = Path(__file__).parents[3]
ANNOTATIONS = {
    "esnlive": "Flickr30kID,hypothesis,gold_label,explanation\nimg/1.jpg,A dog,entailment,It barks\n",
    "hateful_memes": '{"id": 1, "img": "img/1.jpg", "label": 0, "text": "A dog"}\n',
    "vqa_x": json.dumps(
        {"1": {"question": "A dog", "answers": [{"answer": "yes"}], "image_name": "img/1.jpg", "explanation": ["why"]}}
    ),
    "table": "image,text,label\nimg/1.jpg,A dog,no\n",
}


def test_every_set_has_a_name_of_its_own_and_says_what_it_is() -> None:
    assert [data_set.name for data_set in SETS] == ["esnlive", "hateful_memes", "vqa_x", "table"]
    for data_set in SETS:
        assert all((data_set.title, data_set.about, data_set.source, data_set.licence, data_set.images))
        assert len(data_set.input_names) == 1


@pytest.mark.parametrize("chosen", SETS, ids=lambda chosen: chosen.name)
def test_every_set_is_read_the_same_way(tmp_path: Path, chosen: ImageSet) -> None:
    (tmp_path / "img").mkdir()
    (tmp_path / "img" / "1.jpg").touch()
    annotations = tmp_path / "annotations.csv"
    annotations.write_text(ANNOTATIONS[chosen.name])
    result = chosen.read(annotations, tmp_path, chosen.classes(annotations))
    (example,) = result.examples
    assert (example.text, example.label) == ("A dog", 0)
    assert example.image is not None
    assert example.image.path == tmp_path / "img" / "1.jpg"
    assert result.labels == chosen.classes(annotations)


def test_a_set_is_found_by_its_name() -> None:
    assert image_set("vqa_x") is SETS[2]
    with pytest.raises(
        DataUnavailable,
        match=r"The image set 'vqa' is not available\. Choose one of: esnlive, hateful_memes, vqa_x, table",
    ):
        image_set("vqa")


def test_the_names_can_be_listed_without_torch() -> None:
    code = "import sys, explainers.datasets.images.sets; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
