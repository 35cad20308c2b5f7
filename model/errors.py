"""The one error of the learning core that users are meant to read."""


class TrainingError(Exception):
    """Training cannot start or go on; the message says why and what to try."""
