"""Exports one architecture with random weights by both exporters of PyTorch, and by the newer one with a change. exports.py OUT MODEL"""
import json
import os
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ["HF_HUB_OFFLINE"] = "1"
import onnx  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

out, which = sys.argv[1:3]
torch.manual_seed(1)
torch.set_num_threads(4)
torch.backends.mha.set_fastpath_enabled(False)


class Double(nn.Sequential):
    def __init__(self, a, b):
        super().__init__(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(), nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, wide=128):
        super().__init__()
        self.down0, self.down1, self.middle = Double(3, 32), Double(32, 64), Double(64, wide)
        self.pool, self.up = nn.MaxPool2d(2), nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.dec1, self.dec0, self.head = Double(wide + 64, 64), Double(64 + 32, 32), nn.Conv2d(32, 4, 1)

    def forward(self, x):
        a = self.down0(x)
        b = self.down1(self.pool(a))
        c = self.middle(self.pool(b))
        y = self.dec1(torch.cat([self.up(c), b], 1))
        return self.head(self.dec0(torch.cat([self.up(y), a], 1)))


def bn_conv(a, b, k, **more):
    return nn.Conv2d(a, b, k, padding=k // 2, bias=False, **more)


def resnet(edit):
    from torchvision.models import resnet18
    from torchvision.models.resnet import BasicBlock
    m = resnet18(weights=None)
    if edit == "changed":
        m.layer2.append(BasicBlock(128, 128))
        return m, torch.randn(8, 3, 224, 224), ["layer2.2"]
    if edit == "wide":
        one = m.layer3[1]
        one.conv1, one.bn1, one.conv2 = bn_conv(256, 384, 3), nn.BatchNorm2d(384), bn_conv(384, 256, 3)
        return m, torch.randn(8, 3, 224, 224), ["layer3.1"]
    if edit == "silu":
        m.layer1[0].relu = nn.SiLU()
        return m, torch.randn(8, 3, 224, 224), ["layer1.0"]
    if edit == "less":
        m.layer4 = m.layer4[:1]
        return m, torch.randn(8, 3, 224, 224), ["layer4.1"]
    return m, torch.randn(8, 3, 224, 224), []


def mobilenet(edit):
    from torchvision.models import mobilenet_v3_small
    m = mobilenet_v3_small(weights=None)
    if edit == "changed":
        m.features[5].block[1][0] = nn.Conv2d(240, 240, 5, padding=2, groups=15, bias=False)
        return m, torch.randn(16, 3, 224, 224), ["features.5"]
    if edit == "no-se":
        del m.features[4].block[2]
        return m, torch.randn(16, 3, 224, 224), ["features.4.block.block.2"]
    if edit == "expand":
        m.features[3].block[0][0], m.features[3].block[0][1] = bn_conv(24, 176, 1), nn.BatchNorm2d(176)
        m.features[3].block[1][0], m.features[3].block[1][1] = nn.Conv2d(176, 176, 3, padding=1, groups=176, bias=False), nn.BatchNorm2d(176)
        m.features[3].block[2][0] = bn_conv(176, 24, 1)
        return m, torch.randn(16, 3, 224, 224), ["features.3"]
    if edit == "softsign":
        m.features[2].block[1][2] = nn.Softsign()
        return m, torch.randn(16, 3, 224, 224), ["features.2"]
    return m, torch.randn(16, 3, 224, 224), []


def vit(edit):
    from torchvision.models import VisionTransformer
    m = VisionTransformer(image_size=128, patch_size=8, num_layers=5 if edit == "block" else 4, num_heads=8, hidden_dim=256, mlp_dim=1024)
    if edit == "changed":
        mlp = m.encoder.layers[2].mlp
        mlp[0], mlp[3] = nn.Linear(256, 2048), nn.Linear(2048, 256)
        return m, torch.randn(4, 3, 128, 128), ["encoder_layer_2.mlp"]
    if edit == "relu":
        for one in m.encoder.layers:
            one.mlp[1] = nn.Softplus()
        return m, torch.randn(4, 3, 128, 128), ["mlp"]
    return m, torch.randn(4, 3, 128, 128), ["encoder_layer_4"]


def bert(edit):
    from transformers import BertConfig, BertModel

    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = BertModel(BertConfig(hidden_size=256, num_hidden_layers=5 if edit == "block" else 4, num_attention_heads=8, intermediate_size=1024, vocab_size=1000, attn_implementation="eager"))

        def forward(self, ids, mask):
            return self.bert(input_ids=ids, attention_mask=mask).last_hidden_state

    m = Last()
    args = (torch.randint(0, 1000, (8, 128)), torch.ones(8, 128, dtype=torch.int64))
    if edit == "changed":
        m.bert.encoder.layer[1].intermediate.dense, m.bert.encoder.layer[1].output.dense = nn.Linear(256, 2048), nn.Linear(2048, 256)
        return m, args, ["layer.1.intermediate", "layer.1.output"]
    if edit == "narrow":
        m.bert.encoder.layer[2].intermediate.dense, m.bert.encoder.layer[2].output.dense = nn.Linear(256, 256), nn.Linear(256, 256)
        return m, args, ["layer.2.intermediate", "layer.2.output"]
    return m, args, ["layer.4"]


def unet(edit):
    m = UNet(192 if edit == "changed" else 128)
    if edit == "changed":
        return m, torch.randn(4, 3, 192, 192), ["middle", "dec1"]
    if edit == "kernel":
        m.down0[3] = bn_conv(32, 32, 5)
        return m, torch.randn(4, 3, 192, 192), ["down0"]
    if edit == "silu":
        m.dec0[2] = nn.SiLU()
        return m, torch.randn(4, 3, 192, 192), ["dec0"]
    if edit == "nearest":
        m.up = nn.Upsample(scale_factor=2, mode="nearest")
        return m, torch.randn(4, 3, 192, 192), ["up"]
    return m, torch.randn(4, 3, 192, 192), []


edits = {"resnet": ["wide", "silu", "less"], "mobilenet": ["no-se", "expand", "softsign"], "vit": ["block", "relu"], "bert": ["block", "narrow"], "unet": ["kernel", "silu", "nearest"]}
# Their nodes are in the base alone.
removing = ["no-se", "less"]


def scopes(model, wanted):
    """The nodes that the newer exporter puts into these modules."""
    return [n.name for n in model.graph.node if any(one in p.value for p in n.metadata_props if "name_scopes" in p.key for one in wanted)]


make = {"resnet": resnet, "mobilenet": mobilenet, "vit": vit, "bert": bert, "unet": unet}[which]
truth, plan = {}, []
name0 = f"torch-{which}"
base_nodes = []
for head, edit, dynamo in ((None, None, False), ("dynamo", None, True), ("dynamo-changed", "changed", True), *((one, one, False) for one in ["changed", *edits[which]])):
    try:
        torch.manual_seed(1)
        module, args, wanted = make(edit)
        for one in module.modules():  # as trained: otherwise exporters drop what multiplies by one and adds zero
            if isinstance(one, nn.BatchNorm2d):
                one.running_mean.normal_(0, 0.1), one.running_var.uniform_(0.5, 1.5), one.weight.data.uniform_(0.8, 1.2), one.bias.data.normal_(0, 0.1)
        module.eval()
        args = args if isinstance(args, tuple) else (args,)
        name = name0 if head is None else f"{name0}-{head}"
        path = f"{out}/{name}.onnx"
        with torch.no_grad():
            names = {"input_names": ["ids", "mask"]} if which == "bert" else {}
            if dynamo:
                torch.onnx.export(module, args, path, **names, dynamo=True, opset_version=18, external_data=False, verbose=False)
            else:
                torch.onnx.export(module, args, path, **names, dynamo=False, opset_version=17)
        model = onnx.load(path)
        if which == "bert":
            for file, tensor in zip(("ids", "mask"), args):
                tensor.numpy().tofile(f"{out}/{file}.raw")
        if head is None:
            base_nodes = list(model.graph.node)
            plan.append((name, name0, name, "--fp16", "base"))
        else:
            kind = "another exporter" if not edit else "another exporter, changed" if dynamo else f"changed: {edit}"
            nodes = base_nodes if edit in removing else model.graph.node
            culprits = [] if not edit else scopes(model, wanted) if dynamo else [n.name for n in nodes if any(one in n.name.replace("/", ".") for one in wanted)]
            truth[name] = {"base": name0, "kind": kind, "culprits": culprits}
            if dynamo:
                truth[name]["scopes"] = {n.name: next((p.value for p in n.metadata_props if p.key.endswith("name_scopes")), "") for n in model.graph.node}
            plan.append((name, name0, name, "--fp16", "head"))
        print(name, len(model.graph.node), "nodes", len(truth.get(name, {}).get("culprits", [])), "at fault", flush=True)
    except Exception as error:
        print("failed", which, head, repr(error)[:800], flush=True)
for part, text in (("plan", "".join("\t".join(row) + "\n" for row in plan)), ("truth", json.dumps(truth))):
    with open(f"{out}/{part}-{name0}.part", "w") as file:
        file.write(text)
    os.rename(f"{out}/{part}-{name0}.part", f"{out}/{part}-{name0}.{'tsv' if part == 'plan' else 'json'}")
