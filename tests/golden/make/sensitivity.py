"""Which tensors and settings could be left out without a change of the logits."""
import torch
from reference import logits_of

SENSITIVITY = 0.02  # what leaving out any part must move some logit by
SUBTLE = 1e-3  # the same for another spelling of an activation, five times golden_check's tolerance


def insensitive_parts(family, build, model, settings, ids, source):
    whole = logits_of(model, ids, source)
    moved = lambda other: float((logits_of(other, ids, source) - whole).abs().max())
    unnoticed = insensitive_tensors(family, model, moved)
    for label, changed_settings in family.changes(settings):
        changed = build(changed_settings)
        changed.load_state_dict(model.state_dict())
        if moved(changed) < (SUBTLE if "activation" in label else SENSITIVITY):
            unnoticed.append(label)
    return unnoticed


def insensitive_tensors(family, model, moved):
    unnoticed, seen = [], set()
    with torch.no_grad():
        for name, value in model.state_dict().items():
            if value.data_ptr() in seen:
                continue
            seen.add(value.data_ptr())
            kept = value.clone()
            for neutral in family.neutrals(name, value):
                value.copy_(neutral)
                if moved(model) < SENSITIVITY:
                    unnoticed.append(name)
            value.copy_(kept)
    return unnoticed
