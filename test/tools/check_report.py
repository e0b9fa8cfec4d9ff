"""Compares a report's page, and its files for TensorBoard, with the logs that they are made from.

    check_report.py PAGE LOG... [--events FOLDER] [--points CURVE]
"""
import argparse
import json
import math
import os
import struct
import sys
from html.parser import HTMLParser

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from onnx_writer import fields

PLACES = {"event", "step", "epoch", "epoch_step", "epoch_steps"}
VOID = {"meta", "br"}
OPTIONAL = {"td", "th", "tr"}  # may be left open, as the table around them ends them


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.curves, self.axes, self.open, self.faults = [], {}, [], []
        self.cells, self.kernels, self.addresses, self.svgs = 0, 0, [], 0

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        classes = attributes.get("class", "").split()
        self.addresses += [value for name, value in attributes.items() if name in ("src", "href")]
        self.svgs += tag == "svg"
        if tag == "svg" and "data-x" in attributes:
            self.axis = [float(number) for number in attributes["data-x"].split(",")]
        if "curve" in classes:
            self.curves.append((int(attributes["data-run"]), attributes["data-name"], read(attributes["data-points"]),
                                read(attributes["points"]), self.axis))
        self.cells += tag == "td" and "matrix" in self.open
        self.kernels += tag == "tr" and "kernels" in self.open
        if tag not in VOID:
            self.open.append(classes[0] if classes and tag in ("figure", "table") else tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        while self.open and self.open[-1] in OPTIONAL and tag not in OPTIONAL:
            self.open.pop()
        while self.open and tag in OPTIONAL and self.open[-1] in OPTIONAL and self.open[-1] != tag:
            self.open.pop()
        if not self.open or (self.open.pop() != tag and tag not in ("figure", "table")):
            self.faults.append(f"line {self.getpos()[0]}: </{tag}> ends nothing")


def read(points):
    return [tuple(map(float, point.split(","))) for point in points.split()]


def read_log(path):
    """The curves of a log, read independently of gradc."""
    curves = {}
    with open(path) as file:
        for line in file:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if event["event"] == "resume":
                for curve in curves.values():
                    curve[:] = [point for point in curve if point[0] <= event["step"]]
            if event["event"] not in ("step", "eval"):
                continue
            prefix = "evaluation " if event["event"] == "eval" else ""
            for name, value in event.items():
                if name not in PLACES and isinstance(value, (int, float)):
                    curves.setdefault(prefix + name, []).append((event["step"], float(value)))
    return curves


def check_drawn(name, logged, shown, faults):
    """All points, or for many points the first, the last, and the extremes, in order."""
    if len(logged) <= 1200:
        if shown != logged:
            faults.append(f"{name}: shows other points than the log has")
        return
    values = [value for _, value in logged]
    if not set(shown) <= set(logged) or shown != sorted(shown) or len(shown) > 1300:
        faults.append(f"{name}: {len(shown)} points are no selection of the log's {len(logged)}")
    for point in (logged[0], logged[-1], logged[values.index(min(values))], logged[values.index(max(values))]):
        if point not in shown:
            faults.append(f"{name}: lacks {point}")


def check_places(name, shown, places, axis, faults):
    """Checks that points lie where the axes place them: linear in the step, monotone and of one scale in the value."""
    low, high, begin, end = axis
    for (step, _), (x, _) in zip(shown, places, strict=True):
        if abs(begin + (step - low) / (high - low) * (end - begin) - x) > 0.02:
            faults.append(f"{name}: step {step} is drawn at {x}")
            return
    by_value = sorted(zip((value for _, value in shown), (y for _, y in places)))
    (least, bottom), (largest, top) = by_value[0], by_value[-1]
    if least == largest:
        return
    scales = [lambda value: value] + ([math.log] if least > 0 else [])
    if not any(all(abs(bottom + (scale(value) - scale(least)) / (scale(largest) - scale(least)) * (top - bottom) - y) < 0.02
                   for value, y in by_value) for scale in scales) or top >= bottom:
        faults.append(f"{name}: values are on no scale")


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def read_events(path, faults):
    """The scalars of an event file by tag, and its times."""
    with open(path, "rb") as file:
        data = file.read()
    scalars, times, at, number = {}, [], 0, 0
    while at < len(data):
        length, = struct.unpack_from("<Q", data, at)
        record = data[at + 12:at + 12 + length]
        if number < 200 and (struct.unpack_from("<I", data, at + 8)[0] != masked_crc(data[at:at + 8]) or
                             struct.unpack_from("<I", data, at + 12 + length)[0] != masked_crc(record)):
            faults.append(f"{path}: record {number} has a wrong checksum")
        event = dict(fields(record))
        times.append(struct.unpack("<d", event[1])[0])
        if number == 0 and event.get(3) != b"brain.Event:2":
            faults.append(f"{path}: does not begin with its version")
        if 5 in event:
            value = dict(fields(dict(fields(event[5]))[1]))
            scalars.setdefault(value[1].decode(), []).append((event[2], struct.unpack("<f", value[2])[0]))
        at += 16 + length
        number += 1
    return scalars, times


def check_events(folder, log, curves, faults):
    name = os.path.splitext(os.path.basename(log))[0]
    scalars, times = read_events(os.path.join(folder, name, "events.out.tfevents.gradc"), faults)
    for curve, points in curves.items():
        tag = curve.replace("evaluation ", "evaluation/") if curve.startswith("evaluation ") else f"train/{curve}"
        single = [(step, struct.unpack("<f", struct.pack("<f", value))[0]) for step, value in points]
        if scalars.get(tag) != single:
            faults.append(f"{tag}: TensorBoard's file has other points than the log")
    if not all(0 <= os.path.getmtime(log) + 1 - time < 3600 for time in times):
        faults.append(f"{log}: its events are dated elsewhere")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page")
    parser.add_argument("logs", nargs="+")
    parser.add_argument("--events")
    parser.add_argument("--points")
    arguments = parser.parse_args()
    page = Page()
    with open(arguments.page) as file:
        text = file.read()
    page.feed(text)
    faults = page.faults + [f"left open: {tag}" for tag in page.open] + [f"needs {address}" for address in page.addresses]
    faults += [f"names {word}" for word in ("http:", "https:", "@import", "url(") if word in text]
    names = set()
    for run, log in enumerate(arguments.logs):
        curves = read_log(log)
        names |= set(curves)
        drawn = {name: rest for number, name, *rest in page.curves if number == run}
        if set(drawn) != set(curves):
            faults.append(f"{log}: expected curves {sorted(curves)}, found {sorted(drawn)}")
        for name in set(drawn) & set(curves):
            shown, places, axis = drawn[name]
            check_drawn(name, curves[name], shown, faults)
            check_places(name, shown, places, axis, faults)
        if arguments.events:
            check_events(arguments.events, log, curves, faults)
    if not page.curves:
        faults.append("no curves")
    print(*faults, sep="\n", end="\n" if faults else "")
    if arguments.points:
        shown = next(shown for _, name, shown, *_ in page.curves if name == arguments.points)
        print(f"{arguments.points}:", *(f"{step:g},{value:g}" for step, value in shown))
    print(f"curves: {', '.join(sorted(names))}")
    side = math.isqrt(page.cells // len(arguments.logs))
    print(f"{side} x {side} counts, {max(page.kernels - 1, 0)} kernels")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
