"""Shared by end-to-end cases: a scratch folder, an assertion that ends the case, and a session of the C interface.

Import it before `bar`: it puts that module's folder on the path.
"""
import ctypes
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bars"))
from bar import scratch

folder = scratch()


def path(name):
    """The path of a file in the scratch folder."""
    return os.path.join(folder, name)


def expect(what, holds):
    if not holds:
        sys.exit("WRONG: " + what)


class Session:
    """A session of a model that was compiled with --emit=so, through the C interface."""

    class Options(ctypes.Structure):
        _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_int32), ("level", ctypes.c_char_p)]

    def __init__(self, library, threads=0):
        self.lib = ctypes.CDLL(library)
        self.lib.gradc_last_error.restype = ctypes.c_char_p
        self.lib.gradc_session_level.restype = ctypes.c_char_p
        self.model, self.session = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("open", None, ctypes.byref(self.model))
        options = self.Options(ctypes.sizeof(self.Options), threads, None)
        self.call("session_create", self.model, ctypes.byref(options), ctypes.byref(self.session))

    def call(self, name, *arguments, fails=False):
        """Calls gradc_NAME, which must succeed or fail as expected; returns its message."""
        status = getattr(self.lib, "gradc_" + name)(*arguments)
        message = self.lib.gradc_last_error().decode()
        expect(f"{name}: status {status}: {message}", bool(status) == fails)
        return message

    def entry(self, name):
        number = ctypes.c_uint32()
        self.call("entry_find", self.session, name.encode(), ctypes.byref(number))
        return number
