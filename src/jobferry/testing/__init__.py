"""What tests of Jobferry use, and tests of users too: real control planes, a fake kubelet, a clock.

Belongs here: real parts that can be started in seconds, and fakes behind the protocols of the
product. Does not: mocks.
"""
