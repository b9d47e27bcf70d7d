"""The model in another number format: its matrices dequantized and quantized anew, all else as it is."""

import argparse
import pathlib

import gguf

import gguf_file

QUARTERS = ("Q4_0", "Q4_1")


def form_of(tensor, wanted):
    """Vectors stay as they are, and so does what has 8 bits where 4 are wanted: embeddings mostly."""
    if len(tensor.shape) < 2 or wanted in QUARTERS and tensor.tensor_type.name not in QUARTERS:
        return tensor.tensor_type.name
    return wanted


def plan_of(tensor, wanted):
    form, shape = form_of(tensor, wanted), [int(each) for each in reversed(tensor.shape)]
    if form == tensor.tensor_type.name:
        return gguf_file.Plan(tensor.name, shape, form, lambda begin, end: tensor.data[begin:end])
    return gguf_file.Plan(tensor.name, shape, form, lambda begin, end: gguf.quants.dequantize(
        tensor.data[begin:end], tensor.tensor_type))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--to", choices=list(gguf_file.FILE_TYPES), required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    given = parser.parse_args()
    source = gguf.GGUFReader(given.model)
    writer = gguf.GGUFWriter(None, source.fields["general.architecture"].contents())
    gguf_file.copy_fields(source, writer, lambda name: name != "general.file_type")
    writer.add_file_type(gguf_file.FILE_TYPES[given.to])
    gguf_file.write(given.out, writer, [plan_of(tensor, given.to) for tensor in source.tensors])


if __name__ == "__main__":
    main()
