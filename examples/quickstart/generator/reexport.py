"""The same network as another exporter would write it: other names, another producer, the same weights."""

import onnx


def reexported(model):
    """A copy whose inner names are numbered; names of inputs and outputs stay."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph, outer = copy.graph, {value.name for value in [*model.graph.input, *model.graph.output]}
    tensors = [tensor.name for tensor in graph.initializer] + [name for node in graph.node for name in node.output]
    inner = [name for name in tensors if name not in outer]
    renamed = {name: f"onnx::{index + 1}" for index, name in enumerate(inner)}
    for tensor in graph.initializer:
        tensor.name = renamed[tensor.name]
    for index, node in enumerate(graph.node):
        node.name = f"{node.op_type}_{index}"
        node.input[:] = [renamed.get(name, name) for name in node.input]
        node.output[:] = [renamed.get(name, name) for name in node.output]
    copy.producer_version = "2"
    copy.doc_string = f"Exported again. {model.doc_string}"
    onnx.checker.check_model(copy, full_check=True)
    return copy
