"""From options to cells: everything registered, every row of the ablations, clear refusals."""

from typing import Any

import pytest

from benchmarks.protocol.ablation import TABLES
from benchmarks.protocol.cells import AUTO
from benchmarks.protocol.plan import Asked, PlanError, plan_ablation, plan_methods, plan_trust
from model.backbones.registry import BACKBONES
from model.config import config_hash
from model.methods import METHODS
from model.options.crcl import CRCLConfig


def asked(backbones: str = "head", seeds: str = "0", **settings: Any) -> Asked:
    return Asked(backbones, seeds, settings, is_quick=True)


class TestPlanMethods:
    def test_all_is_every_registered_method(self) -> None:
        cells = plan_methods("all", "0.2", asked()).cells
        assert [cell.config.method for cell in cells] == list(METHODS)

    def test_methods_backbones_noise_and_seeds_are_crossed(self) -> None:
        cells = plan_methods("ncr,crcl", "0.2,0.4", asked(seeds="3,1"), is_hard=True).cells
        assert [(cell.config.method, cell.noise, cell.config.seed) for cell in cells] == [
            (method, noise, seed) for method in ("ncr", "crcl") for noise in (0.2, 0.4) for seed in (3, 1)
        ]
        assert all(cell.is_hard and cell.is_quick for cell in cells)

    def test_settings_reach_the_run(self) -> None:
        (cell,) = plan_methods("crcl", "0.2", asked(networks=1, method_options={"momentum": 0.5})).cells
        assert cell.config.networks == 1
        assert isinstance(cell.config.method_options, CRCLConfig)
        assert cell.config.method_options.momentum == 0.5

    def test_all_leaves_out_what_does_not_fit_together_and_says_so(self) -> None:
        plan = plan_methods("all", "0.2", asked("all"))
        assert len(plan.cells) + len(plan.left_out) == len(METHODS) * len(BACKBONES)
        for text in plan.left_out:
            assert text.split(" with ")[0] in METHODS

    def test_all_of_trust_is_a_whole_run_and_every_single_method(self) -> None:
        cells = plan_trust("all", "0.2", "0.4", asked()).cells
        named = [(cell.config.method, cell.is_hard) for cell in cells]
        assert named == [(method, is_hard) for is_hard in (False, True) for method in (AUTO, *METHODS)]

    @pytest.mark.parametrize(
        ("option", "changes"),
        [
            ("--methods", {"methods": "crcl,nonsense"}),
            ("--noise", {"noise": "0.2,1"}),
            ("--noise", {"noise": "much"}),
            ("--noise", {"noise": "nan"}),
            ("--seeds", {"asked": asked(seeds="-1")}),
            ("--seeds", {"asked": asked(seeds="")}),
            ("--backbones", {"asked": asked("nonsense")}),
            ("--set", {"asked": asked(method_options={"nonsense": 1})}),
            ("--set", {"asked": asked(seed=1)}),
        ],
    )
    def test_wrong_use_names_the_option(self, option: str, changes: dict[str, Any]) -> None:
        with pytest.raises(PlanError) as caught:
            plan_methods(**{"methods": "crcl", "noise": "0.2", "asked": asked(), **changes})
        assert caught.value.option == option


class TestPlanAblation:
    def test_every_row_of_every_table_is_there_with_its_noise(self) -> None:
        plan = plan_ablation("all", None, asked(seeds="0,1"))
        expected = [
            (name, variant.name, noise, seed)
            for name, table in TABLES.items()
            for variant in table.variants
            for noise in table.noise
            for seed in (0, 1)
        ]
        found = [(*label, cell.noise, cell.config.seed) for label, cell in zip(plan.labels, plan.cells, strict=True)]
        assert found == expected

    @pytest.mark.parametrize("name", TABLES)
    def test_every_row_is_another_run(self, name: str) -> None:
        cells = plan_ablation(name, "0.2", asked()).cells
        assert len({config_hash(cell.config) for cell in cells}) == len(TABLES[name].variants)

    def test_without_refinement_as_many_epochs_are_trained(self) -> None:
        full, *_, last = (cell.config.method_options for cell in plan_ablation("crcl4", None, asked()).cells)
        assert isinstance(full, CRCLConfig)
        assert isinstance(last, CRCLConfig)
        epochs = [sum(each.piece_epochs) + len(each.piece_epochs) * each.freeze_epochs for each in (full, last)]
        assert epochs[0] == epochs[1]

    def test_unknown_table_is_refused(self) -> None:
        with pytest.raises(PlanError, match="--tables"):
            plan_ablation("lnc1", None, asked())
