"""How far steps have come, and how long they still take."""

import pytest

from understudy.privacy.steps_told import StepsTold, worth_telling
from understudy.progress import TimeLeft, told_steps


def test_a_tenth_after_the_other_is_told_of_many_steps():
    assert [step for step in range(100) if worth_telling(step, 100)] == [*range(10, 100, 10)]
    assert not any(worth_telling(step, 30) for step in range(30))


def test_time_left_follows_from_the_steps_before():
    times = iter([100.0, 110.0, 111.0, 400.0, 401.0, 401.2])
    left = TimeLeft(lambda: next(times))
    said = [left.told(StepsTold("Training", done, 100)) for done in (10, 20, 90, 10, 20, 99)]
    assert said[0] == "Training: 10 of 100 steps"
    assert said[1] == "Training: 20 of 100 steps, about 80 s left"
    assert said[2] == "Training: 90 of 100 steps, about 1 s left"
    assert said[3] == "Training: 10 of 100 steps"  # another run
    assert said[4].endswith("about 8 s left")
    assert said[5] == "Training: 99 of 100 steps"


@pytest.mark.parametrize("seconds", [90, 3000])
def test_long_times_are_told_in_minutes(seconds):
    times = iter([0.0, float(seconds)])
    left = TimeLeft(lambda: next(times))
    left.told(StepsTold("Training", 10, 30))
    assert f"about {round(seconds / 60)} min left" in left.told(StepsTold("Training", 20, 30))


def test_no_time_gets_into_what_is_written_down(capsys):
    with told_steps() as tell:
        for done in range(10, 100, 10):
            tell(StepsTold("Training", done, 100))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Training: 10 of 100 steps …"
    assert not any("left" in line for line in lines)
