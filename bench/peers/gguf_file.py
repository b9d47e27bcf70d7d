"""GGUF files, written tensor by tensor, with fields that another one has."""

import math
import pathlib
import sys

import gguf
import numpy

FILE_TYPES = {"F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7}
ROWS = 4096  # made, converted and written at a time


class Plan:
    """A tensor to be written: `rows(begin, end)` gives floats, or bytes where these rows keep their form."""

    def __init__(self, name, shape, form, rows):
        self.name, self.shape, self.rows = name, tuple(shape), rows
        self.form = gguf.GGMLQuantizationType[form]

    def stored_shape(self):
        """The last number in bytes."""
        return gguf.quant_shape_to_byte_shape(self.shape, self.form)

    def bytes(self):
        return math.prod(map(int, self.stored_shape()))

    def is_float(self):
        return self.form.name in ("F32", "F16")

    def chunks(self):
        for begin in range(0, self.shape[0], ROWS):
            rows = self.rows(begin, min(begin + ROWS, self.shape[0]))
            yield rows if rows.dtype == numpy.uint8 else gguf.quants.quantize(rows, self.form)


def copy_fields(source, writer, wanted):
    for name, field in source.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture" or not wanted(name):
            continue
        kind = field.types[0]
        sub_kind = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), kind, sub_kind)


def add_infos(writer, plans):
    for plan in plans:
        if plan.is_float():
            dtype = numpy.float32 if plan.form.name == "F32" else numpy.float16
            writer.add_tensor_info(plan.name, plan.shape, numpy.dtype(dtype), plan.bytes())
        else:
            writer.add_tensor_info(plan.name, plan.stored_shape(), numpy.dtype(numpy.uint8), plan.bytes(), plan.form)


def write(path, writer, plans):
    """Under another name until it is whole."""
    partial = pathlib.Path(path).with_suffix(".partial")
    partial.parent.mkdir(parents=True, exist_ok=True)
    add_infos(writer, plans)
    writer.write_header_to_file(partial)
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    total, done = sum(plan.bytes() for plan in plans), 0
    for plan in plans:
        writer.write_tensor_data(numpy.concatenate(list(plan.chunks())))
        done += plan.bytes()
        show(path, done, total)
    writer.close()
    partial.rename(path)


def show(path, done, total):
    if sys.stderr.isatty() or done == total:
        end = "\n" if done == total else "\r"
        print(f"writes    {pathlib.Path(path).name}: {done >> 20} of {total >> 20} MiB", end=end, file=sys.stderr,
              flush=True)
