"""Which kinds of evidence count, which leads, and whether they are fitted: by the number of matches and near probes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from model.fusion import LEAD, Fusion, Leader, Table, cross_fitted, fit, presumed, standardised
from model.kinds import Kinds
from model.linear_maps import NAMES as CORRELATIONS

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Columns = Mapping[str, npt.NDArray[np.float32]]  # the kinds of evidence by name, each high where a pair matches

JOINT = "encoder similarity"
# How much more than all other evidence the similarity of a joint encoder counts before the fit. Simulated (500 and
# 1,000 pairs, 40 to 90 % mismatched, encoders of .82 to .99 AUROC, seeds 11 to 13): with 3, as much as linear maps do,
# a run is up to .006 behind its encoder, with 8 up to .0013, with 20 up to .0008; and ahead by up to .007, .003, .001.
JOINT_LEAD = 8.0
_LEARNED = ("correspondence", "mean probability", "probability a", "probability b")
_BEST_FOR_NEAR = (*_LEARNED, CORRELATIONS[1], JOINT)
# Near probes for each kind of evidence, below which only the best evidence of near misses is used, and not fitted.
# Flickr8k, 40 % near misses, 6,000 pairs and 150 near probes, seeds 10 and 11, AUROC: all evidence .714 and .773, only
# the best .769 and .791, without a fit .775 and .799. Those were the odds and the last probabilities; with what was
# learned before it could be memorised, and half the dropout, .793 and .809 instead of .789 and .805.
_PROBES_EACH = 20
# Linear maps need matches to learn from; where these are fewer, neighbours lead along with them. They have the largest
# share of the lead where there are hardly any, and linearly less up to there. Flickr8k, evidence of whole runs, seeds
# 13, 14 and from 20 on, AUROC with maps leading, both alike, neighbours leading: 100 matches (500 pairs, 80 %; 1,000,
# 90 %) .745, .770, .778; .693, .710, .714; 200 (500, 60 %; 1,000, 80 %) .884, .899, .897; .860, .874, .873; 400 (500,
# 20 %; 2,000, 80 %) .940, .938, .934; .924, .926, .916; 600 (1,000, 40 %; 3,000, 80 %) .953, .951, .944; .941, .937,
# .924.
_HARDLY_ANY, _ENOUGH, _LARGEST_SHARE = 100, 600, 0.75
TOGETHER = "correlation and neighbours"


@dataclass(frozen=True)
class Used:
    names: list[str]
    leader: Leader | None
    neighbours: list[str]
    share: float  # of the lead that neighbours have beside linear maps
    is_signed: bool  # whether evidence may speak against itself
    is_doubtful: bool  # whether probes are too few for a fit, and even the lowest may score like matches

    def table(self, found: Columns, is_probe: Bools) -> Table:
        table = standardised((found[name] for name in self.names if name != TOGETHER), is_probe)
        if not self.share:
            return table
        said = table[:, [self.names.index(name) for name in self.neighbours]].mean(axis=1)
        maps, said = table[:, self.names.index(CORRELATIONS[0])], standardised([said], is_probe)[:, 0]
        return np.hstack([table, standardised([(1 - self.share) * maps + self.share * said], is_probe)])

    def fit(self, table: Table, is_probe: Bools, counted: Floats, anchors: npt.NDArray[np.int8]) -> Fusion:
        if self.is_doubtful:
            return presumed(table, is_probe, counted, self.leader)
        return fit(table, is_probe, counted, anchors, is_signed=self.is_signed, leader=self.leader)

    def scored(
        self, table: Table, is_probe: Bools, counted: Floats, anchors: npt.NDArray[np.int8], seed: int
    ) -> tuple[Floats, list[Fusion]]:
        """Every pair by a fit that did not see it."""
        if self.is_doubtful:
            found = self.fit(table, is_probe, counted, anchors)
            return found.score(table), [found]
        return cross_fitted(table, is_probe, counted, anchors, seed, is_signed=self.is_signed, leader=self.leader)


def used_of(names: Sequence[str], neighbours: list[str], kinds: Kinds, near_probes: int, matches: float) -> Used:
    """Near misses hide in what evidence has in common with that of matches: many probes find out what speaks against
    it, few only learn chance."""
    has_few = kinds.has_near and near_probes < _PROBES_EACH * len(names)
    chosen = [name for name in names if not has_few or name in _BEST_FOR_NEAR]
    # What leads, and only many probes may overrule: an encoder that was trained on both sides, for it has seen far more
    # pairs than a small collection has; else the correlation, which follows and has memorised least.
    leads, times, share = CORRELATIONS[0], LEAD, 0.0
    if JOINT in names:
        leads, times = JOINT, JOINT_LEAD
    elif not has_few and (share := share_of_neighbours(matches)):
        leads = TOGETHER
        chosen.append(leads)
    leader = Leader(chosen.index(leads), times) if leads in chosen else None
    return Used(chosen, leader, neighbours, share, kinds.has_near and not has_few, has_few)


def share_of_neighbours(matches: float) -> float:
    return float(np.clip((_ENOUGH - matches) / (_ENOUGH - _HARDLY_ANY), 0.0, _LARGEST_SHARE))
