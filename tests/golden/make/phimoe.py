"""Phi-3.5 with experts: two of them, one after the other; layer norms, biases, and long RoPE whose magnitude is given."""
import math

import torch
from decoder import keep_only, publish_rope, rope
from moe import draw_moe, moe_decoder
from transformers import PhimoeForCausalLM


PROMPTS = [dict(tokens=3, new=2), dict(tokens=6, new=2), dict(tokens=9, new=9)]
BEYOND = [dict(tokens=10, new=2), dict(tokens=12, new=2), dict(tokens=11, new=9)]  # longer than 9


class phimoe(moe_decoder):
    """Two are chosen, whatever the configuration says. The longer of two tables is for texts that are longer."""
    EXPERT_CLEARANCE = 5  # a logit that just counts as near changes shares at once

    def changes(self, settings):
        for label, other in super().changes(settings):
            if not label.startswith("num_experts_per_tok"):
                yield label, other

    def expert_scores(self, model, run):
        """Also which is the first of the two, and how far each logit is from counting as near."""
        found = []
        for logits, _ in super().expert_scores(model, run):
            found += [(logits, 1), (logits, 2)]
            left = logits
            for _ in range(2):
                best, index = left.max(1, keepdim=True)
                distances = (best - logits) / logits.abs().clamp(min=best)
                bounds = torch.full_like(distances, 2 * model.config.router_jitter_noise)
                found.append((torch.stack([distances, bounds], 2).flatten(0, 1), 1))
                left = left.scatter(1, index, -math.inf)
        return found


def publish(config, settings):
    publish_rope(config)
    keep_only(config, """attention_bias attention_dropout hidden_act input_jitter_noise intermediate_size lm_head_bias
              num_experts_per_tok num_key_value_heads num_local_experts original_max_position_embeddings
              output_router_logits rms_norm_eps rope_scaling router_aux_loss_coef router_jitter_noise sliding_window""")
    scaling = config["rope_scaling"]
    scaling["type"] = scaling.pop("rope_type")


FAMILIES = [phimoe(PhimoeForCausalLM, {
    "phimoe_published": dict(
        published=True, dtype="bfloat16", vocab_size=97, hidden_size=24, intermediate_size=11, num_hidden_layers=2,
        num_attention_heads=3, num_key_value_heads=1, rms_norm_eps=0.6, tie_word_embeddings=False, num_local_experts=4,
        num_experts_per_tok=2, router_jitter_noise=0.2, attention_bias=True, lm_head_bias=True,
        max_position_embeddings=512, unseen=("long_factor", "long_mscale", "original_max_position_embeddings"),
        **rope(200.0, "longrope", short_factor=[1.0, 1.3, 2.1, 2.4], long_factor=[1.2, 3.5, 9.0, 12.0],
               short_mscale=1.3, long_mscale=1.3, original_max_position_embeddings=64)),
    "phimoe_window": dict(
        dtype="bfloat16", vocab_size=98, hidden_size=20, intermediate_size=9, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, rms_norm_eps=0.6, tie_word_embeddings=False, num_local_experts=3,
        num_experts_per_tok=2, router_jitter_noise=0.1, sliding_window=7, **rope(300.0)),
    "phimoe_long": dict(  # Transformers takes the short factors for long texts, too
        dtype="bfloat16", prompts=BEYOND, vocab_size=48, hidden_size=20, intermediate_size=9, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, rms_norm_eps=0.6, tie_word_embeddings=False,
        num_local_experts=3, num_experts_per_tok=2, router_jitter_noise=0.2, max_position_embeddings=96,
        unseen=("long_factor", "short_mscale", "original_max_position_embeddings"),
        **rope(200.0, "longrope", short_factor=[1.0, 1.3, 2.1, 2.4, 3.1], long_factor=[1.0, 1.3, 2.1, 2.4, 3.1],
               short_mscale=1.3, long_mscale=0.8, original_max_position_embeddings=9)),
}, draw=draw_moe, publish=publish, PROMPTS=PROMPTS)]
