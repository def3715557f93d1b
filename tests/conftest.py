"""Settings that all tests share."""

from hypothesis import HealthCheck, settings

# No test is judged by a clock: machines that run the tests are not equally fast.
settings.register_profile(
    "unspiral", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unspiral")
