"""lit's configuration for the GoogleTest programs: each GoogleTest counts as one lit test."""
import lit.formats

config.name = "gradc-unit"
config.test_format = lit.formats.GoogleTest(".", "-test")
config.test_source_root = config.test_exec_root = config.programs
if config.sanitized:
    # libMLIR is not instrumented, so the bookkeeping of containers passed to it is incomplete.
    config.environment["ASAN_OPTIONS"] = "detect_container_overflow=0:detect_leaks=0:allow_user_poisoning=0"
    config.environment["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1"
