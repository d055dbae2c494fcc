"""Own wording: read from a folder or a mapping, checked, part of the key and of what travels to executors."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from rageval_spark.commands.prompts import export
from rageval_spark.config import load, parse, planned
from rageval_spark.engine.desk import Desk
from rageval_spark.engine.plan import Plan
from rageval_spark.engine.window import Window
from rageval_spark.errors import ConfigError
from rageval_spark.judges.settings import HttpJudge
from rageval_spark.prompts.claims import VerifyClaims
from rageval_spark.prompts.kinds import KINDS, wording_version
from rageval_spark.prompts.own import builtin, wording_of
from rageval_spark.prompts.refusal import DetectRefusal
from rageval_spark.report.manifest import Manifest
from tests.test_commands import rageval

OWN = "Is each of the claims in {premise}? {with_question}{reasons}Give one verdict for each id."
CONFIG = "judge: {model: m, base_url: 'http://x/v1'}\nevaluate: [{metrics: [faithfulness]}]\n"
VERIFY = VerifyClaims(((1, "a"),), ((1, "b"),))


def judge(prompts: Any = None, **settings: Any) -> HttpJudge:
    return HttpJudge(model="judge", base_url="http://127.0.0.1:1/v1", prompts=prompts or {}, **settings)


def config(prompts: Any, **more: Any) -> dict[str, Any]:
    return {"judge": {"model": "judge", "base_url": "http://127.0.0.1:1/v1", "prompts": prompts, **more},
            "evaluate": [{"metrics": ["faithfulness"]}]}


def folder_with(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name.replace('__', '.')}.txt").write_text(text, encoding="utf-8")
    return folder


def desk(plan: Plan, kind: str) -> Desk:
    endpoint = plan.groups[0].uses[0].endpoint(kind)
    assert endpoint is not None
    return Desk(endpoint, plan, Window(1))


def test_a_folder_takes_the_place_of_what_it_names(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "mine", verify_claims__en=OWN + "\n")
    plan = planned(parse(config(str(folder))))
    (folder / "verify_claims.en.txt").unlink()  # tasks get the text, not the path
    plan = pickle.loads(pickle.dumps(plan))
    rendering = desk(plan, "verify_claims").rendering
    assert rendering.render(VERIFY, "en").instruction.startswith("Is each of the claims in contexts? ")
    plain = desk(planned(parse(config({}))), "verify_claims").rendering
    assert rendering.render(VERIFY, "en").key != plain.render(VERIFY, "en").key
    assert rendering.render(VERIFY, "zh") == plain.render(VERIFY, "zh")
    assert rendering.render(DetectRefusal("Q?", "A."), "en") == plain.render(DetectRefusal("Q?", "A."), "en")


def test_what_is_exported_is_the_same_wording_under_the_same_keys(tmp_path: Path) -> None:
    export(tmp_path / "all")
    read = wording_of(tmp_path / "all")
    assert read == {kind: dict(prompt.wording) for kind, prompt in KINDS.items()}
    assert sum(map(len, read.values())) == len(list(builtin()))
    with pytest.raises(ConfigError, match="is there already"):
        export(tmp_path / "all")


def test_python_takes_a_mapping_or_a_folder(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "mine", verify_claims__en=OWN)
    own = {"verify_claims": {"en": OWN}}
    assert judge(folder) == judge(str(folder)) == judge(own)
    assert judge(own).wording == own
    assert judge(own).altered({"model": "other"}).wording == own
    assert hash(judge(own)) != hash(judge())
    assert judge(own).signature() == judge().signature()


def test_one_kind_or_one_metric_may_have_its_own(tmp_path: Path) -> None:
    folder = str(folder_with(tmp_path / "mine", verify_claims__en=OWN))
    by_kind = planned(parse(config({}, kinds={"verify_claims": {"prompts": folder}})))
    values = config({})
    values["evaluate"][0]["metrics"] = [{"faithfulness": {"judge": {"prompts": folder}}}]
    by_metric = planned(parse(values))
    (tmp_path / "mine" / "verify_claims.en.txt").unlink()
    for plan in (by_kind, by_metric):
        assert desk(plan, "verify_claims").rendering.render(VERIFY, "en").instruction.startswith("Is each of the claims")


@pytest.mark.parametrize(("file", "text", "says"), [
    ("verify_claim.en.txt", OWN, ["verify_claim.en.txt", "'verify_claim'", "verify_claims"]),
    ("verify_claims.de.txt", OWN, ["verify_claims.de.txt", "'de'", "en, zh"]),
    ("verify_claims.en.txt", OWN.replace("{reasons}", ""), ["verify_claims.en.txt", "lacks {reasons}", "{premise}, {reasons}"]),
    ("verify_claims.en.txt", OWN + "{target}", ["verify_claims.en.txt", "no {target} to fill in", "{premise}"]),
    ("verify_claims.zh.txt", OWN.replace("{reasons}", "{reason}"), ["verify_claims.zh.txt", "lacks {reasons}", "no {reason} to"]),
    ("detect_refusal.en.txt", "{x}", ["detect_refusal.en.txt", "no {x} to fill in", "no places"]),
    ("detect_refusal.en.txt", "\n", ["detect_refusal.en.txt is blank", "rageval prompts show detect_refusal"]),
    ("verify_claims.txt", OWN, ["verify_claims.txt", "<kind>.<language>.txt"]),
    ("verify_claims.en.md", OWN, ["verify_claims.en.md", "<kind>.<language>.txt"]),
])  # fmt: skip
def test_a_mistake_names_the_file_and_what_is_possible(tmp_path: Path, file: str, text: str, says: list[str]) -> None:
    (tmp_path / file).write_text(text, encoding="utf-8")
    values = config({})
    values["evaluate"][0]["metrics"] = [{"faithfulness": {"judge": {"prompts": str(tmp_path)}}}]
    for wrong in (config(str(tmp_path)), config({}, kinds={"list_claims": {"prompts": str(tmp_path)}}), values):
        with pytest.raises(ConfigError) as error:
            planned(parse(wrong))
        for word in ("judge", *says):
            assert word in str(error.value)


@pytest.mark.parametrize(("prompts", "says"), [
    ("nowhere", ["no folder nowhere", "rageval prompts export"]),
    (5, ["takes a folder"]),
    ({"verify_claims": OWN}, ["verify_claims holds texts by language"]),
    ({"verify_claims": {"en": 5}}, ["verify_claims.en is blank"]),
    ({"verify_claims": {"en": "x"}}, ["verify_claims.en: it lacks {premise}, {reasons}, {with_question}"]),
])  # fmt: skip
def test_other_mistakes(prompts: Any, says: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        parse(config(prompts))
    for word in ("judge.prompts", *says):
        assert word in str(error.value)


def test_hidden_files_are_left_alone_and_an_empty_folder_is_not(tmp_path: Path) -> None:
    (tmp_path / ".DS_Store").write_bytes(b"\x00")
    with pytest.raises(ConfigError, match="is empty"):
        parse(config(str(tmp_path)))
    folder_with(tmp_path, verify_claims__en="\ufeff" + OWN)
    assert wording_of(tmp_path) == {"verify_claims": {"en": OWN}}


def test_the_manifest_has_another_version_of_the_wording(tmp_path: Path) -> None:
    from rageval_spark.engine.files import Folder

    versions = []
    for number, prompts in enumerate(({}, {"verify_claims": {"en": OWN}}, {"verify_claims": {"en": OWN + " "}})):
        folder = Folder(str(tmp_path / str(number)))
        of = parse(config(prompts))
        Manifest(folder, planned(of), run_id="r", name="n", rows=1, slices=(), config=of.public()).begin()
        versions.append(folder.read_json("manifest.json")["wording"])
    assert versions[0] == wording_version()
    assert len(set(versions)) == 3


def test_the_commands(tmp_path: Path) -> None:
    done = rageval("prompts", "export", "mine", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {file.name for file in (tmp_path / "mine").iterdir()} == {f"{kind}.{language}.txt" for kind, language, _ in builtin()}
    (tmp_path / "mine" / "verify_claims.en.txt").write_text(OWN)
    (tmp_path / "c.yaml").write_text(CONFIG.replace("v1'", "v1', prompts: mine"))
    one = rageval("prompts", "show", "verify_claims", "--language", "en", "--judge-config", "c.yaml", cwd=tmp_path)
    assert one.stdout == OWN + "\n"
    plain = rageval("prompts", "show", "verify_claims", "--language", "en")
    assert plain.stdout == KINDS["verify_claims"].wording["en"] + "\n"
    every = rageval("prompts", "show").stdout
    assert all(f"--- {kind}.{language} ---\n{text}" in every for kind, language, text in builtin())
    wrong = rageval("prompts", "show", "verify_claim")
    assert (wrong.returncode, "verify_claims" in wrong.stderr) == (2, True)
    assert rageval("prompts", "show", "--language", "de").returncode == 2
    assert rageval("prompts", "export", "mine", cwd=tmp_path).returncode == 2


def test_a_relative_folder_is_sought_where_the_data_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conf").mkdir()
    folder_with(tmp_path / "mine", verify_claims__en=OWN)
    (tmp_path / "conf" / "c.yaml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    loaded = load("conf/c.yaml", ["judge.prompts=mine"])
    assert isinstance(loaded.judge, HttpJudge)
    assert loaded.judge.wording == {"verify_claims": {"en": OWN}}
