"""What the score endpoint does: a run that judges a collection with the networks of another run, without training."""

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, PlainSerializer
from sqlalchemy.orm import Session

from model.config import parse_run_config
from service import lenders, queries, schemas, views
from service.db import submissions
from service.db.fit import brings_features, chosen_encoder, misfit
from service.db.states import CollectionState
from service.db.tables import ApiKey, Collection, Run
from service.problems import Problem, conflict, unusable


class ScoreCreate(schemas.Request):
    # As text, because an Idempotency-Key is remembered with the JSON of the body.
    collection: Annotated[UUID, PlainSerializer(str, return_type=str)] = Field(
        description="The collection of new pairs; its file may still be being read."
    )


def score_with(session: Session, key: ApiKey, run_id: UUID, body: ScoreCreate) -> UUID:
    """A new run on the collection, by the networks of run `run_id`; few pairs by its calibration too."""
    model = queries.get_owned(session, Run, run_id, key.workspace_id)
    collection = queries.get_owned(session, Collection, body.collection, key.workspace_id, lock=True)
    if problem := lenders.refusal(views.run_view(model, queries.stages(session, model.id))):
        raise problem
    if collection.state in (CollectionState.EMPTY, CollectionState.FAILED):
        detail = (
            f"The collection is '{collection.state}'; upload a file first: PUT /v1/collections/{collection.id}/file."
        )
        raise conflict("collection_not_ready", "There is nothing to score", detail)
    learned = session.get_one(Collection, model.collection_id)
    config = _same_encoder(model, learned)
    is_ready = collection.state == CollectionState.READY
    if is_ready and (problem := _unlike(collection, learned, config)):
        raise problem
    run = Run(workspace_id=key.workspace_id, collection_id=collection.id, config=config, model_run_id=model.id)
    session.add(run)
    session.flush()
    submissions.submit_run(session, run, is_ready=is_ready)
    return run.id


def _same_encoder(model: Run, learned: Collection) -> dict[str, Any]:
    """Its configuration, with the encoder that `auto` stood for there: here it might be another one."""
    return model.config | {"encoder": chosen_encoder(learned, parse_run_config(model.config))}


def _unlike(collection: Collection, learned: Collection, config: dict[str, Any]) -> Problem | None:
    """What keeps the networks from reading the new pairs."""
    if missing := misfit(collection, parse_run_config(config), learns=False):
        return unusable(missing.code, missing.title, missing.detail)
    if not brings_features(collection):
        return None
    new, known = _sizes(collection), _sizes(learned)
    if new == known:
        return None
    detail = f"The run learned from features of {known}, the collection brings {new}; encode it as the other one was."
    return unusable("features_do_not_fit", "The features have another shape", detail)


def _sizes(collection: Collection) -> str:
    """images 36 x 2048 and captions 384, as the upload brings them."""
    sides = (collection.format or {}).get("features", {})
    return " and ".join(f"{name} {' x '.join(map(str, side['shape'][1:]))}" for name, side in sorted(sides.items()))
