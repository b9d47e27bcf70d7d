"""Every model type of Transformers that reads or writes text, by what it is; tests/golden/model_table.cpp says of each
whether cogen reads it."""
import json

import transformers
from transformers.models.auto import modeling_auto

# A type belongs to the first kind that has it.
KINDS = {
    "encoder-decoders": ("SEQ_TO_SEQ_CAUSAL_LM",),
    "encoders": ("MASKED_LM",),
    "with pictures or sounds": ("IMAGE_TEXT_TO_TEXT", "MULTIMODAL_LM"),
    "decoders": ("CAUSAL_LM",),
    "other encoders": ("TEXT_ENCODING", "SEQUENCE_CLASSIFICATION"),
}


def make(path):
    known, kinds = set(), {}
    for kind, tasks in KINDS.items():
        types = {name for task in tasks for name in getattr(modeling_auto, f"MODEL_FOR_{task}_MAPPING")._model_mapping}
        kinds[kind] = sorted(types - known)
        known |= types
    path.write_text(json.dumps({"transformers": transformers.__version__, "kinds": kinds}, indent=1) + "\n")
