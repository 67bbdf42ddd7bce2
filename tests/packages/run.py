"""Runs the tests of the packages: all, or those whose name contains one of the given words."""

import sys
import time
import unittest

import building
import container
import installations
import launcher


class Result(unittest.TestResult):
    """Prints one line for each test when it ends."""

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()

    def line(self, test, outcome):
        print(f"test {test._testMethodName} ... {outcome} ({time.monotonic() - self.started:.1f} s)", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.line(test, "ok")

    def addError(self, test, err):
        super().addError(test, err)
        self.line(test, "FAILED")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.line(test, "FAILED")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line(test, f"skipped: {reason}")


def main(words):
    """Runs the tests and returns the exit code."""
    loader = unittest.TestLoader()
    loader.testMethodPrefix = "r_"
    suite = unittest.TestSuite(loader.loadTestsFromModule(module) for module in (building, launcher, installations, container))
    result = Result()
    for test in every_test(suite):
        if not words or any(word in test._testMethodName for word in words):
            test.run(result)
    for test, trace in result.failures + result.errors:
        print(f"\n{test}\n{trace}")
    failed = len({test for test, _ in result.failures + result.errors})
    passed = result.testsRun - failed - len(result.skipped)
    print(f"packages: {passed} passed, {failed} failed, {len(result.skipped)} skipped")
    return 1 if failed or not passed else 0


def every_test(suite):
    """The tests of nested suites."""
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from every_test(part)
        else:
            yield part


sys.exit(main(sys.argv[1:]))
