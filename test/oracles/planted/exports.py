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


def resnet(edit):
    from torchvision.models import resnet18
    from torchvision.models.resnet import BasicBlock
    m = resnet18(weights=None)
    if edit:
        m.layer2.append(BasicBlock(128, 128))
    return m, torch.randn(8, 3, 224, 224), ["layer2.2"]


def mobilenet(edit):
    from torchvision.models import mobilenet_v3_small
    m = mobilenet_v3_small(weights=None)
    if edit:
        m.features[5].block[1][0] = nn.Conv2d(240, 240, 5, padding=2, groups=15, bias=False)
    return m, torch.randn(16, 3, 224, 224), ["features.5"]


def vit(edit):
    from torchvision.models import VisionTransformer
    m = VisionTransformer(image_size=128, patch_size=8, num_layers=4, num_heads=8, hidden_dim=256, mlp_dim=1024)
    if edit:
        mlp = m.encoder.layers[2].mlp
        mlp[0], mlp[3] = nn.Linear(256, 2048), nn.Linear(2048, 256)
    return m, torch.randn(4, 3, 128, 128), ["encoder_layer_2.mlp"]


def bert(edit):
    from transformers import BertConfig, BertModel

    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = BertModel(BertConfig(hidden_size=256, num_hidden_layers=4, num_attention_heads=8, intermediate_size=1024, vocab_size=1000, attn_implementation="eager"))

        def forward(self, ids, mask):
            return self.bert(input_ids=ids, attention_mask=mask).last_hidden_state

    m = Last()
    if edit:
        m.bert.encoder.layer[1].intermediate.dense, m.bert.encoder.layer[1].output.dense = nn.Linear(256, 2048), nn.Linear(2048, 256)
    return m, (torch.randint(0, 1000, (8, 128)), torch.ones(8, 128, dtype=torch.int64)), ["layer.1.intermediate", "layer.1.output"]


def unet(edit):
    return UNet(192 if edit else 128), torch.randn(4, 3, 192, 192), ["middle", "dec1"]


def scopes(model, wanted):
    """The nodes that the newer exporter puts into these modules."""
    return [n.name for n in model.graph.node if any(one in p.value for p in n.metadata_props if "name_scopes" in p.key for one in wanted)]


make = {"resnet": resnet, "mobilenet": mobilenet, "vit": vit, "bert": bert, "unet": unet}[which]
truth, plan = {}, []
name0 = f"torch-{which}"
for head, edit, dynamo in ((None, False, False), ("dynamo", False, True), ("dynamo-changed", True, True), ("changed", True, False)):
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
            plan.append((name, name0, name, "--fp16", "base"))
        else:
            kind = "another exporter" if not edit else "another exporter, changed" if dynamo else "changed"
            culprits = [] if not edit else scopes(model, wanted) if dynamo else [n.name for n in model.graph.node if any(one in n.name.replace("/", ".") for one in wanted)]
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
