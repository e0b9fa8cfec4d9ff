"""Writes people.parquet, with each kind of column that tables have, in two row groups; and people.csv, the same rows as text. Needs
pyarrow.

    make_people_parquet.py FOLDER
"""
import csv
import datetime
import decimal
import os
import random
import sys

import pyarrow
import pyarrow.parquet

ROWS, CITIES = 240, ["Basel", "Bern", 'Genf, "old"', "Zug"]
numbers = random.Random(7)
age = [None if row % 10 == 3 else numbers.randrange(20, 80) for row in range(ROWS)]
city = [numbers.choice(CITIES) for _ in range(ROWS)]
member = [numbers.random() < 0.5 for _ in range(ROWS)]
columns = {
    "age": pyarrow.array(age, pyarrow.int16()),
    "income": pyarrow.array([None if row % 17 == 5 else numbers.gauss(60000, 9000) for row in range(ROWS)], pyarrow.float64()),
    "share": pyarrow.array([numbers.random() for _ in range(ROWS)], pyarrow.float32()),
    "member": pyarrow.array(member),
    "since": pyarrow.array([datetime.date(2000, 1, 1) + datetime.timedelta(numbers.randrange(9000)) for _ in range(ROWS)]),
    "seen": pyarrow.array([numbers.randrange(2 ** 50) for _ in range(ROWS)], pyarrow.timestamp("us")),
    "balance": pyarrow.array([None if row % 13 == 2 else decimal.Decimal(numbers.randrange(-99999, 99999)).scaleb(-2) for row in range(ROWS)],
                             pyarrow.decimal128(9, 2)),
    "rating": pyarrow.array([None if row % 19 == 4 else numbers.random() for row in range(ROWS)], pyarrow.float16()),
    "city": pyarrow.array(city).dictionary_encode(),
    "answered": pyarrow.array(["yes" if (a or 50) + 25 * (c < "C") > 60 else "no" for a, c in zip(age, city)], pyarrow.large_string()),
    "friends": pyarrow.array([[row] for row in range(ROWS)]),
}
pyarrow.parquet.write_table(pyarrow.table(columns), os.path.join(sys.argv[1], "people.parquet"), row_group_size=150)


def text(name, value):
    """In the form of CSV files; a value that is not a number there becomes the number stored in the Parquet file."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, datetime.datetime):
        return round((value - datetime.datetime(1970, 1, 1)) / datetime.timedelta(microseconds=1))
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days
    return f"{value:.9g}" if name in ("share", "rating") else value


with open(os.path.join(sys.argv[1], "people.csv"), "w", newline="") as file:
    writer = csv.writer(file, lineterminator="\n")
    names = [name for name in columns if name != "friends"]
    writer.writerow(names)
    for row in zip(*(columns[name].to_pylist() for name in names)):
        writer.writerow(map(text, names, row))
