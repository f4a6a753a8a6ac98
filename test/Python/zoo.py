"""Tiny random models of many architectures, two layers each."""

import torch
import transformers

COMMON = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
          "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 97,
          "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}

LLAMA3 = {"rope_type": "llama3", "rope_theta": 1e4, "factor": 4.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 16}

# name: (class, what differs from COMMON)
DECODERS = {
    "llama": ("LlamaForCausalLM", {"rope_parameters": LLAMA3, "tie_word_embeddings": True}),
    "smollm2": ("LlamaForCausalLM", {"hidden_size": 72, "num_attention_heads": 9,
                                     "num_key_value_heads": 3, "tie_word_embeddings": True}),
    "qwen2": ("Qwen2ForCausalLM", {}),
    "qwen3": ("Qwen3ForCausalLM", {"head_dim": 24}),
    "mistral": ("MistralForCausalLM", {"sliding_window": 16}),
    "gemma2": ("Gemma2ForCausalLM", {"head_dim": 16, "sliding_window": 16,
                                     "query_pre_attn_scalar": 16}),
    "gemma3": ("Gemma3ForCausalLM", {"head_dim": 16, "sliding_window": 16, "layer_types":
                                     ["sliding_attention", "full_attention"]}),
    "phi3": ("Phi3ForCausalLM", {}),
    "granite": ("GraniteForCausalLM", {"embedding_multiplier": 6.0, "logits_scaling": 4.0,
                                       "residual_multiplier": 0.3, "attention_multiplier": 0.1}),
    "olmo2": ("Olmo2ForCausalLM", {}),
    "smollm3": ("SmolLM3ForCausalLM", {"no_rope_layers": [1, 0]}),
    "gpt_neox": ("GPTNeoXForCausalLM", {}),
    "gpt2": ("GPT2LMHeadModel", {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 64}),
    "starcoder2": ("Starcoder2ForCausalLM", {}),
    "phi": ("PhiForCausalLM", {}),
    "glm": ("GlmForCausalLM", {"head_dim": 16}),
    "opt": ("OPTForCausalLM", {"ffn_dim": 96, "word_embed_proj_dim": 64}),
    "nemotron": ("NemotronForCausalLM", {}),
}
MOE = {"num_local_experts": 8, "num_experts": 8, "num_experts_per_tok": 2,
       "moe_intermediate_size": 48}
MLA = {"q_lora_rank": 24, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
       "v_head_dim": 12, "num_key_value_heads": 4, "n_routed_experts": 8}
MIXTURES = {
    "mixtral": ("MixtralForCausalLM", MOE),
    "qwen3_moe": ("Qwen3MoeForCausalLM", MOE | {"head_dim": 24, "norm_topk_prob": True}),
    "qwen2_moe": ("Qwen2MoeForCausalLM", MOE | {"shared_expert_intermediate_size": 80}),
    "olmoe": ("OlmoeForCausalLM", MOE),
    "gpt_oss": ("GptOssForCausalLM", MOE | {"head_dim": 16, "sliding_window": 16}),
    "glm4_moe": ("Glm4MoeForCausalLM", MOE | {
        "n_routed_experts": 8, "n_group": 4, "topk_group": 2, "first_k_dense_replace": 1,
        "head_dim": 16}),
}
LATENT = {
    "deepseek_v2": ("DeepseekV2ForCausalLM", MOE | MLA | {
        "first_k_dense_replace": 99, "n_group": 4, "topk_group": 2,
        "topk_method": "group_limited_greedy", "head_dim": 8}),
    "deepseek_v2_moe": ("DeepseekV2ForCausalLM", MOE | MLA | {
        "first_k_dense_replace": 0, "n_group": 4, "topk_group": 2, "q_lora_rank": None,
        "topk_method": "group_limited_greedy", "head_dim": 8}),
    "deepseek_v3": ("DeepseekV3ForCausalLM", MOE | MLA | {
        "first_k_dense_replace": 99, "n_group": 4, "topk_group": 2}),
    "deepseek_v3_moe": ("DeepseekV3ForCausalLM", MOE | MLA | {
        "first_k_dense_replace": 1, "n_group": 4, "topk_group": 2}),
}
DELTA = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16,
         "linear_value_head_dim": 32, "linear_conv_kernel_dim": 4, "head_dim": 16,
         "layer_types": ["linear_attention", "full_attention"]}
RECURRENT = {
    "qwen3_5": ("Qwen3_5ForCausalLM", DELTA),
    "qwen3_next": ("Qwen3NextForCausalLM", DELTA | MOE | {
        "shared_expert_intermediate_size": 80, "decoder_sparse_step": 1}),
    "lfm2": ("Lfm2ForCausalLM", {"conv_L_cache": 3, "layer_types": ["conv", "full_attention"]}),
}
# State space models, alone and beside attention; a decay of every key (Kimi's).
SPACES = {
    "jamba": ("JambaForCausalLM", MOE | {
        "attn_layer_period": 2, "attn_layer_offset": 1, "mamba_d_state": 8}),
    "mamba2": ("Mamba2ForCausalLM", {"num_heads": 8, "head_dim": 16, "state_size": 16, "n_groups": 2}),
    "kimi_linear": ("KimiLinearForCausalLM", MOE | MLA | DELTA),
}
ENCODERS = {
    "bert": ("BertModel", {}),
    "roberta": ("RobertaModel", {}),
    "distilbert": ("DistilBertModel", {"dim": 64, "hidden_dim": 96, "n_heads": 4, "n_layers": 2}),
    "modernbert": ("ModernBertModel", {"local_attention": 16, "cls_token_id": 1,
                                       "sep_token_id": 2}),
}

# Whose own code multiplies queries and keys: masks of every form, slopes (ALiBi), tables of
# distances, rotary embeddings from rows of a table.
GPT = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 64}
WRITTEN = {
    "falcon": ("FalconForCausalLM", {"multi_query": True, "new_decoder_architecture": False,
                                     "parallel_attn": True}),
    "falcon_groups": ("FalconForCausalLM", {"new_decoder_architecture": True, "num_kv_heads": 2}),
    "falcon_slopes": ("FalconForCausalLM", {"alibi": True, "multi_query": False}),
    "bloom": ("BloomForCausalLM", {"n_layer": 2, "n_head": 4}),
    "mpt": ("MptForCausalLM", {"d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 64,
                               "expansion_ratio": 2}),
    "gptj": ("GPTJForCausalLM", GPT | {"rotary_dim": 8}),
    "codegen": ("CodeGenForCausalLM", GPT | {"rotary_dim": 8}),
    "gpt_neo": ("GPTNeoForCausalLM", {"num_layers": 2, "num_heads": 4, "window_size": 16,
                                      "attention_types": [[["global", "local"], 1]]}),
    "xglm": ("XGLMForCausalLM", {"d_model": 64, "num_layers": 2, "attention_heads": 4,
                                 "ffn_dim": 96}),
    "ctrl": ("CTRLLMHeadModel", GPT | {"dff": 96}),
    "openai_gpt": ("OpenAIGPTLMHeadModel", GPT),
    "mpnet": ("MPNetModel", {}),
    "t5": ("T5EncoderModel", {"d_model": 64, "d_kv": 16, "d_ff": 96, "num_layers": 2,
                              "num_heads": 4}),
    "flaubert": ("FlaubertModel", {"emb_dim": 64, "n_layers": 2, "n_heads": 4}),
}


# Biases of content and distance, norms without weight, rotary embeddings that turn the other way,
# repeated keys, chunks of keys, routers of their own, experts in loops of their own or in
# attention, linear attention whose heads decay, functions that formulas give.
UNUSUAL = {
    "xlm_roberta": ("XLMRobertaForCausalLM", {"is_decoder": True}),
    "bart": ("BartForCausalLM", {"d_model": 64, "decoder_layers": 2, "decoder_ffn_dim": 96,
                                 "decoder_attention_heads": 4, "is_decoder": True}),
    "roformer": ("RoFormerForCausalLM", {"embedding_size": 64, "is_decoder": True}),
    "deberta": ("DebertaModel", {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    "deberta_v2": ("DebertaV2ForSequenceClassification", {
        "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 16,
        "share_att_key": True, "norm_rel_ebd": "layer_norm", "pooler_hidden_size": 64}),
    "deberta_v2_keys": ("DebertaV2Model", {
        "relative_attention": True, "pos_att_type": ["c2p"], "max_relative_positions": 20}),
    "olmo": ("OlmoForCausalLM", {}),
    "nanochat": ("NanoChatForCausalLM", {}),
    "diffllama": ("DiffLlamaForCausalLM", {}),
    "apertus": ("ApertusForCausalLM", {}),
    "phimoe": ("PhimoeForCausalLM", MOE),
    "llama4": ("Llama4ForCausalLM", MOE | {
        "head_dim": 16, "intermediate_size_mlp": 96, "num_experts_per_tok": 1,
        "attention_chunk_size": 16, "attn_temperature_tuning": False}),
    "dbrx": ("DbrxForCausalLM", {
        "d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 64,
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0, "rope_theta": 1e4},
        "ffn_config": {"hidden_size": 64, "ffn_hidden_size": 48, "moe_num_experts": 8,
                       "moe_top_k": 2}}),
    "jetmoe": ("JetMoeForCausalLM", MOE | {"kv_channels": 16}),
    "minimax": ("MiniMaxForCausalLM", MOE | {"head_dim": 16}),
    "longcat": ("LongcatFlashForCausalLM", MLA | {
        "num_layers": 2, "num_hidden_layers": 4, "head_dim": 8, "ffn_hidden_size": 96,
        "expert_ffn_hidden_size": 48, "moe_topk": 2, "zero_expert_num": 2}),
}
# Tables of a function of one tensor, layers that read the keys of others, indexers, keys of a
# window in an embedding model, neighbours of a token with zeros around the sequence.
RECENT = {
    "gemma4": ("Gemma4ForCausalLM", {
        "num_hidden_layers": 4, "sliding_window": 16, "head_dim": 16, "global_head_dim": 32,
        "layer_types": ["sliding_attention", "full_attention"] * 2, "num_kv_shared_layers": 2,
        "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 97}),
    "deepseek_v32": ("DeepseekV32ForCausalLM", MOE | MLA | {
        "n_group": 4, "topk_group": 2, "first_k_dense_replace": 1, "index_n_heads": 4,
        "index_head_dim": 16, "index_topk": 64}),
    "mistral_base": ("MistralModel", {"sliding_window": 16}),
    "mobilebert": ("MobileBertModel", {"embedding_size": 64, "intra_bottleneck_size": 32}),
}
# Sinks beside latent attention; filters of tokens that a model writes itself, of single channels, of
# those of a head and of one half of the values, of seven tokens; units of which each channel decays;
# rows of the token before, means that decay.
FILTERED = {
    "hy_v4": ("HYV4ForCausalLM", MOE | MLA | {"head_dim": 16, "index_n_heads": 4,
                                              "index_head_dim": 16}),
    "zaya": ("ZayaForCausalLM", MOE | {"head_dim": 16, "num_experts_per_tok": 1,
                                       "router_hidden_size": 32}),
    "lfm3": ("Lfm3ForCausalLM", MOE | {"conv_L_cache": 7, "layer_types": ["conv", "full_attention"]}),
    "recurrent_gemma": ("RecurrentGemmaForCausalLM", {
        "block_types": ["recurrent", "attention"], "attention_window_size": 16, "lru_width": 64}),
    "rwkv": ("RwkvForCausalLM", {"attention_hidden_size": 64, "rescale_every": 1}),
}
# Sequence classification, spans, and an embedding model that is a decoder's base.
HEADS = {
    "bert_classes": ("BertForSequenceClassification", {"num_labels": 3}),
    "bert_spans": ("BertForQuestionAnswering", {}),
    "qwen3_base": ("Qwen3Model", {"head_dim": 24}),
    "llama_scores": ("LlamaForSequenceClassification", {"num_labels": 1}),
}


ALL = (DECODERS | MIXTURES | LATENT | RECURRENT | SPACES | ENCODERS | WRITTEN | UNUSUAL | RECENT
       | FILTERED | HEADS)


def layers(name: str, count: int) -> dict:
    """What makes a model of `count` layers; every kind of layer that it mixes as often."""
    _, extra = ALL[name]
    given = {"num_hidden_layers": count}
    given |= {n: count for n in ("n_layer", "n_layers") if n in extra}
    if "layer_types" in extra:
        given["layer_types"] = extra["layer_types"] * (count // 2)
    return given


def make(name: str, **changes: object) -> torch.nn.Module:
    """A model by name, with changes of its configuration."""
    kind, extra = ALL[name]
    return built(kind, extra | changes)


def built(kind: str, extra: dict) -> torch.nn.Module:
    """A model whose norms and biases are not the ones and zeros of a fresh one."""
    cls = getattr(transformers, kind)
    torch.manual_seed(0)
    model = cls(cls.config_class(**(COMMON | extra))).eval()
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
            else:
                parameter.mul_(4.0)
    return model
